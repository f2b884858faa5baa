//! The faults of skills that `pmcp validate` reports (docs/validate.md, "Skills").

use std::path::{Path, PathBuf};

use protomcp_check::SkillFault;
use protomcp_skills::{MAX_DESCRIPTION, SkillTree};

use crate::client::skill_entries::SkillEntry;

/// The faults of the skills in these folders. Blocks while it reads.
pub(super) fn of_folders(folders: &[PathBuf]) -> Vec<SkillFault> {
    let mut all: Vec<_> = folders.iter().flat_map(|folder| of_folder(folder)).collect();
    // Each is right by itself, and two may have the same file.
    if !all.iter().any(|fault| fault.is_error)
        && let Err(error) = SkillTree::load_all(folders)
    {
        all.push(SkillFault { place: String::new(), issue: error.to_string(), is_error: true });
    }
    all
}

fn of_folder(folder: &Path) -> Vec<SkillFault> {
    let tree = match SkillTree::load(folder) {
        Ok(tree) => tree,
        Err(error) => return vec![SkillFault { place: String::new(), issue: error.to_string(), is_error: true }],
    };
    let left_out = tree.omissions().iter().map(|omission| SkillFault {
        place: String::new(),
        issue: format!("not served: {omission}"),
        is_error: false,
    });
    let without = tree.skills().next().is_none().then(|| SkillFault {
        place: folder.display().to_string(),
        issue: "no folder in it has a SKILL.md".to_owned(),
        is_error: false,
    });
    without.into_iter().chain(left_out).collect()
}

/// The faults of entries of a server: hosts need a name and a description (Agent Skills, "description").
pub(super) fn of_entries(entries: &[SkillEntry]) -> Vec<SkillFault> {
    let fault = |entry: &SkillEntry| {
        let length = entry.description.as_deref().map_or(0, |description| description.trim().chars().count());
        let issue = match length {
            _ if entry.name.is_empty() => "no name".to_owned(),
            0 => "no description".to_owned(),
            length if length > MAX_DESCRIPTION => {
                format!("description too long ({length} chars, maximum {MAX_DESCRIPTION})")
            }
            _ => return None,
        };
        Some(SkillFault { place: entry.uri.clone(), issue, is_error: true })
    };
    entries.iter().filter_map(fault).collect()
}

#[cfg(test)]
mod tests {
    use protomcp_types::RawJson;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_entry_needs_a_name_and_a_short_description() {
        let entry = |name: &str, description: Value| {
            let frontmatter = json!({"name": name, "description": description});
            SkillEntry::read(RawJson::of(&json!({"uri": "skill://a/SKILL.md", "frontmatter": frontmatter})).unwrap())
        };
        for (entry, expected) in [
            (entry("a", json!("About a.")), None),
            (entry("a", json!("é".repeat(MAX_DESCRIPTION))), None),
            (
                entry("a", json!("é".repeat(MAX_DESCRIPTION + 1))),
                Some("description too long (1025 chars, maximum 1024)"),
            ),
            (entry("a", json!(" ")), Some("no description")),
            (entry("a", json!(7)), Some("no description")),
            (entry("", json!("About a.")), Some("no name")),
        ] {
            let issues: Vec<_> = of_entries(&[entry]).into_iter().map(|fault| fault.issue).collect();
            assert_eq!(issues, expected.map(str::to_owned).into_iter().collect::<Vec<_>>());
        }
    }
}

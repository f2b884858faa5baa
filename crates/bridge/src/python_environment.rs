//! The virtual environment of a Python file (PEP 405).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The usual names of the folder of an environment.
const NAMES: [&str; 2] = [".venv", "venv"];

/// The outcome of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The interpreter of the first environment that can be used.
    pub(crate) python: Option<PathBuf>,
    /// The first one before it that cannot be used, with the reason.
    pub(crate) unused: Option<String>,
}

/// Searches the folders in order. A host starts `pmcp` without an environment that is activated.
///
/// A folder such as `/tmp` may be above the file, and everybody can make an environment there: one of another user is not
/// used.
pub(crate) fn search(folders: impl IntoIterator<Item = PathBuf>) -> Found {
    let own = rustix::process::geteuid().as_raw();
    search_for(folders, |owner| owner == own || owner == 0)
}

fn search_for(folders: impl IntoIterator<Item = PathBuf>, is_trusted: impl Fn(u32) -> bool) -> Found {
    let environments = folders.into_iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let mut found = Found::default();
    for environment in environments.filter(|environment| environment.join("pyvenv.cfg").is_file()) {
        let python = environment.join("bin/python");
        let reason = if !owners(&environment).all(&is_trusted) {
            "it belongs to another user"
        } else if !python.is_file() {
            "its bin/python does not exist"
        } else {
            found.python = Some(python);
            break;
        };
        found.unused.get_or_insert_with(|| format!("{} is not used, because {reason}", environment.display()));
    }
    found
}

/// The owners of a folder, and of the link that leads there.
fn owners(folder: &Path) -> impl Iterator<Item = u32> {
    let metadata = [fs::symlink_metadata(folder), fs::metadata(folder)];
    // A folder that cannot be read has no interpreter either.
    metadata.into_iter().flatten().map(|metadata| metadata.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(folder: &Path) -> PathBuf {
        let python = folder.join("bin/python");
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("pyvenv.cfg"), "").unwrap();
        fs::write(&python, "").unwrap();
        python
    }

    #[test]
    fn the_first_whole_environment_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, outer) = (folder.path().join("a"), folder.path().to_owned());
        let found = || search([inner.clone(), outer.clone()]);
        assert_eq!(found(), Found::default());
        let above = environment(&outer.join("venv"));
        assert_eq!(found(), Found { python: Some(above.clone()), unused: None });
        // A folder of that name which is none, and one whose interpreter is gone.
        fs::create_dir_all(inner.join("venv/bin")).unwrap();
        fs::write(inner.join("venv/bin/python"), "").unwrap();
        fs::remove_file(environment(&inner.join(".venv"))).unwrap();
        let unused = format!("{}/.venv is not used, because its bin/python does not exist", inner.display());
        assert_eq!(found(), Found { python: Some(above), unused: Some(unused) });
        let inner_one = environment(&inner.join(".venv"));
        assert_eq!(found(), Found { python: Some(inner_one), unused: None });
    }

    #[test]
    fn an_environment_of_another_user_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        environment(&folder.path().join(".venv"));
        let found = search_for([folder.path().to_owned()], |_| false);
        let unused = format!("{}/.venv is not used, because it belongs to another user", folder.path().display());
        assert_eq!(found, Found { python: None, unused: Some(unused) });
    }
}

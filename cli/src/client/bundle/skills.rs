//! The skills of a bundle: the folders that `pmcp.toml` names, which the server of the bundle loads when it starts.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use protomcp_skills::SkillTree;

use crate::client::bundle::files::{Files, Folder};
use crate::exit::Failure;

/// Adds the folders of skills. Skills that cannot be loaded make no bundle, because it would not start. Hidden files
/// are left out, because they are not served.
pub(super) fn add_skills(named: &[PathBuf], folder: &Folder, files: &mut Files<'_>) -> Result<(), Failure> {
    let paths = named.iter().map(|path| inside(path, folder)).collect::<Result<Vec<_>, _>>()?;
    for path in &paths {
        let tree = load([path])?;
        if tree.skills().next().is_none() {
            let path = path.display();
            return Err(Failure::usage(format!("{path} has no skill, and pmcp.toml names it as a folder of skills")));
        }
        files.read_tree(WalkBuilder::new(path).standard_filters(false).hidden(true), folder, |_| true)?;
    }
    // Two folders with the same file are refused at the start, too.
    load(&paths).map(drop)
}

/// The path of a folder in the folder of the tool file. The settings are in the bundle as they are, so only a relative
/// path leads to the same place there.
fn inside(named: &Path, folder: &Folder) -> Result<PathBuf, Failure> {
    let path = folder.below(&folder.path.join(named)).filter(|path| named.is_relative() && *path != folder.path);
    path.ok_or_else(|| {
        let (named, root) = (named.display(), folder.path.display());
        Failure::usage(format!(
            "pmcp.toml names the skills in {named}, and a bundle takes a relative path of a folder below {root}: move \
             the skills there, or leave the key out"
        ))
    })
}

fn load<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<SkillTree, Failure> {
    SkillTree::load_all(paths).map_err(|error| Failure::usage(error.to_string()))
}

//! The skills of a bundle: the folders that `pmcp.toml` and the tool file name, which the server of the bundle loads when
//! it starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use protomcp_skills::SkillTree;

use crate::client::bundle::files::{Files, Folder};
use crate::exit::Failure;

/// The folders of skills, by the place that names them.
pub(super) struct NamedSkills<'a> {
    /// `pmcp.toml`: the paths as they are written, relative to it.
    pub(super) settings: &'a [PathBuf],
    /// The name of the tool file.
    pub(super) name: &'a str,
    /// The tool file: the paths as they are opened.
    pub(super) file: &'a [PathBuf],
}

impl NamedSkills<'_> {
    /// Adds the folders. Skills that cannot be loaded make no bundle, because it would not start. Hidden files are left
    /// out, because they are not served.
    pub(super) fn add(&self, folder: &Folder, files: &mut Files<'_>) -> Result<(), Failure> {
        let folders = self.folders(folder)?;
        for (path, by) in &folders {
            let tree = load([path])?;
            if tree.skills().next().is_none() {
                let path = path.display();
                return Err(Failure::usage(format!("{path} has no skill, and {by} names it as a folder of skills")));
            }
            files.read_tree(WalkBuilder::new(path).standard_filters(false).hidden(true), folder, |_| true)?;
        }
        // Two folders with the same file are refused at the start, too.
        load(folders.keys()).map(drop)
    }

    /// The path of each folder in the folder of the tool file, and the file that names it.
    fn folders(&self, folder: &Folder) -> Result<BTreeMap<PathBuf, &str>, Failure> {
        let (mut folders, root) = (BTreeMap::new(), folder.path.display());
        let is_below = |path: &PathBuf| *path != folder.path;
        for named in self.settings {
            // The settings are in the bundle as they are, so only a relative path leads to the same place there.
            let path = folder.below(&folder.path.join(named)).filter(|path| named.is_relative() && is_below(path));
            let elsewhere = || {
                let named = named.display();
                Failure::usage(format!(
                    "pmcp.toml names the skills in {named}, and a bundle takes a relative path of a folder below {root}: \
                     move the skills there, or leave the key out"
                ))
            };
            folders.insert(path.ok_or_else(elsewhere)?, "pmcp.toml");
        }
        for named in self.file {
            // A tool file may have resolved the links in its path.
            let path = folder.below(named).or_else(|| folder.below_real(named)).filter(is_below);
            let elsewhere = || {
                let (by, named) = (self.name, named.display());
                Failure::usage(format!(
                    "{by} names the skills in {named}, and a bundle takes a folder below {root}: move the skills there, \
                     or leave the call out"
                ))
            };
            folders.insert(path.ok_or_else(elsewhere)?, self.name);
        }
        Ok(folders)
    }
}

fn load<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<SkillTree, Failure> {
    SkillTree::load_all(paths).map_err(|error| Failure::usage(error.to_string()))
}

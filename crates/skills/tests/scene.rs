//! Folders of skills that tests write.

use std::fs;
use std::path::{Path, PathBuf};

use protomcp_skills::{LoadError, SkillFile, SkillTree};
use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder of skills.
pub(crate) struct Scene(TempDir);

impl Scene {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, with the folders that lead to it.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("folders");
        fs::write(path, contents).expect("a file");
        self
    }

    /// Writes a `SKILL.md` whose skill has the name of its folder.
    pub(crate) fn skill(&self, folder: &str) -> &Self {
        let name = folder.rsplit('/').next().expect("a name");
        self.write(&format!("{folder}/SKILL.md"), document(name))
    }

    pub(crate) fn load(&self) -> Result<SkillTree, LoadError> {
        SkillTree::load(self.root())
    }

    pub(crate) fn tree(&self) -> SkillTree {
        self.load().expect("the skills are valid")
    }

    /// The text of the error.
    pub(crate) fn refusal(&self) -> String {
        self.load().expect_err("the skills are refused").to_string()
    }
}

/// The contents of a `SKILL.md`.
pub(crate) fn document(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}.\n---\nText.\n")
}

/// The URIs of all files.
pub(crate) fn uris(tree: &SkillTree) -> Vec<&str> {
    tree.files().map(SkillFile::uri).collect()
}

/// The entry of a skill.
pub(crate) fn entry(tree: &SkillTree, uri: &str) -> Value {
    serde_json::from_str(tree.get(uri).expect("there is an entry").as_str()).expect("it is JSON")
}

/// The URIs in an array of objects.
pub(crate) fn members(array: &Value) -> Vec<&str> {
    array.as_array().expect("an array").iter().map(|value| value["uri"].as_str().expect("a URI")).collect()
}

//! The folders of skills that a tool process names (`SdkInfo.skill_folders`; docs/envelope.md, "Extensions").

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use crate::process::file_system;
use crate::tool_file::ToolFile;

/// The most folders of a process.
const MAX_FOLDERS: usize = 64;
/// The longest path of one, in bytes.
const MAX_PATH: usize = 4096;

type Outcome = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Passes the folders of a process on to the program that serves their skills.
#[derive(Clone, Default)]
pub(crate) struct SkillFolders {
    /// Relative paths are relative to it.
    root: PathBuf,
    /// `None`: their skills are not served.
    serve: Option<Arc<dyn Fn(Vec<PathBuf>) -> Outcome + Send + Sync>>,
}

impl SkillFolders {
    /// The folders of the processes that run this file.
    pub(crate) fn of(file: &ToolFile) -> Self {
        let path = file.path();
        let root = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        Self { root: root.to_owned(), serve: None }
    }

    /// The same folders, which this function gets.
    pub(crate) fn served_by<F>(self, serve: impl Fn(Vec<PathBuf>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let serve = move |folders: Vec<PathBuf>| -> Outcome { Box::pin(serve(folders)) };
        Self { serve: Some(Arc::new(serve)), ..self }
    }

    /// Passes on the folders that a process has named. `peer` is the process, if the system names it.
    ///
    /// # Errors
    /// The reason for which the folders are refused.
    pub(crate) async fn pass_on(&self, named: &[String], peer: Option<i32>) -> Result<(), String> {
        check(named)?;
        if !named.is_empty() && !file_system::is_shared_with(peer) {
            return Err(
                "the tool process names folders of skills, and has another file system than this program, as in a \
                        container: run both in the same one, or name the folders with --skills"
                    .to_owned(),
            );
        }
        match &self.serve {
            Some(serve) => serve(named.iter().map(|name| self.root.join(name)).collect()).await,
            None => {
                if !named.is_empty() {
                    tracing::warn!("the tool process names folders of skills, and this program serves no skills");
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for SkillFolders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillFolders").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Checks the paths that a process has named.
fn check(named: &[String]) -> Result<(), String> {
    if named.len() > MAX_FOLDERS {
        let count = named.len();
        return Err(format!("the tool process names {count} folders of skills: name at most {MAX_FOLDERS}"));
    }
    for name in named {
        if name.is_empty() || name.contains('\0') {
            return Err("the tool process names a folder of skills with an empty path, or with a NUL in it".to_owned());
        }
        if name.len() > MAX_PATH {
            let size = name.len();
            return Err(format!(
                "the tool process names a folder of skills with a path of {size} bytes: use at most {MAX_PATH}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_beyond_the_bounds_are_refused() {
        let long = |size| vec!["x".repeat(size)];
        for (named, refused) in [
            (Vec::new(), None),
            (vec!["skills".to_owned(); MAX_FOLDERS], None),
            (long(MAX_PATH), None),
            (vec!["skills".to_owned(); MAX_FOLDERS + 1], Some("names 65 folders of skills: name at most 64")),
            (long(MAX_PATH + 1), Some("a path of 4097 bytes: use at most 4096")),
            (long(0), Some("an empty path")),
            (vec!["a\0b".to_owned()], Some("a NUL")),
        ] {
            let outcome = check(&named);
            match refused {
                None => assert_eq!(outcome, Ok(())),
                Some(why) => assert!(outcome.as_ref().is_err_and(|error| error.contains(why)), "{outcome:?}"),
            }
        }
    }

    #[test]
    fn paths_are_relative_to_the_folder_of_the_file() {
        for (file, root) in [("tools.py", ""), ("a/tools.py", "a"), ("/srv/tools.py", "/srv"), (".", ".")] {
            assert_eq!(SkillFolders::of(&ToolFile::new(file)).root, Path::new(root), "{file}");
        }
    }
}

//! The reasons why folders cannot be served as skills.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::frontmatter::FrontmatterError;
use crate::limits::{MAX_DEPTH, MAX_FILES, MAX_NAMES, MAX_SKILL_BYTES, MAX_SKILLS, MAX_TREE_BYTES, MAX_URI};

/// The reason why a tree of skills was not loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The system refuses to read a file or folder.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A `SKILL.md` is not valid.
    #[error("{}: {why}", path.display())]
    Frontmatter {
        /// The file.
        path: PathBuf,
        /// The rule that it breaks.
        why: FrontmatterError,
    },
    /// The name of a skill is not the name of its folder (Agent Skills, "name").
    #[error("the skill in {} has the name {name:?}: name the folder and the skill alike", path.display())]
    Misnamed {
        /// The folder.
        path: PathBuf,
        /// The name in its frontmatter.
        name: String,
    },
    /// A skill has more than [`MAX_FILES`] files.
    #[error("the skill {uri} has more than {max} files", max = MAX_FILES)]
    TooManyFiles {
        /// The URI of its `SKILL.md`.
        uri: String,
    },
    /// A skill has more than [`MAX_SKILL_BYTES`] of files.
    #[error("the skill {uri} has files of more than {max} bytes together", max = MAX_SKILL_BYTES)]
    TooLarge {
        /// The URI of its `SKILL.md`.
        uri: String,
    },
    /// A file alone has more than [`MAX_SKILL_BYTES`].
    #[error("{} has more than {max} bytes, the most of a whole skill", path.display(), max = MAX_SKILL_BYTES)]
    FileTooLarge {
        /// The file.
        path: PathBuf,
    },
    /// All skills have more than [`MAX_TREE_BYTES`] of files.
    #[error("the skills have files of more than {max} bytes together: serve fewer", max = MAX_TREE_BYTES)]
    TreeTooLarge,
    /// There are more than [`MAX_SKILLS`] skills.
    #[error("there are more than {max} skills: serve fewer", max = MAX_SKILLS)]
    TooManySkills,
    /// There are more than [`MAX_NAMES`] files and folders.
    #[error("the folders of skills have more than {max} files and folders: name a smaller folder", max = MAX_NAMES)]
    TooManyNames,
    /// A folder is more than [`MAX_DEPTH`] folders deep.
    #[error("{} is more than {max} folders deep", path.display(), max = MAX_DEPTH)]
    TooDeep {
        /// The folder.
        path: PathBuf,
    },
    /// The URI of a file has more than [`MAX_URI`] bytes.
    #[error("the URI of {} has more than {max} bytes: use shorter names", path.display(), max = MAX_URI)]
    LongUri {
        /// The file.
        path: PathBuf,
    },
    /// Two folders have the same file.
    #[error(
        "{} and {} are both {uri}: serve one of them, or put the skills into folders with different names",
        first.display(),
        second.display()
    )]
    Duplicate {
        /// The URI of both.
        uri: String,
        /// The file of the folder that was loaded first.
        first: PathBuf,
        /// The file of the other one.
        second: PathBuf,
    },
}

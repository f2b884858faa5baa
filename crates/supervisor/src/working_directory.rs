//! The directory that processes inherit, which may be removed or moved, and created again, while this program runs in it.
//!
//! `git switch` does so with a folder that one of the branches lacks. This program stays in the directory from before, so its
//! processes start in the one that has the path now. As long as there is none, they start where this program is.

use std::borrow::Cow;
use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::command::Command;

/// The working directory at the last start.
static LAST: Mutex<Option<WorkingDirectory>> = Mutex::new(None);

/// The command as it is, or, if another directory has the path of the working directory now, in that one.
pub(crate) fn existing(command: &Command) -> Cow<'_, Command> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    *last = WorkingDirectory::current(last.take());
    match last.as_ref().and_then(WorkingDirectory::replacement) {
        Some(now) => {
            let directory = command.directory().map_or_else(|| now.to_owned(), |directory| now.join(directory));
            Cow::Owned(command.clone().current_dir(directory))
        }
        None => Cow::Borrowed(command),
    }
}

/// A directory with the path that it had first.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WorkingDirectory {
    path: PathBuf,
    identity: Identity,
}

impl WorkingDirectory {
    /// The directory of this program. Unless the program has changed it since, it is the last one, with its path from then.
    fn current(last: Option<Self>) -> Option<Self> {
        let identity = identity(Path::new("."))?;
        match last {
            Some(last) if last.identity == identity => Some(last),
            Some(_) | None => Some(Self { path: env::current_dir().ok()?, identity }),
        }
    }

    /// The path, if another directory has it now.
    fn replacement(&self) -> Option<&Path> {
        identity(&self.path).filter(|now| *now != self.identity).map(|_| self.path.as_path())
    }
}

/// The device and the inode.
type Identity = (u64, u64);

/// The identity of a directory; `None` if the path leads to none.
fn identity(path: &Path) -> Option<Identity> {
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_directory_is_replaced_by_another_one_with_its_path() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("project");
        let moved = parent.path().join("moved");
        fs::create_dir(&path).unwrap();
        // Without it the next directory could be the same one to the system.
        let _in_use = fs::File::open(&path).unwrap();
        let directory = WorkingDirectory { identity: identity(&path).unwrap(), path: path.clone() };
        assert_eq!(directory.replacement(), None);
        fs::rename(&path, &moved).unwrap();
        assert_eq!(directory.replacement(), None);
        fs::write(&path, "a file").unwrap();
        assert_eq!(directory.replacement(), None);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(directory.replacement(), Some(&*path));
        fs::remove_dir(&path).unwrap();
        fs::rename(&moved, &path).unwrap();
        assert_eq!(directory.replacement(), None);
    }

    #[test]
    fn the_path_of_the_last_start_stays_until_the_program_leaves_it() {
        let here = identity(Path::new(".")).unwrap();
        let earlier = WorkingDirectory { path: "/earlier".into(), identity: here };
        assert_eq!(WorkingDirectory::current(Some(earlier.clone())), Some(earlier));
        let current = WorkingDirectory { path: env::current_dir().unwrap(), identity: here };
        let left = WorkingDirectory { path: "/left".into(), identity: (0, 0) };
        for last in [Some(left), None] {
            assert_eq!(WorkingDirectory::current(last), Some(current.clone()));
        }
    }
}

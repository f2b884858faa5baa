//! The reasons for which a directory is not watched, or only polled, with the remedy.

use std::io;
use std::path::PathBuf;

/// The reason why watching failed, or why files are polled (see [`Backend::Poll`](crate::Backend::Poll)).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The directory to watch does not exist.
    #[error("there is no directory {} to watch", .path.display())]
    Missing {
        /// The directory, as given.
        path: PathBuf,
    },
    /// The path is not a directory.
    #[error("{} is not a directory; name the directory that holds the files to watch", .path.display())]
    NotADirectory {
        /// The path, as given.
        path: PathBuf,
    },
    /// This user may not list the directory.
    #[error("no permission to read the directory {}; watching needs read and search permission on it", .path.display())]
    Denied {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The user's limit of watched directories is reached, often by an editor or another watcher.
    #[error(
        "no watches left on this system, so files are polled instead; to get notifications, raise the limit with \
         `sysctl fs.inotify.max_user_watches=524288` or list large directories in .gitignore; to poll on purpose, use \
         --poll"
    )]
    NoWatchesLeft,
    /// The user's limit of watching programs, or this process's limit of open files, is reached.
    #[error(
        "no notification queues left on this system, so files are polled instead; to get notifications, close other \
         watching programs or raise the limits with `sysctl fs.inotify.max_user_instances=1024` and `ulimit -n`; to \
         poll on purpose, use --poll"
    )]
    NoInstancesLeft,
    /// Notifications do not work for another reason.
    #[error("file notifications do not work here, so files are polled instead: {reason}")]
    Unavailable {
        /// The error of the system.
        reason: String,
    },
    /// Another failure of the system: the directory is unreadable, or no thread could be started.
    #[error("cannot watch {}", .path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl WatchError {
    /// Classifies a failure to read the watched directory.
    pub(crate) fn of_root(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::NotADirectory => Self::NotADirectory { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path, source },
            _ => Self::Io { path, source },
        }
    }

    /// Classifies a failure of the system's notifications.
    pub(crate) fn of_notifications(error: &notify::Error) -> Self {
        match &error.kind {
            notify::ErrorKind::MaxFilesWatch => Self::NoWatchesLeft,
            notify::ErrorKind::Io(io) => match io.raw_os_error() {
                Some(ENOSPC) => Self::NoWatchesLeft,
                Some(EMFILE | ENFILE) => Self::NoInstancesLeft,
                _ => Self::Unavailable { reason: io.to_string() },
            },
            _ => Self::Unavailable { reason: error.to_string() },
        }
    }
}

// The same numbers on every system whose notifications have such limits.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_the_system_are_told_apart() {
        let io = |number| notify::Error::io(io::Error::from_raw_os_error(number));
        check(&notify::Error::new(notify::ErrorKind::MaxFilesWatch), "fs.inotify.max_user_watches");
        check(&io(28), "fs.inotify.max_user_watches");
        check(&io(24), "fs.inotify.max_user_instances");
        check(&io(23), "fs.inotify.max_user_instances");
        check(&io(38), "do not work here");
        check(&notify::Error::generic("odd kernel"), "odd kernel");

        fn check(error: &notify::Error, expected: &str) {
            let text = WatchError::of_notifications(error).to_string();
            assert!(text.contains(expected) && text.contains("polled"), "{text}");
        }
    }

    #[test]
    fn a_root_that_cannot_be_watched_is_named() {
        for (kind, expected) in [
            (io::ErrorKind::NotFound, "there is no directory"),
            (io::ErrorKind::NotADirectory, "not a directory"),
            (io::ErrorKind::PermissionDenied, "no permission"),
            (io::ErrorKind::Other, "cannot watch"),
        ] {
            let text = WatchError::of_root("some/where".into(), kind.into()).to_string();
            assert!(text.contains(expected) && text.contains("some/where"), "{text}");
        }
    }
}

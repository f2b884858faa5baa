//! The directory to watch, and the delays.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::file_time;
use crate::filter::Filter;

/// The silence after which a batch is ready.
///
/// The operations of one save are a millisecond or two apart, also when an editor writes a new file and renames it over
/// the old one, so 30 ms keep a save in one batch with a wide margin. They are the largest part of the product's
/// promise from save to announced tool list (45 ms in addition to the tool process's own start).
pub const DEFAULT_DEBOUNCE: Duration = Duration::from_millis(30);

/// The longest delay of a change while others arrive: long enough for a formatter that runs after the save, short
/// enough that constant writes do not hide a save.
pub const DEFAULT_MAX_DELAY: Duration = Duration::from_millis(300);

/// The polling interval if the system's notifications fail.
pub const DEFAULT_POLL: Duration = Duration::from_millis(500);

/// A directory to watch, with all directories below it that its filter enters.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The directory. A relative path is relative to the current directory. Symbolic links in it are followed, also when they
    /// lead elsewhere later.
    pub root: PathBuf,
    /// Selects the files.
    pub filter: Filter,
    /// See [`DEFAULT_DEBOUNCE`].
    pub debounce: Duration,
    /// See [`DEFAULT_MAX_DELAY`].
    pub max_delay: Duration,
    /// Polls at this interval instead of using the system's notifications, for mounts and containers that send none.
    /// The interval is from the end of one scan to the start of the next, and at least 10 ms.
    pub poll: Option<Duration>,
    /// Files as new as this, or newer, count as changed in the first scan, for a caller that has read the files before.
    /// File systems round times down to a tick of their clock, some milliseconds: a file that was written within the same
    /// tick counts as well.
    pub since: Option<SystemTime>,
}

impl Watch {
    /// Watches a program by its entry file: its directory, for the files of [`Filter::source`].
    pub fn file(entry: impl AsRef<Path>) -> Self {
        let entry = entry.as_ref();
        let root = match entry.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        Self::directory(root, Filter::source(entry))
    }

    /// Watches a directory for the files that `filter` selects.
    pub fn directory(root: impl Into<PathBuf>, filter: Filter) -> Self {
        Self {
            root: root.into(),
            filter,
            debounce: DEFAULT_DEBOUNCE,
            max_delay: DEFAULT_MAX_DELAY,
            poll: None,
            since: None,
        }
    }

    /// Polls at this interval instead of using the system's notifications.
    #[must_use]
    pub fn poll_every(mut self, pause: Duration) -> Self {
        self.poll = Some(pause);
        self
    }

    /// Reports all changes from now on, even those before the first scan.
    #[must_use]
    pub fn from_now(mut self) -> Self {
        self.since = Some(file_time());
        self
    }
}

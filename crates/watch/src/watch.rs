//! What to watch, and how patiently.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::filter::Filter;

/// How long it must be quiet before a batch is told.
///
/// The operations of one save lie a millisecond or two apart, also when an editor writes a new file and renames it over
/// the old one, so 30 ms keep a save in one piece with a wide margin. They are the largest part of what the product
/// promises from save to announced tool list (45 ms beside the tool process's own start).
pub const DEFAULT_QUIET: Duration = Duration::from_millis(30);

/// How long a change may wait while others keep coming: long enough for a formatter that runs after the save, short
/// enough that something which writes without pause does not hide a save.
pub const DEFAULT_AT_MOST: Duration = Duration::from_millis(300);

/// How often files are looked at when the system's notifications fail.
pub const DEFAULT_POLL: Duration = Duration::from_millis(500);

/// A directory to watch, with all directories below it that its filter enters.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The directory. A relative path is relative to the current directory; symbolic links in it are resolved.
    pub root: PathBuf,
    /// Which files matter.
    pub filter: Filter,
    /// See [`DEFAULT_QUIET`].
    pub quiet: Duration,
    /// See [`DEFAULT_AT_MOST`].
    pub at_most: Duration,
    /// Poll this often instead of using the system's notifications: for mounts and containers that send none.
    /// The pause lies between the end of one look and the start of the next; less than 10 ms is taken as 10 ms.
    pub poll: Option<Duration>,
    /// What the first look finds to be newer than this counts as changed; otherwise it only learns what is there. For
    /// someone who read the files before the watcher did. Exact to one tick of the file system's clock, some milliseconds.
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

    /// Watches a directory for what `filter` wants.
    pub fn directory(root: impl Into<PathBuf>, filter: Filter) -> Self {
        Self { root: root.into(), filter, quiet: DEFAULT_QUIET, at_most: DEFAULT_AT_MOST, poll: None, since: None }
    }

    /// Polls this often instead of using the system's notifications.
    #[must_use]
    pub fn poll_every(mut self, pause: Duration) -> Self {
        self.poll = Some(pause);
        self
    }

    /// Reports what changed from this moment on, even before the first look.
    #[must_use]
    pub fn since(mut self, moment: SystemTime) -> Self {
        self.since = Some(moment);
        self
    }
}

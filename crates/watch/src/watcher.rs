//! The handle of a running watcher.

use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::debounce::Batch;
use crate::driver::{Driver, Ends};
use crate::error::WatchError;
use crate::inbox::{Inbox, Opener, Signal};
use crate::shared;
use crate::watch::Watch;

/// The way in which changes are detected.
#[derive(Debug)]
pub enum Backend {
    /// By the system's notifications.
    Native,
    /// Notifications and polling, because other machines write to the file system, or a named file is mounted by itself.
    NativeAndPoll {
        /// The interval between two scans.
        every: Duration,
    },
    /// Polling.
    Poll {
        /// The interval between two scans.
        every: Duration,
        /// The reason why notifications are not used; `None` if polling was requested.
        because: Option<WatchError>,
    },
}

/// Watches until it is dropped.
///
/// The watcher has its own thread (and the notifier, which all watchers of a process share on Linux, has another): it needs
/// no async runtime, and a slow disk blocks none.
#[derive(Debug)]
pub struct Watcher {
    signals: SyncSender<Signal>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    backend: Backend,
}

impl Watcher {
    /// Starts to watch. Later changes are reported.
    ///
    /// The first scan of the whole tree happens before the return, which takes milliseconds for a project and longer
    /// for a very large directory. The receiver gets one batch at a time: while it is not read, changes are merged into
    /// the next batch. It ends when the watcher is dropped.
    ///
    /// # Errors
    ///
    /// [`WatchError`] if the directory is missing, not a directory or not readable, or if no thread can be started. A
    /// failure of the system's notifications is not an error: the watcher polls then, see [`Watcher::backend`].
    pub fn spawn(watch: Watch) -> Result<(Self, mpsc::Receiver<Batch>), WatchError> {
        Self::spawn_with(watch, Box::new(shared::open))
    }

    /// The backend at the start. If notifications fail later, the watcher logs it and polls.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// [`spawn`](Self::spawn) with another source of notifications.
    pub(crate) fn spawn_with(mut watch: Watch, open: Opener) -> Result<(Self, mpsc::Receiver<Batch>), WatchError> {
        let named_root = watch.root.clone();
        let failed = |source| WatchError::of_root(named_root.clone(), source);
        // Listing detects a directory that is missing or unreadable, or a path that is not a directory.
        watch.root.read_dir().map_err(failed)?;
        watch.root = written(&watch.root);
        watch.filter.set_named(watch.filter.named().iter().map(|path| written(path)).collect());

        let (signals, received) = sync_channel(MAX_SIGNALS);
        // Capacity of one: a late reader finds one batch, and the next one has all changes since.
        let (batches, receiver) = mpsc::channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let inbox = Inbox::new(signals.clone());
        let ends = Ends { signals: received, batches, stop: Arc::clone(&stop) };
        let (driver, backend) = Driver::start(watch, open, inbox, ends);
        let thread = std::thread::Builder::new()
            .name("protomcp-watch".to_owned())
            .spawn(move || driver.run())
            .map_err(|source| WatchError::Io { path: named_root, source })?;
        Ok((Self { signals, stop, thread: Some(thread), backend }, receiver))
    }
}

/// An absolute path with its links, since they may lead elsewhere later.
fn written(path: &Path) -> PathBuf {
    absolute(path).unwrap_or_else(|_| path.to_owned())
}

impl Drop for Watcher {
    /// Stops the thread and waits for it, at most for one scan.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // A full channel wakes the thread as well.
        let _ = self.signals.try_send(Signal::Stop);
        if let Some(thread) = self.thread.take() {
            // It only panics on a broken invariant, which has been reported by then.
            let _ = thread.join();
        }
    }
}

/// The most notifications that wait for the watching thread. Beyond it, the thread scans all files instead.
const MAX_SIGNALS: usize = 1_024;

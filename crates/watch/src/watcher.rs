//! The handle of a running watcher.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::debounce::Batch;
use crate::disk::resolved;
use crate::driver::{Driver, Inbox, Opener, Signal};
use crate::error::WatchError;
use crate::native;
use crate::watch::Watch;

/// How changes are noticed.
#[derive(Debug)]
pub enum Backend {
    /// By the system's notifications.
    Native,
    /// By notifications, and by looking as well, because the files are on a file system that other machines write to.
    NativeAndPoll {
        /// The pause between two looks.
        every: Duration,
    },
    /// By looking.
    Poll {
        /// The pause between two looks.
        every: Duration,
        /// Why notifications are not used; `None` if polling was asked for.
        because: Option<WatchError>,
    },
}

/// Watches until it is dropped.
///
/// Everything happens on a thread of its own (and on that of the system's notifications): no async runtime is needed,
/// and none is kept waiting by a slow disk.
#[derive(Debug)]
pub struct Watcher {
    signals: SyncSender<Signal>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    backend: Backend,
}

impl Watcher {
    /// Starts to watch. What changes after this returns is reported.
    ///
    /// It looks at the whole tree once before it returns, which takes milliseconds for a project and longer for a very
    /// large directory. The receiver gets one batch at a time: while it is not read, changes collect in the next batch.
    /// It ends when the watcher is dropped.
    ///
    /// # Errors
    ///
    /// [`WatchError`] if the directory is missing, not a directory or not readable, or if no thread can be started.
    /// Trouble with the system's notifications is no error: the watcher then polls, see [`Watcher::backend`].
    pub fn spawn(watch: Watch) -> Result<(Self, mpsc::Receiver<Batch>), WatchError> {
        Self::spawn_with(watch, Box::new(native::open))
    }

    /// How changes are noticed, as of the start. If notifications fail later, the log says so and polling takes over.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// [`spawn`](Self::spawn) with somebody else's notifications.
    pub(crate) fn spawn_with(mut watch: Watch, open: Opener) -> Result<(Self, mpsc::Receiver<Batch>), WatchError> {
        let named_root = watch.root.clone();
        let failed = |source| WatchError::of_root(named_root.clone(), source);
        watch.root = watch.root.canonicalize().map_err(failed)?;
        // Listing it tells a directory that may not be read, or that is none.
        watch.root.read_dir().map_err(failed)?;
        let entries = watch.filter.named().iter().map(|entry| resolved(entry)).collect::<Vec<PathBuf>>();
        watch.filter.set_named(entries.into_iter().collect());

        let (signals, received) = sync_channel(MAX_SIGNALS);
        // One place: a reader that is late finds one batch, and the next one holds everything since.
        let (batches, receiver) = mpsc::channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let inbox = Inbox::new(signals.clone());
        let (driver, backend) = Driver::start(watch, open, inbox, received, batches, Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("protomcp-watch".to_owned())
            .spawn(move || driver.run())
            .map_err(|source| WatchError::Io { path: named_root, source })?;
        Ok((Self { signals, stop, thread: Some(thread), backend }, receiver))
    }
}

impl Drop for Watcher {
    /// Stops the thread and waits for it: at most for one look at the files.
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

/// How many notifications may wait for the watching thread. When there are more, it looks at all files instead.
const MAX_SIGNALS: usize = 1_024;

//! The watching thread: receives notifications, reads the disk, sends batches.
//!
//! [`Tree`] decides about files and [`Debounce`] about time. The thread handles failures: without notifications it
//! polls, after lost notifications it scans everything, after the loss of the root it waits for a new one, and for a
//! busy reader it merges batches.

use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::debounce::{Batch, Debounce};
use crate::disk::is_newer;
use crate::error::WatchError;
use crate::inbox::{Inbox, Opener, Signal};
use crate::native::{self, Evidence, Notifier, Sign};
use crate::remote;
use crate::tree::Tree;
use crate::watch::{DEFAULT_POLL, Watch};
use crate::watcher::Backend;

/// The other ends of the watcher and its reader.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) signals: Receiver<Signal>,
    pub(crate) batches: mpsc::Sender<Batch>,
    pub(crate) stop: Arc<AtomicBool>,
}

/// The state of the thread.
pub(crate) struct Driver {
    tree: Tree,
    debounce: Debounce,
    open: Opener,
    inbox: Inbox,
    signals: Receiver<Signal>,
    batches: mpsc::Sender<Batch>,
    stop: Arc<AtomicBool>,
    /// `None` if polling was requested, after notifications failed, and while there is no root.
    notifier: Option<Box<dyn Notifier>>,
    /// The interval between scans even if notifications work.
    poll: Option<Duration>,
    next_look: Option<Instant>,
    /// The directory that has notifications.
    root: PathBuf,
    /// The root was moved or removed; once there is one again, notifications are opened again.
    root_lost: bool,
    /// The root is not compared with its last scan before this moment. Without a pause, one that differs each time would be a
    /// busy loop.
    next_comparison: Instant,
    /// A batch that is ready while the reader is busy.
    waiting: Option<Batch>,
}

impl Driver {
    /// Opens notifications and scans everything once.
    pub(crate) fn start(watch: Watch, open: Opener, inbox: Inbox, ends: Ends) -> (Self, Backend) {
        let Ends { signals, batches, stop } = ends;
        let asked = watch.poll.map(|every| every.max(SHORTEST_POLL));
        let shared = remote::is_shared(&watch.root);
        let tree = Tree::new(watch.root, watch.filter);
        let mut driver = Self {
            poll: asked.or_else(|| shared.then_some(DEFAULT_POLL)),
            root: tree.root().to_owned(),
            tree,
            debounce: Debounce::new(watch.debounce, watch.max_delay),
            open,
            inbox,
            signals,
            batches,
            stop,
            notifier: None,
            next_look: None,
            root_lost: false,
            next_comparison: Instant::now(),
            waiting: None,
        };
        let mut because = if asked.is_some() { None } else { driver.open_notifier().err() };
        // Existing files are not changes, unless they are newer than `since`.
        let (mut found, failure) = driver.scan();
        found.retain(|path| watch.since.is_some_and(|moment| is_newer(path, moment)));
        driver.report(found);
        because = because.or(failure);
        driver.schedule_scan();
        let backend = match (&driver.notifier, driver.pause()) {
            (Some(_), None) => Backend::Native,
            (Some(_), Some(every)) => Backend::NativeAndPoll { every },
            (None, every) => Backend::Poll { every: every.unwrap_or(DEFAULT_POLL), because },
        };
        (driver, backend)
    }

    /// Runs until the watcher is dropped.
    pub(crate) fn run(mut self) {
        loop {
            self.follow_root();
            self.deliver();
            if self.next_look.is_none() {
                // A link may lead to a file without notifications since the last signal.
                self.schedule_scan();
            }
            let signal = match self.wake_at() {
                None => self.signals.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => self.signals.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            match signal {
                Ok(Signal::Signs(signs)) => signs.iter().for_each(|sign| self.take(sign)),
                Ok(Signal::Broken(error)) => self.fall_back(&error),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.inbox.lost.swap(false, Ordering::AcqRel) {
                self.debounce.push_unknown(Instant::now());
                self.look_and_report();
            }
            if self.next_look.is_some_and(|at| at <= Instant::now()) {
                self.reopen_root();
                self.look_and_report();
                self.schedule_scan();
            }
        }
    }

    fn take(&mut self, sign: &Sign) {
        if sign.evidence == Evidence::Certain
            && sign.path == self.tree.root()
            && self.notifier.is_some()
            && !native::COVERS_TREES
        {
            // Removed or renamed: the notifications now concern another directory.
            return self.renew();
        }
        let mut failure = None;
        let notifier = &mut self.notifier;
        let changed = self.tree.refresh(&sign.path, sign.evidence, &mut |directory| {
            failure = failure.take().or(ask(notifier, directory));
        });
        self.report(changed);
        if let Some(error) = failure {
            self.fall_back(&error);
        }
    }

    /// Ends the notifications of a directory that the root does not lead to any longer, or that was removed.
    fn follow_root(&mut self) {
        let leads_elsewhere = self.tree.root() != self.root;
        if leads_elsewhere {
            self.root = self.tree.root().to_owned();
        }
        let is_due = self.compares_root() && self.next_comparison <= Instant::now();
        if leads_elsewhere && self.notifier.is_some() {
            self.renew();
        } else if is_due && self.tree.is_root_lost() {
            self.next_comparison = Instant::now() + DEFAULT_POLL;
            self.renew();
        }
    }

    /// True if there are notifications, and a removed root may raise none. On a file system of other machines, which is
    /// polled, a directory may not keep its identity.
    fn compares_root(&self) -> bool {
        self.notifier.is_some() && !native::COVERS_TREES && self.poll.is_none()
    }

    /// The next comparison of the root, if one is due without a notification.
    fn comparison_at(&self) -> Option<Instant> {
        let now = Instant::now();
        let at = if self.tree.is_empty() { now + DEFAULT_POLL } else { self.next_comparison };
        (self.compares_root() && at > now).then_some(at)
    }

    /// Ends the notifications, and opens new ones as soon as there is a root.
    fn renew(&mut self) {
        self.notifier = None;
        self.root_lost = true;
        self.next_look = Some(Instant::now());
    }

    fn look_and_report(&mut self) {
        let (changed, failure) = self.scan();
        self.report(changed);
        if let Some(error) = failure {
            self.fall_back(&error);
        }
    }

    /// Scans all files. Returns the error if notifications are not available for all directories, which ends them.
    fn scan(&mut self) -> (Vec<PathBuf>, Option<WatchError>) {
        let mut failure = None;
        let notifier = &mut self.notifier;
        let changed = self.tree.scan(&mut |directory| {
            failure = failure.take().or(ask(notifier, directory));
        });
        if failure.is_some() {
            self.notifier = None;
        }
        (changed, failure)
    }

    fn report(&mut self, changed: Vec<PathBuf>) {
        let now = Instant::now();
        changed.into_iter().for_each(|path| self.debounce.push(now, path));
    }

    fn open_notifier(&mut self) -> Result<(), WatchError> {
        let notifier = (self.open)(self.inbox.clone()).map_err(|error| WatchError::of_notifications(&error))?;
        self.notifier = Some(notifier);
        Ok(())
    }

    /// Opens notifications again if a lost root has returned. The following scan requests the directories.
    fn reopen_root(&mut self) {
        if self.root_lost && self.tree.root().is_dir() {
            self.root_lost = false;
            if let Err(error) = self.open_notifier() {
                self.fall_back(&error);
            }
        }
    }

    /// Notifications failed: from now on the thread polls.
    fn fall_back(&mut self, error: &WatchError) {
        tracing::warn!(root = %self.tree.root().display(), "{error}");
        self.notifier = None;
        self.schedule_scan();
    }

    fn schedule_scan(&mut self) {
        self.next_look = self.pause().map(|pause| Instant::now() + pause);
    }

    fn pause(&self) -> Option<Duration> {
        let is_needed = self.notifier.is_none() || self.tree.is_silent();
        self.poll.or_else(|| is_needed.then_some(DEFAULT_POLL))
    }

    fn deliver(&mut self) {
        if let Some(mut batch) = self.debounce.poll(Instant::now()) {
            batch.paths.retain(|path| !self.tree.is_installed(path));
            if batch.is_empty() {
                return;
            }
            match &mut self.waiting {
                Some(waiting) => waiting.merge(batch),
                None => self.waiting = Some(batch),
            }
        }
        if let Some(batch) = self.waiting.take()
            && let Err(mpsc::error::TrySendError::Full(batch)) = self.batches.try_send(batch)
        {
            self.waiting = Some(batch);
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let again = self.waiting.as_ref().map(|_| Instant::now() + BUSY_READER);
        [self.debounce.deadline(), self.next_look, again, self.comparison_at()].into_iter().flatten().min()
    }
}

/// Requests notifications for one directory. A failure of this directory alone, because it is gone or unreadable, shows
/// when it is listed; other failures concern all later requests.
fn ask(notifier: &mut Option<Box<dyn Notifier>>, directory: &Path) -> Option<WatchError> {
    let error = notifier.as_mut()?.watch(directory).err()?;
    match &error.kind {
        notify::ErrorKind::PathNotFound => None,
        notify::ErrorKind::Io(io) if matches!(io.kind(), NotFound | PermissionDenied | NotADirectory) => None,
        // Links that lead in a circle, for example.
        notify::ErrorKind::Io(_) if directory.metadata().is_err() => None,
        _ => Some(WatchError::of_notifications(&error)),
    }
}

/// A shorter interval would be a busy loop.
const SHORTEST_POLL: Duration = Duration::from_millis(10);

/// The interval at which a busy reader is tried again.
const BUSY_READER: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests;

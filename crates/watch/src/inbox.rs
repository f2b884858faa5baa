//! The way of notifications to the watching thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use crate::error::WatchError;
use crate::native::{self, Notifier, Reading, Sign};

/// A signal that wakes the thread.
#[derive(Debug)]
pub(crate) enum Signal {
    Signs(Vec<Sign>),
    Broken(WatchError),
    Stop,
}

/// Opens notifications that are sent to the inbox.
pub(crate) type Opener = Box<dyn Fn(Inbox) -> notify::Result<Box<dyn Notifier>> + Send>;

/// The sender for the notifying thread. It never blocks: signals that do not fit are marked as lost.
#[derive(Debug, Clone)]
pub(crate) struct Inbox {
    signals: SyncSender<Signal>,
    pub(crate) lost: Arc<AtomicBool>,
}

impl Inbox {
    pub(crate) fn new(signals: SyncSender<Signal>) -> Self {
        Self { signals, lost: Arc::default() }
    }

    /// Sends the content of a notification, or the failure of all later ones.
    pub(crate) fn forward(&self, reading: Result<Reading, WatchError>) {
        match reading {
            Ok(Reading::Signs(signs)) if signs.is_empty() => {}
            Ok(Reading::Signs(signs)) => self.send(Signal::Signs(signs)),
            Ok(Reading::Lost) => {
                self.lost.store(true, Ordering::Release);
                // Wakes the thread; a full queue wakes it anyway.
                self.send(Signal::Signs(Vec::new()));
            }
            Err(error) => self.send(Signal::Broken(error)),
        }
    }

    fn send(&self, signal: Signal) {
        if let Err(TrySendError::Full(_)) = self.signals.try_send(signal) {
            self.lost.store(true, Ordering::Release);
        }
    }
}

impl notify::EventHandler for Inbox {
    fn handle_event(&mut self, event: notify::Result<notify::Event>) {
        self.forward(event.map(native::read).map_err(|error| WatchError::of_notifications(&error)));
    }
}

//! The queue of lines for stderr, and the thread that alone writes there.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::log::display::Display;

/// The most lines in the queue.
const QUEUE: usize = 4096;
/// The most lines that are written with one view.
const BATCH: usize = 256;
/// The time for which the exit of the program waits for a stderr that is not read.
const FLUSH: Duration = Duration::from_millis(500);
/// The least time between two views: a person reads no faster.
const PACE: Duration = Duration::from_millis(40);
/// The pace of a view with running calls, whose times are in seconds.
const SECOND: Duration = Duration::from_secs(1);

static QUEUED: OnceLock<SyncSender<Item>> = OnceLock::new();
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);
static AS_JSON: AtomicBool = AtomicBool::new(false);
/// A [`Item::Wake`] is in the queue.
static IS_WOKEN: AtomicBool = AtomicBool::new(false);

pub(super) enum Item {
    Line(Vec<u8>),
    /// The view has changed.
    Wake,
    Open(Display),
    /// Removes the view.
    Hide(SyncSender<()>),
    /// Draws it again.
    Show,
    Flush(SyncSender<()>),
}

/// Starts the thread; false if there is one.
pub(super) fn open(as_json: bool) -> bool {
    let (sender, receiver) = sync_channel(QUEUE);
    if QUEUED.set(sender).is_err() {
        return false;
    }
    AS_JSON.store(as_json, Ordering::Relaxed);
    let writer = thread::Builder::new().name("log".into()).spawn(move || write_all(&receiver));
    writer.expect("a thread can be started at the start of the program");
    true
}

/// True if the log is for programs.
pub(super) fn is_json() -> bool {
    AS_JSON.load(Ordering::Relaxed)
}

/// Queues it. A queue that is full counts it as lost.
pub(super) fn send(item: Item) {
    let Some(queue) = QUEUED.get() else { return };
    if let Err(TrySendError::Full(_)) = queue.try_send(item) {
        LEFT_OUT.fetch_add(1, Ordering::Relaxed);
    }
}

/// Draws the view again.
pub(crate) fn wake() {
    if !IS_WOKEN.swap(true, Ordering::Relaxed) && QUEUED.get().is_none_or(|queue| queue.try_send(Item::Wake).is_err()) {
        IS_WOKEN.store(false, Ordering::Relaxed);
    }
}

/// Writes these lines, whatever the level of the log. They are not lost where the queue is full.
pub(crate) fn say(text: &str) {
    let Some(queue) = QUEUED.get() else { return };
    if let Err(TrySendError::Full(item)) = queue.try_send(Item::Line(format!("{text}\n").into_bytes())) {
        // A task of the runtime must not wait for a terminal. There are as many of these threads as commands run.
        let waiting = thread::Builder::new().name("say".into()).spawn(move || queue.send(item));
        if waiting.is_err() {
            LEFT_OUT.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Removes the view from the terminal, and waits a limited time for that.
pub(crate) fn hide_view() {
    wait(Item::Hide);
}

/// Draws the view that was removed.
pub(crate) fn show_view() {
    send(Item::Show);
}

/// Waits a limited time until all earlier lines are written.
pub(crate) fn flush() {
    wait(Item::Flush);
}

fn wait(item: impl FnOnce(SyncSender<()>) -> Item) {
    let Some(queue) = QUEUED.get() else { return };
    let (sender, done) = sync_channel(1);
    if queue.try_send(item(sender)).is_ok() {
        // A stderr that is not read must not block the exit.
        let _unread = done.recv_timeout(FLUSH);
    }
}

fn write_all(queue: &Receiver<Item>) {
    let mut stderr = io::stderr();
    let (mut display, mut is_hidden): (Option<Display>, bool) = (None, false);
    let mut following = None;
    while let Some(item) = following.take().or_else(|| next(queue, display.as_ref())) {
        let (mut lines, mut waiting) = (Vec::new(), Vec::new());
        let more = queue.try_iter().take(if display.is_some() { BATCH } else { 0 });
        for item in [item].into_iter().chain(more) {
            match item {
                Item::Line(line) => lines.extend(line),
                Item::Wake => IS_WOKEN.store(false, Ordering::Relaxed),
                Item::Open(opened) => display = Some(opened),
                Item::Hide(done) => {
                    if let Some(display) = &mut display {
                        display.erase(&mut stderr);
                    }
                    is_hidden = true;
                    waiting.push(done);
                }
                Item::Show => is_hidden = false,
                Item::Flush(done) => waiting.push(done),
            }
        }
        following = queue.try_recv().ok();
        if following.is_none() {
            // Those that were lost came after all that is written by now.
            lines.extend(lost().into_bytes());
        }
        if let Some(display) = display.as_mut().filter(|_| !is_hidden) {
            display.draw(&String::from_utf8_lossy(&lines), &mut stderr);
        } else {
            // A closed stderr cannot report its errors.
            let _closed = stderr.write_all(&lines);
        }
        for done in waiting {
            let _gone = done.try_send(());
        }
        if display.is_some() && following.is_none() {
            thread::sleep(PACE);
        }
    }
}

/// The next item. Where a view shows the seconds of a call, each second is one.
fn next(queue: &Receiver<Item>, display: Option<&Display>) -> Option<Item> {
    if !display.is_some_and(Display::is_moving) {
        return queue.recv().ok();
    }
    match queue.recv_timeout(SECOND) {
        Ok(item) => Some(item),
        Err(RecvTimeoutError::Timeout) => Some(Item::Wake),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// The line for those that were lost.
fn lost() -> String {
    match (LEFT_OUT.swap(0, Ordering::Relaxed), is_json()) {
        (0, _) => String::new(),
        (lost, true) => {
            format!("{{\"level\":\"WARN\",\"message\":\"{lost} log lines dropped\",\"target\":\"pmcp\"}}\n")
        }
        (lost, false) => format!("pmcp: {lost} log lines dropped: stderr was not read in time\n"),
    }
}

//! Works around a process that reads its socket from two threads.
//!
//! The published Python SDK 0.3.1 keeps a reader on its main thread while handlers run on another, and a handler that
//! changes the tool list reads "the next frame" itself. An ordinary frame takes two reads, length and body, and the two
//! threads steal from each other: with the answer sent immediately, 40 of 50 runs hung or lost the framing for good. A
//! frame of length zero takes one read and is harmless to either reader: with one every 10 ms until the call answered,
//! 50 of 50 runs returned, at a median of 31 ms, and the process stayed healthy. The handler then sees an empty list;
//! the change itself has been applied (docs/envelope.md, "Published SDKs").
//!
//! Nothing else is written during the workaround. After two seconds the handler has had its frame two hundred times
//! over and is only slow, so the workaround ends.

use std::time::{Duration, Instant};

/// The interval between two empty frames.
const EVERY: Duration = Duration::from_millis(10);
/// The number of empty frames for one request.
const FRAMES: u32 = 200;

/// The workaround for a handler that reads the socket itself.
#[derive(Debug, Default)]
pub(crate) struct TwoReaderWorkaround {
    /// The time of the next empty frame; `None` while the workaround is off.
    next: Option<Instant>,
    left: u32,
}

impl TwoReaderWorkaround {
    /// True if only empty frames may be written.
    pub(crate) fn is_open(&self) -> bool {
        self.next.is_some()
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// A handler waits for a frame.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.next = Some(now);
        self.left = FRAMES;
    }

    /// True if an empty frame is due.
    pub(crate) fn poll(&mut self, now: Instant) -> bool {
        if self.next.is_none_or(|next| next > now) {
            return false;
        }
        if self.left == 0 {
            self.next = None;
            return false;
        }
        self.left -= 1;
        self.next = Some(now + EVERY);
        true
    }

    pub(crate) fn end(&mut self) {
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_every_ten_milliseconds_and_end_after_two_seconds() {
        let start = Instant::now();
        let mut two_readers = TwoReaderWorkaround::default();
        assert!(!two_readers.poll(start) && !two_readers.is_open());
        two_readers.begin(start);
        let mut frames = 0;
        while let Some(next) = two_readers.deadline() {
            assert_eq!(next, start + EVERY * frames);
            assert!(!two_readers.poll(next - Duration::from_millis(1)), "not before its time");
            if two_readers.poll(next) {
                frames += 1;
            }
        }
        assert_eq!(frames, FRAMES);
        assert!(!two_readers.is_open());
    }

    #[test]
    fn another_request_starts_it_over_and_an_answer_ends_it() {
        let start = Instant::now();
        let mut two_readers = TwoReaderWorkaround::default();
        two_readers.begin(start);
        assert!(two_readers.poll(start));
        two_readers.begin(start);
        assert!(two_readers.poll(start) && two_readers.left == FRAMES - 1);
        two_readers.end();
        assert!(!two_readers.is_open() && !two_readers.poll(start + EVERY));
    }
}

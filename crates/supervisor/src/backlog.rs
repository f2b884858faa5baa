//! The queue of events for the owner, in order and in bounded memory.
//!
//! A process must never stall because its owner reads slowly, and its output must never fill the memory. So lines are
//! queued up to [`MAX_BACKLOG`]; beyond that they are counted until there is room for many again, and a notice in their
//! place gives the number. Other events are few, and always find room.
//!
//! An owner that is merely busy should miss nothing, so reading pauses when the queue reaches its high-water mark and
//! the owner is reading; see [`OutputCollector::throttle`](crate::output_collector::OutputCollector::throttle).

use std::collections::VecDeque;

use crate::event::{Event, Stream};

/// The most bytes of unread lines: 4 MiB of text and bookkeeping.
pub const MAX_BACKLOG: usize = 4 * 1024 * 1024;

/// The size at which reading pauses. The content of a pipe fits between this and the maximum.
const HIGH_WATER: usize = MAX_BACKLOG / 4;

/// The size at which the owner has caught up.
const LOW_WATER: usize = MAX_BACKLOG / 16;

/// The cost of an unread line beyond its text, so that a flood of empty lines is bounded too.
const LINE_COST: usize = 64;

/// A queue of events that drops lines rather than grow.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    events: VecDeque<Event>,
    cost: usize,
    skipped: Skipped,
    closed: bool,
}

#[derive(Debug, Default)]
struct Skipped {
    stdout: u64,
    stderr: u64,
}

impl Skipped {
    fn any(&self) -> bool {
        self.stdout > 0 || self.stderr > 0
    }
}

impl Backlog {
    /// Queues a line, or counts it if there is no room.
    pub(crate) fn push_line(&mut self, stream: Stream, text: String) {
        if self.closed {
            return;
        }
        let full = self.cost + text.len() + LINE_COST > MAX_BACKLOG;
        if full || (self.skipped.any() && !self.is_below_low_water()) {
            match stream {
                Stream::Stdout => self.skipped.stdout += 1,
                Stream::Stderr => self.skipped.stderr += 1,
            }
            return;
        }
        self.report_skipped();
        self.enqueue(stream, text);
    }

    /// Queues an event that must not be dropped.
    pub(crate) fn push(&mut self, event: Event) {
        if !self.closed {
            self.report_skipped();
            self.events.push_back(event);
        }
    }

    /// The next event. The notice about dropped lines comes at the latest when the queue is empty.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.report_skipped();
        }
        let event = self.events.pop_front()?;
        if let Event::Line { text, .. } = &event {
            self.cost -= text.len() + LINE_COST;
        }
        Some(event)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && !self.skipped.any()
    }

    /// True if the owner is so far behind that reading should pause.
    pub(crate) fn is_above_high_water(&self) -> bool {
        self.cost > HIGH_WATER
    }

    /// True if the owner has caught up.
    pub(crate) fn is_below_low_water(&self) -> bool {
        self.cost < LOW_WATER
    }

    /// Drops all events, now and later: the receiver is gone.
    pub(crate) fn close(&mut self) {
        *self = Self { closed: true, ..Self::default() };
    }

    fn report_skipped(&mut self) {
        let Skipped { stdout, stderr } = std::mem::take(&mut self.skipped);
        for (stream, count) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
            if count > 0 {
                self.enqueue(stream, notice(stream, count));
            }
        }
    }

    fn enqueue(&mut self, stream: Stream, text: String) {
        self.cost += text.len() + LINE_COST;
        self.events.push_back(Event::Line { stream, text });
    }
}

fn notice(stream: Stream, count: u64) -> String {
    let (lines, were) = if count == 1 { ("line", "was") } else { ("lines", "were") };
    format!("[{count} {lines} of {stream} {were} left out here: written faster than read]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(backlog: &mut Backlog) -> usize {
        let text = "x".repeat(1000);
        let room = MAX_BACKLOG / (text.len() + LINE_COST);
        for _ in 0..room {
            backlog.push_line(Stream::Stderr, text.clone());
        }
        assert!(backlog.is_above_high_water());
        room
    }

    fn drain(backlog: &mut Backlog) -> Vec<Event> {
        std::iter::from_fn(|| backlog.pop()).collect()
    }

    fn line(stream: Stream, text: &str) -> Event {
        Event::Line { stream, text: text.into() }
    }

    #[test]
    fn events_come_out_as_they_went_in() {
        let mut backlog = Backlog::default();
        backlog.push(Event::Started { pid: 7 });
        backlog.push_line(Stream::Stdout, "hello".into());
        backlog.push(Event::CloseLink);
        assert_eq!(drain(&mut backlog), [Event::Started { pid: 7 }, line(Stream::Stdout, "hello"), Event::CloseLink]);
        assert!(backlog.is_empty() && backlog.cost == 0);
    }

    #[test]
    fn dropped_lines_are_counted_in_their_place() {
        let mut backlog = Backlog::default();
        let room = fill(&mut backlog);
        for _ in 0..3 {
            backlog.push_line(Stream::Stderr, "y".repeat(2000));
        }
        backlog.push_line(Stream::Stdout, "z".repeat(2000));
        let (mut popped, mut skipped) = (0, 1);
        loop {
            popped += backlog.pop().iter().count();
            if backlog.is_below_low_water() {
                break;
            }
            backlog.push_line(Stream::Stdout, "no room for one is room for none".into());
            skipped += 1;
        }
        backlog.push_line(Stream::Stdout, "after".into());

        let rest = drain(&mut backlog);
        let notice = format!("[{skipped} lines of stdout were left out here: written faster than read]");
        assert_eq!(rest.len(), room - popped + 3);
        assert_eq!(
            rest[room - popped..],
            [
                line(Stream::Stdout, &notice),
                line(Stream::Stderr, "[3 lines of stderr were left out here: written faster than read]"),
                line(Stream::Stdout, "after"),
            ]
        );
        assert!(backlog.is_empty() && backlog.cost == 0);
    }

    #[test]
    fn dropped_lines_are_reported_even_if_no_line_follows() {
        let mut backlog = Backlog::default();
        fill(&mut backlog);
        backlog.push_line(Stream::Stderr, "y".repeat(2000));
        let events = drain(&mut backlog);
        assert_eq!(
            events.last(),
            Some(&line(Stream::Stderr, "[1 line of stderr was left out here: written faster than read]"))
        );
    }

    #[test]
    fn a_full_backlog_still_takes_what_matters() {
        let mut backlog = Backlog::default();
        fill(&mut backlog);
        backlog.push_line(Stream::Stderr, "y".repeat(2000));
        backlog.push(Event::CloseLink);
        assert_eq!(drain(&mut backlog).last(), Some(&Event::CloseLink));
    }

    #[test]
    fn a_flood_of_empty_lines_is_bounded_too() {
        let mut backlog = Backlog::default();
        for _ in 0..MAX_BACKLOG {
            backlog.push_line(Stream::Stdout, String::new());
        }
        assert_eq!(backlog.events.len(), MAX_BACKLOG / LINE_COST);
    }

    #[test]
    fn a_closed_backlog_keeps_nothing() {
        let mut backlog = Backlog::default();
        backlog.push_line(Stream::Stdout, "before".into());
        backlog.close();
        backlog.push_line(Stream::Stdout, "after".into());
        backlog.push(Event::CloseLink);
        assert!(backlog.is_empty() && backlog.pop().is_none());
    }
}

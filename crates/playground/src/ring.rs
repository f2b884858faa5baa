//! The latest events, as a value with bounds.

use std::collections::VecDeque;

use bytes::Bytes;

/// The latest events, numbered from 0. Beyond its bounds the oldest ones are dropped.
#[derive(Debug)]
pub(crate) struct Ring {
    events: VecDeque<Bytes>,
    /// The number of the first event that is left.
    first: u64,
    bytes: usize,
    max_events: usize,
    max_bytes: usize,
}

/// Events from a number on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) events: Vec<Bytes>,
    /// The number of the event after these.
    pub(crate) next: u64,
    /// The number of events that were dropped before these.
    pub(crate) lost: u64,
}

impl Ring {
    pub(crate) fn new(max_events: usize, max_bytes: usize) -> Self {
        Self { events: VecDeque::new(), first: 0, bytes: 0, max_events, max_bytes }
    }

    /// The number of the next event.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(crate) fn push(&mut self, event: Bytes) {
        self.bytes += event.len();
        self.events.push_back(event);
        // The newest one stays, however large it is.
        while self.events.len() > self.max_events || (self.bytes > self.max_bytes && self.events.len() > 1) {
            let dropped = self.events.pop_front().map_or(0, |event| event.len());
            self.bytes -= dropped;
            self.first += 1;
        }
    }

    /// At most `most` events from number `from` on.
    pub(crate) fn page(&self, from: u64, most: usize) -> Page {
        let start = from.clamp(self.first, self.next());
        let index = usize::try_from(start - self.first).unwrap_or(usize::MAX);
        let events: Vec<_> = self.events.iter().skip(index).take(most).cloned().collect();
        let next = start + events.len() as u64;
        Page { events, next, lost: start.saturating_sub(from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ring: &Ring, from: u64, most: usize, events: &[&'static str], lost: u64) {
        let page = ring.page(from, most);
        let events: Vec<_> = events.iter().map(|event| Bytes::from_static(event.as_bytes())).collect();
        assert_eq!((page.events, page.lost), (events, lost), "from {from}");
    }

    #[test]
    fn the_oldest_events_are_dropped() {
        let mut ring = Ring::new(3, 8);
        check(&ring, 0, 9, &[], 0);
        for event in ["a", "b", "c", "d"] {
            ring.push(Bytes::from_static(event.as_bytes()));
        }
        check(&ring, 0, 9, &["b", "c", "d"], 1);
        check(&ring, 2, 1, &["c"], 0);
        assert_eq!(ring.page(2, 1).next, 3);
        check(&ring, 4, 9, &[], 0);
        ring.push(Bytes::from_static(b"longer"));
        check(&ring, 3, 9, &["d", "longer"], 0);
        ring.push(Bytes::from_static(b"longer than all"));
        check(&ring, 0, 9, &["longer than all"], 5);
        assert_eq!((ring.next(), ring.bytes), (6, 15));
    }

    #[test]
    fn a_number_of_the_future_is_the_next_one() {
        let ring = Ring::new(3, 8);
        assert_eq!(ring.page(7, 9), Page { events: vec![], next: 0, lost: 0 });
    }
}

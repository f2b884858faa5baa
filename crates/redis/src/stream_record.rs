//! The streams of a log, as they are read from a store.

use protomcp_http::{Replayed, StoredEvent};

/// The state of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamRecord {
    /// The number of its last event, or of the last one that is kept if it has ended; `None`: nothing is known of it.
    pub(crate) last: Option<u64>,
}

/// The wanted events: after one number and before another. `u64::MAX` is the end of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) after: u64,
    pub(crate) before: u64,
}

/// An event with its number; `None`: it was too large, or was sealed with another key.
pub(crate) type Kept = (u64, Option<StoredEvent>);

impl StreamRecord {
    /// The events of the stream in this range, of the ones that were found. One that was dropped, or was never stored,
    /// is not there.
    pub(crate) fn replay(self, Range { after, before }: Range, found: Vec<Kept>) -> Replayed {
        let Some(newest) = self.last else { return Replayed::Unknown };
        let (mut events, mut last) = (Vec::with_capacity(found.len()), after);
        for (number, event) in found {
            match event {
                Some(event) if number == last + 1 => {
                    events.push(event);
                    last = number;
                }
                Some(_) | None => return Replayed::Missing,
            }
        }
        let wanted = match before {
            u64::MAX => newest,
            before => before.saturating_sub(1),
        };
        if last < wanted { Replayed::Missing } else { Replayed::Events(events) }
    }
}

/// The pairs of a list.
pub(crate) fn pairs(list: Vec<Vec<u8>>) -> Vec<(String, Vec<u8>)> {
    let mut list = list.into_iter();
    let mut pairs = Vec::with_capacity(list.len() / 2);
    while let (Some(name), Some(value)) = (list.next(), list.next()) {
        pairs.push((String::from_utf8_lossy(&name).into_owned(), value));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u64) -> StoredEvent {
        vec![number.to_string().into()]
    }

    /// The last event of a stream, the range, the numbers that are there, and the ones that are replayed.
    type Row = (u64, u64, u64, &'static [u64], Option<&'static [u64]>);

    const ALL: u64 = u64::MAX;

    const ROWS: &[Row] = &[
        (0, 0, ALL, &[], Some(&[])),
        (3, 0, ALL, &[1, 2, 3], Some(&[1, 2, 3])),
        (3, 1, 3, &[2], Some(&[2])),
        (3, 3, 4, &[], Some(&[])),
        (3, 9, ALL, &[], Some(&[])),
        (3, ALL, ALL, &[], Some(&[])),
        // The oldest ones were dropped, or all.
        (3, 0, ALL, &[2, 3], None),
        (3, 0, ALL, &[], None),
        // A write has failed, in between and at the end.
        (4, 0, ALL, &[1, 2, 4], None),
        (4, 0, ALL, &[1, 2], None),
        (2, 0, 4, &[1, 2], None),
    ];

    #[test]
    fn a_replay_has_all_events_or_says_that_it_has_not() {
        for (last, after, before, found, expected) in ROWS {
            let kept = found.iter().map(|number| (*number, Some(event(*number)))).collect();
            let range = Range { after: *after, before: *before };
            let replayed = StreamRecord { last: Some(*last) }.replay(range, kept);
            let expected = match expected {
                Some(numbers) => Replayed::Events(numbers.iter().copied().map(event).collect()),
                None => Replayed::Missing,
            };
            assert_eq!(replayed, expected, "{last}, {range:?}: {found:?}");
        }
    }

    #[test]
    fn a_stream_is_unknown_or_its_events_are_lost() {
        let range = Range { after: 0, before: u64::MAX };
        let unknown = StreamRecord { last: None };
        assert_eq!(unknown.replay(range, Vec::new()), Replayed::Unknown);
        let known = StreamRecord { last: Some(1) };
        assert_eq!(known.replay(range, vec![(1, None)]), Replayed::Missing, "sealed with another key");
    }

    #[test]
    fn a_list_is_read_in_pairs() {
        let list = ["a", "1", "b", "2", "c"].map(|text| text.as_bytes().to_vec()).to_vec();
        assert_eq!(pairs(list), [("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())]);
    }
}

//! The notices that wait to be sent, as a value.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use bytes::Bytes;

/// The most notices that wait.
pub(crate) const MAX_NOTICES: usize = 1_024;

/// Their most bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// The texts of notices, oldest first. Beyond the limits the oldest ones are dropped.
#[derive(Default)]
pub(crate) struct NoticeQueue {
    waiting: VecDeque<Bytes>,
    /// The changes among them.
    changes: HashSet<Bytes>,
    bytes: usize,
    dropped: u64,
}

impl NoticeQueue {
    /// Queues a notice of a change. An equal one that waits stands for both. Returns true if another one was dropped.
    pub(crate) fn push_change(&mut self, text: Bytes) -> bool {
        self.changes.insert(text.clone()) && self.push(text)
    }

    /// Queues a notice that counts each time. Returns true if another one was dropped.
    pub(crate) fn push(&mut self, text: Bytes) -> bool {
        let dropped = self.dropped;
        self.bytes += text.len();
        self.waiting.push_back(text);
        while self.waiting.len() > MAX_NOTICES || self.bytes > MAX_BYTES {
            self.drop_one();
            self.dropped += 1;
        }
        self.dropped > dropped
    }

    /// Drops the oldest notice, but refused tokens before all others, because anyone can make many of them, and changes of
    /// lists and tasks after all others: they are few, and a caller cannot make many.
    fn drop_one(&mut self) {
        let refused = self.waiting.iter().position(|text| text.starts_with(b"{\"token\":"));
        let place = refused.or_else(|| self.waiting.iter().position(|text| !is_kept(text))).unwrap_or_default();
        if let Some(text) = self.waiting.remove(place) {
            self.changes.remove(&text);
            self.bytes -= text.len();
        }
    }

    /// Takes the oldest notice.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let text = self.waiting.pop_front()?;
        self.changes.remove(&text);
        self.bytes -= text.len();
        Some(text)
    }

    /// Counts a notice that is not queued.
    pub(crate) fn refuse(&mut self) {
        self.dropped += 1;
    }

    /// The notices that were dropped or not queued since the start.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// True for the change of a list or a task.
fn is_kept(text: &[u8]) -> bool {
    [b"{\"list\":".as_slice(), b"{\"task\":"].iter().any(|start| text.starts_with(start))
}

/// Keeps contents out of logs.
impl fmt::Debug for NoticeQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waiting, dropped) = (self.waiting.len(), self.dropped);
        f.debug_struct("NoticeQueue").field("waiting", &waiting).field("dropped", &dropped).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(queue: &mut NoticeQueue) -> Vec<Bytes> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn changes_of_lists_and_tasks_are_dropped_last() {
        let mut queue = NoticeQueue::default();
        for first in [r#"{"list":"tools"}"#, r#"{"task":"7"}"#] {
            queue.push_change(first.into());
        }
        for number in 0..2 * MAX_NOTICES {
            queue.push_change(format!(r#"{{"resource":"file:///{number}"}}"#).into());
        }
        assert_eq!(queue.dropped(), MAX_NOTICES as u64 + 2);
        let left = all(&mut queue);
        assert_eq!(
            (left.len(), &left[0][..], &left[1][..]),
            (MAX_NOTICES, &b"{\"list\":\"tools\"}"[..], &b"{\"task\":\"7\"}"[..])
        );
    }

    #[test]
    fn refused_tokens_are_dropped_first() {
        let mut queue = NoticeQueue::default();
        queue.push_change(r#"{"resource":"file:///a"}"#.into());
        for number in 0..2 * MAX_NOTICES {
            queue.push_change(format!(r#"{{"token":"{number}"}}"#).into());
        }
        let left = all(&mut queue);
        assert_eq!((left.len(), &left[0][..]), (MAX_NOTICES, &b"{\"resource\":\"file:///a\"}"[..]));
        assert_eq!(left[MAX_NOTICES - 1], format!(r#"{{"token":"{}"}}"#, 2 * MAX_NOTICES - 1), "the oldest ones");
    }

    #[test]
    fn equal_changes_wait_as_one() {
        let mut queue = NoticeQueue::default();
        for change in ["a", "b", "a", "a"] {
            assert!(!queue.push_change(change.into()));
        }
        assert_eq!(queue.pop().as_deref(), Some(b"a".as_slice()));
        assert!(!queue.push_change("a".into()), "the first one may have been read already");
        assert!(!queue.push("log".into()) && !queue.push("log".into()));
        assert_eq!(all(&mut queue), ["b", "a", "log", "log"]);
        assert_eq!((queue.bytes, queue.changes.len(), queue.dropped()), (0, 0, 0));
    }

    #[test]
    fn the_oldest_notices_are_dropped() {
        let mut queue = NoticeQueue::default();
        for number in 0..MAX_NOTICES {
            assert!(!queue.push_change(number.to_string().into()));
        }
        assert!(queue.push("more".into()) && queue.push_change("0".into()), "the first one can be queued again");
        assert_eq!((queue.pop(), queue.dropped()), (Some("2".into()), 2));

        let mut queue = NoticeQueue::default();
        let large = Bytes::from(vec![b'x'; MAX_BYTES / 4]);
        for _ in 0..4 {
            assert!(!queue.push(large.clone()));
        }
        assert!(queue.push("a".into()));
        assert_eq!((all(&mut queue).len(), queue.dropped()), (4, 1));
        queue.refuse();
        assert_eq!(queue.dropped(), 2);
    }

    #[test]
    fn a_queue_shows_no_notice() {
        let mut queue = NoticeQueue::default();
        queue.push_change("hunter2".into());
        assert_eq!(format!("{queue:?}"), "NoticeQueue { waiting: 1, dropped: 0, .. }");
    }
}

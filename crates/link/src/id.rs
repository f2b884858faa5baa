//! Ids of calls, in this program and on the wire.
//!
//! An id must never be reused while it is in flight: one published SDK exits when it sees a duplicate. A [`CallIds`]
//! therefore counts up for its whole life.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The id of a request that we sent and owe an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u64);

/// The text before the number on the wire. Both directions use the same, because ids of the two directions never meet:
/// the kind of a message decides which side has chosen its id.
const PREFIX: &str = "req-";

impl CallId {
    /// Reads an id from the wire. `None` for texts that this side never wrote, including other spellings of the same
    /// number.
    pub fn from_wire(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let canonical = digits == "0" || (digits.starts_with(|c: char| ('1'..='9').contains(&c)));
        if !canonical || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().map(Self)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

/// Allocates [`CallId`]s. Clones count together, so a caller can name and cancel a call before the driver has seen it.
#[derive(Debug, Clone, Default)]
pub struct CallIds(Arc<AtomicU64>);

impl CallIds {
    /// The next id; never the same twice.
    pub fn next(&self) -> CallId {
        CallId(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_the_wire() {
        let ids = CallIds::default();
        for _ in 0..12 {
            let id = ids.next();
            assert_eq!(CallId::from_wire(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn only_the_spelling_we_wrote_is_ours() {
        for text in
            ["", "req-", "req-x", "req-01", "req-00", "req--1", "req-+1", "REQ-1", "1", "req-99999999999999999999"]
        {
            assert_eq!(CallId::from_wire(text), None, "{text}");
        }
        assert_eq!(CallId::from_wire("req-0"), Some(CallId(0)));
    }
}

//! Messages for a client, with the bytes that they have reserved among all that waits to be read.

use std::borrow::Borrow;

use bytes::Bytes;
use protomcp_server::Reservation;
use protomcp_types::Message;

/// A message that waits to be read.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) message: Message,
    /// `None`: it is short.
    pub(crate) room: Option<Reservation>,
}

impl From<Message> for Reserved {
    fn from(message: Message) -> Self {
        Self { message, room: None }
    }
}

impl Borrow<Message> for Reserved {
    fn borrow(&self) -> &Message {
        &self.message
    }
}

/// Bytes that keep something for as long as they are there.
struct Held<T> {
    bytes: Bytes,
    _kept: T,
}

impl<T> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Lets the longest of these pieces keep something until it is written: a server takes pieces out of a body long before.
pub(crate) fn hold<T: Send + Sync + 'static>(mut pieces: Vec<Bytes>, kept: T) -> Vec<Bytes> {
    if let Some(longest) = pieces.iter_mut().max_by_key(|piece| piece.len()) {
        *longest = Bytes::from_owner(Held { bytes: std::mem::take(longest), _kept: kept });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_longest_piece_keeps_it() {
        let kept = Arc::new(());
        let pieces = hold(["a", "long", "b"].map(Bytes::from).to_vec(), Arc::clone(&kept));
        assert_eq!(pieces.concat(), b"alongb");
        let (long, short) = (pieces[1].clone(), pieces[0].clone());
        drop(pieces);
        assert_eq!(Arc::strong_count(&kept), 2);
        drop(long);
        assert_eq!(Arc::strong_count(&kept), 1);
        assert_eq!(short, "a");
    }
}

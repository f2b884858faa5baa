//! Pieces of responses that keep the reservation of their messages.

use bytes::Bytes;

/// Bytes that keep a value alive.
struct ReservedBytes<T> {
    bytes: Bytes,
    _kept: T,
}

impl<T> AsRef<[u8]> for ReservedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Lets the longest of these pieces keep a value until it is written: a server takes pieces out of a body long before.
pub(crate) fn hold<T: Send + Sync + 'static>(mut pieces: Vec<Bytes>, kept: Option<T>) -> Vec<Bytes> {
    if let Some(kept) = kept
        && let Some(longest) = pieces.iter_mut().max_by_key(|piece| piece.len())
    {
        *longest = Bytes::from_owner(ReservedBytes { bytes: std::mem::take(longest), _kept: kept });
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
        let pieces = hold(["a", "long", "b"].map(Bytes::from).to_vec(), Some(Arc::clone(&kept)));
        assert_eq!(pieces.concat(), b"alongb");
        let (long, short) = (pieces[1].clone(), pieces[0].clone());
        drop(pieces);
        assert_eq!(Arc::strong_count(&kept), 2);
        drop(long);
        assert_eq!(Arc::strong_count(&kept), 1);
        assert_eq!(short, "a");
    }
}

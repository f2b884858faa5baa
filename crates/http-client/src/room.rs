//! The bytes of messages that have arrived and were not taken yet, bounded for all responses together.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit of the account, in bytes.
const UNIT: usize = 1024;

/// The room for messages. Cloning is cheap, and clones share.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Semaphore>);

/// Room that a message takes; given back on drop.
#[derive(Debug, Default)]
pub(crate) struct Taken(Option<OwnedSemaphorePermit>);

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes / UNIT).clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Grows `taken` to this many bytes, once there is room.
    pub(crate) async fn grow(&self, taken: &mut Taken, bytes: usize) {
        let more = bytes.div_ceil(UNIT).saturating_sub(taken.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
        if more == 0 {
            return;
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.0).acquire_many_owned(more).await else { return };
        match &mut taken.0 {
            Some(taken) => taken.merge(permit),
            none => *none = Some(permit),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn room_is_shared_and_given_back() {
        let room = Room::new(4 * UNIT);
        let (mut one, mut other) = (Taken::default(), Taken::default());
        assert_eq!(room.grow(&mut one, 1).now_or_never(), Some(()));
        assert_eq!(room.grow(&mut one, 3 * UNIT).now_or_never(), Some(()));
        assert_eq!(room.grow(&mut one, 2 * UNIT).now_or_never(), Some(()));
        assert_eq!(room.grow(&mut other, 2 * UNIT).now_or_never(), None);
        assert_eq!(room.grow(&mut other, UNIT).now_or_never(), Some(()));
        drop(one);
        assert_eq!(room.grow(&mut other, 4 * UNIT).now_or_never(), Some(()));
    }
}

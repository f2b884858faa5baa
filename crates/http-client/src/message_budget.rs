//! The bytes of messages that have arrived and were not taken yet, bounded for all responses together.
//!
//! Messages grow in parallel, and each keeps its bytes while it waits for more. So that they cannot all wait
//! for each other, one message at a time may grow beyond the shared budget.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit of the account, in bytes.
const UNIT: usize = 1024;

/// The bytes of messages. Cloning is cheap, and clones share.
#[derive(Debug, Clone)]
pub(crate) struct MessageBudget {
    shared: Arc<Semaphore>,
    /// For the one message that is not bound by the shared budget.
    exempt: Arc<Semaphore>,
}

/// The bytes of one message; given back on drop.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    shared: Option<OwnedSemaphorePermit>,
    exempt: Option<OwnedSemaphorePermit>,
}

impl MessageBudget {
    /// This many bytes for all messages but one.
    pub(crate) fn new(bytes: usize) -> Self {
        let shared = Semaphore::new((bytes / UNIT).clamp(1, Semaphore::MAX_PERMITS));
        Self { shared: Arc::new(shared), exempt: Arc::new(Semaphore::new(1)) }
    }

    /// Grows `taken` to this many bytes, once the budget has them.
    pub(crate) async fn grow(&self, taken: &mut Taken, bytes: usize) {
        if taken.exempt.is_some() {
            return;
        }
        let own = taken.shared.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.div_ceil(UNIT).saturating_sub(own);
        if more == 0 {
            return;
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        // The semaphores are never closed.
        tokio::select! {
            biased;
            Ok(permit) = Arc::clone(&self.shared).acquire_many_owned(more) => match &mut taken.shared {
                Some(taken) => taken.merge(permit),
                none => *none = Some(permit),
            },
            Ok(permit) = Arc::clone(&self.exempt).acquire_owned() => {
                *taken = Taken { shared: None, exempt: Some(permit) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn room_is_shared_and_given_back() {
        let budget = MessageBudget::new(4 * UNIT);
        let (mut one, mut other, mut exempt) = (Taken::default(), Taken::default(), Taken::default());
        assert_eq!(budget.grow(&mut exempt, 5 * UNIT).now_or_never(), Some(()), "larger than the budget");
        assert_eq!(budget.grow(&mut one, 1).now_or_never(), Some(()));
        assert_eq!(budget.grow(&mut one, 3 * UNIT).now_or_never(), Some(()));
        assert_eq!(budget.grow(&mut one, 2 * UNIT).now_or_never(), Some(()));
        assert_eq!(budget.grow(&mut other, 2 * UNIT).now_or_never(), None);
        assert_eq!(budget.grow(&mut other, UNIT).now_or_never(), Some(()));
        drop(one);
        assert_eq!(budget.grow(&mut other, 4 * UNIT).now_or_never(), Some(()));
    }

    #[test]
    fn messages_that_wait_for_each_other_continue_one_by_one() {
        let budget = MessageBudget::new(4 * UNIT);
        let half = || {
            let mut taken = Taken::default();
            assert_eq!(budget.grow(&mut taken, 2 * UNIT).now_or_never(), Some(()));
            taken
        };
        let (mut one, mut other) = (half(), half());
        assert_eq!(budget.grow(&mut one, 3 * UNIT).now_or_never(), Some(()));
        assert_eq!(budget.grow(&mut one, 100 * UNIT).now_or_never(), Some(()));
        // Its share is free for others.
        assert_eq!(budget.grow(&mut other, 4 * UNIT).now_or_never(), Some(()));
        assert_eq!(budget.grow(&mut other, 5 * UNIT).now_or_never(), None);
        drop(one);
        assert_eq!(budget.grow(&mut other, 5 * UNIT).now_or_never(), Some(()));
        drop(other);
        assert_eq!((budget.shared.available_permits(), budget.exempt.available_permits()), (4, 1));
    }
}

//! Work on values of any size: in the turn of the connection if they are small, else on the threads for large ones.

use protomcp_server::{Turn, Worker};

use crate::serve::turn::spend;

/// Values of at most this many bytes are converted on the thread of the connection.
const SMALL: usize = 32 << 10;

/// Does the work of one owner.
#[derive(Debug, Clone)]
pub(super) struct Values(Worker);

impl Values {
    pub(super) fn new(worker: Worker) -> Self {
        Self(worker)
    }

    /// Works on a value of this many bytes. Dropping the future does not stop work on a large value that has begun.
    pub(super) async fn run<T: Send + 'static>(&self, bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
        if bytes <= SMALL {
            spend(bytes).await;
            return work();
        }
        self.0.run(work).await
    }

    /// Waits for a turn, for a value of this many bytes. `None`: it is small, and needs none.
    pub(super) async fn turn(&self, bytes: usize) -> Option<Turn> {
        if bytes <= SMALL {
            spend(bytes).await;
            return None;
        }
        Some(self.0.turn().await)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use protomcp_fair::Owner;
    use protomcp_server::LargeWork;
    use tokio::task::coop::unconstrained;

    use super::*;

    #[tokio::test]
    async fn only_large_values_wait_for_a_thread() {
        let pool = LargeWork::default();
        let mut turns = Vec::new();
        while let Some(turn) = pool.worker(Owner::Local).turn().now_or_never() {
            turns.push(turn);
        }
        let values = Values::new(pool.worker(Owner::Local));
        assert!(unconstrained(values.run(SMALL, || true)).now_or_never().is_some());
        assert!(unconstrained(values.run(SMALL + 1, || true)).now_or_never().is_none());
        drop(turns);
        assert!(values.run(SMALL + 1, || true).await);
    }
}

//! The failure of a store that processes share.

/// The reason that a store has not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be reached, or does not answer in time. The operation may have happened nevertheless.
    #[error("the store that the processes of this server share does not answer; try again in a moment")]
    Unavailable,
}

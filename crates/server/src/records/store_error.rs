//! The failure of a store that processes share.

/// The reason that a store has not answered, or has refused a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be reached, or does not answer in time. The operation may have happened nevertheless.
    #[error("the store that the processes of this server share does not answer; try again in a moment")]
    Unavailable,
    /// The [`FencingToken`](crate::FencingToken) of the writer is not the latest one of the session: another process
    /// has taken it over. The writer stops serving it.
    #[error("another process of this server serves the session")]
    Fenced,
}

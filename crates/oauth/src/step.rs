//! The result of one input to a part of a flow.

use crate::exchange::HttpRequest;

/// The next request of a part, or its outcome.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one value at a time")]
pub(crate) enum Step<T> {
    /// Is to be sent; its response is the next input.
    Send(HttpRequest),
    /// The part is complete.
    Done(T),
}

//! The numbers of the streams of a session.

/// The number of a stream in its session; the standalone one has 0.
pub(crate) type StreamId = u64;

/// The stream that a client opens with GET.
pub(crate) const STANDALONE: StreamId = 0;

/// The first stream that a POST opens.
pub(crate) const FIRST: StreamId = 1;

/// The first stream that a POST opens at the holder with this number, from 1. Streams of earlier holders have other
/// numbers: a client that resumes one of them finds no later one in its place.
pub(crate) fn first_of(holder: u64) -> StreamId {
    holder.saturating_sub(1).wrapping_mul(1 << 40).wrapping_add(FIRST)
}

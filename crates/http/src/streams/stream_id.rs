//! The numbers of the streams of a session.

/// The number of a stream in its session; the standalone one has 0.
pub(crate) type StreamId = u64;

/// The stream that a client opens with GET.
pub(crate) const STANDALONE: StreamId = 0;

/// The first stream that a POST opens.
pub(crate) const FIRST: StreamId = 1;

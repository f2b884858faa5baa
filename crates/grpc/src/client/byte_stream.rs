//! The streams that a connection runs over.

use tokio::io::{AsyncRead, AsyncWrite};

/// A stream to a server.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> ByteStream for T {}

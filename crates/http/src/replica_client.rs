//! The client for the other processes of a server.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response};

use crate::box_body::BoxBody;

/// The response of another process, or the reason that there is none.
pub type ReplicaAnswer<'a> = Pin<Box<dyn Future<Output = Result<Response<BoxBody>, ReplicaError>> + Send + 'a>>;

/// Sends requests to the other processes of a server ([`Replicas`](crate::Replicas)).
pub trait ReplicaClient: fmt::Debug + Send + Sync + 'static {
    /// Sends a request to the server of its absolute URI, once, without following redirects. The future resolves to the
    /// head of the response, of any status; the body is read as it arrives, and only as fast as it is polled.
    ///
    /// Dropping the future or the body closes the stream or the connection of the request: the other process learns
    /// that the client has gone. A connection is opened within a bounded time.
    fn send(&self, request: Request<Bytes>) -> ReplicaAnswer<'_>;
}

/// The reason that another process has not answered, for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// Nothing of the request was written: it can be sent again.
    #[error("cannot be reached: {0}")]
    NotSent(String),
    /// The request was written, or may have been: the other process may have carried it out.
    #[error("has not answered: {0}")]
    Lost(String),
}

//! Connections that replace lost ones.

use std::fmt;

use futures_util::future::BoxFuture;

/// The end of a server in words, such as the exit status of its process. A [`Source`](protomcp_transport::Source)
/// returns it among its extensions after the last message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEnd(pub String);

/// Makes connections.
pub(crate) trait Reconnect<Q, K>: Send {
    /// The next connection, after a pause if one is due; `None` after too many failures.
    fn reconnect(self: Box<Self>) -> BoxFuture<'static, Option<Replacement<Q, K>>>;
}

/// A new connection, and the maker of the next one.
pub(crate) struct Replacement<Q, K> {
    pub(crate) source: Q,
    pub(crate) sink: K,
    pub(crate) next: Box<dyn Reconnect<Q, K>>,
}

/// The state of the replacement of a connection.
pub(crate) enum Reconnection<Q, K> {
    /// A lost connection is not replaced.
    Never,
    /// It would be.
    Ready(Box<dyn Reconnect<Q, K>>),
    /// It is being replaced.
    Running(BoxFuture<'static, Option<Replacement<Q, K>>>),
}

impl<Q, K> Reconnection<Q, K> {
    /// Begins a replacement. False if there will be none.
    pub(crate) fn start(&mut self) -> bool {
        match std::mem::replace(self, Self::Never) {
            Self::Ready(reconnect) => {
                *self = Self::Running(reconnect.reconnect());
                true
            }
            Self::Never => false,
            running @ Self::Running(_) => {
                *self = running;
                true
            }
        }
    }

    /// Waits for the new connection; `None` if there will be none. Never resolves if none is made. Cancel safe.
    pub(crate) async fn done(&mut self) -> Option<(Q, K)> {
        let Self::Running(attempt) = self else { return std::future::pending().await };
        match attempt.await {
            Some(Replacement { source, sink, next }) => {
                *self = Self::Ready(next);
                Some((source, sink))
            }
            None => {
                *self = Self::Never;
                None
            }
        }
    }
}

impl<Q, K> fmt::Debug for Reconnection<Q, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "Never",
            Self::Ready(_) => "Ready",
            Self::Running(_) => "Running",
        })
    }
}

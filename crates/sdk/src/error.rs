//! The reasons for which a tool process ends with an error.

use std::io;

use protomcp_server::ServeError;

/// The reason for which a tool process has ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The program was not started by a bridge.
    #[error("PROTOMCP_SOCKET is not set: start this program with `pmcp dev` or `pmcp run`")]
    NotStarted,
    /// The socket of the bridge cannot be reached.
    #[error("cannot connect to the bridge")]
    Connect(#[source] io::Error),
    /// The connection to the bridge has failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

//! The reasons for which a tool process does not get into service.

use std::time::Duration;

use protomcp_link::{EndpointError, HandshakeError};
use protomcp_supervisor::{Exit, SpawnError};

use crate::diagnostics::advice;
use crate::diagnostics::cause::Cause;

/// The reason for which a process did not get into service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The socket could not be created.
    #[error(transparent)]
    Socket(#[from] EndpointError),
    /// The program could not be started.
    #[error("{}", not_started(.0))]
    Spawn(#[from] SpawnError),
    /// It ended before it connected.
    #[error("{}", Cause::exited(.0, before_it_connected(.0)))]
    Exited(Exit),
    /// It is running and does not connect.
    #[error("the tool process did not connect within {0:?}; does it use a protomcp SDK and call its run function?")]
    NotConnected(Duration),
    /// The process connected and did not register.
    #[error("the tool process did not register its tools: {0}")]
    Handshake(HandshakeError),
    /// The process connected and ended while registering.
    #[error("{}", Cause::exited(.0, WHILE_REGISTERING))]
    ExitedRegistering(Exit),
    /// The process closed the link while registering and continues to run.
    #[error("the tool process closed its link while it registered its tools")]
    Disconnected,
    /// The files changed while the process was starting; their new version starts instead.
    #[error("the files changed while the tool process was starting")]
    Superseded,
    /// Accepting the connection failed.
    #[error("the connection of the tool process could not be accepted: {0}")]
    Accept(#[source] std::io::Error),
}

impl StartError {
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Exited(exit) => Cause::exited(exit, before_it_connected(exit)),
            Self::ExitedRegistering(exit) => Cause::exited(exit, WHILE_REGISTERING),
            Self::Handshake(HandshakeError::Refused(reason)) => {
                Cause::reported("the tool process did not register its tools: it reported", reason)
            }
            other => other.to_string().into(),
        }
    }
}

/// A missing program with its remedy, and every other failure in its own words.
fn not_started(error: &SpawnError) -> String {
    let remedy = match error {
        SpawnError::NotFound { program } => advice::not_found(program),
        _ => None,
    };
    remedy.map_or_else(|| error.to_string(), |remedy| format!("{error}; {remedy}"))
}

const WHILE_REGISTERING: &str = " while it registered its tools";

fn before_it_connected(exit: &Exit) -> &'static str {
    if exit.status.success() {
        " before it connected (a tool file has to call its SDK's run function)"
    } else {
        " before it connected"
    }
}

impl From<&StartError> for Cause {
    fn from(error: &StartError) -> Self {
        error.cause()
    }
}

#[cfg(test)]
mod tests {
    use protomcp_supervisor::Status;

    use super::*;

    #[test]
    fn a_missing_interpreter_comes_with_a_remedy() {
        let missing = |program: &str| StartError::Spawn(SpawnError::NotFound { program: program.into() }).to_string();
        assert!(missing("python3").starts_with("program not found: python3; files that end in .py"));
        assert_eq!(missing("/no/such"), "program not found: /no/such");
    }

    #[test]
    fn no_start_error_quotes_the_process_in_its_summary() {
        let exit = || Exit { status: Status::Code(1), stderr_tail: vec!["secret".into()], uptime: Duration::ZERO };
        let refused = HandshakeError::Refused("secret".into());
        for error in [StartError::Exited(exit()), StartError::ExitedRegistering(exit()), StartError::Handshake(refused)]
        {
            let cause = Cause::from(&error);
            assert_eq!(cause.to_string(), error.to_string());
            assert!(cause.to_string().contains("secret") && !cause.summary().contains("secret"), "{error}");
        }
    }
}

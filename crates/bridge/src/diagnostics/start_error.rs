//! The reasons for which a tool process does not get into service.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use protomcp_lend::LendError;
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
    #[error(transparent)]
    Spawn(NotSpawned),
    /// It ended before it connected.
    #[error("{}", exited(.0))]
    Exited(Exit),
    /// It ended before it connected, because its interpreter has no SDK, or another one than the file needs.
    #[error("{}", no_sdk(.exit, .remedy))]
    NoSdk {
        /// The end of the process.
        exit: Exit,
        /// The way to an SDK.
        remedy: String,
    },
    /// The SDK that the user wants cannot be lent.
    #[error(transparent)]
    Lend(#[from] LendError),
    /// It is running and does not connect.
    #[error("the tool process did not connect within {0:?}; does it use a protomcp SDK and call its run function?")]
    NotConnected(Duration),
    /// The process did not take the state of the version before over in time.
    #[error("the function that takes over the state of the version before did not end within {0:?}")]
    StateNotTakenOver(Duration),
    /// The process connected and did not register.
    #[error("the tool process did not register its tools: {0}")]
    Handshake(HandshakeError),
    /// The process connected and ended while registering.
    #[error("{}", Cause::exited(.0, WHILE_REGISTERING))]
    ExitedRegistering(Exit),
    /// The process closed the link while registering and continues to run.
    #[error("the tool process closed its link while it registered its tools")]
    Disconnected,
    /// The process ended while it took the state of the version before over.
    #[error("{}", Cause::exited(.0, WHILE_TAKING_OVER))]
    ExitedTakingOver(Exit),
    /// The process closed the link while it took the state of the version before over, and continues to run.
    #[error("the tool process closed its link while it took over the state of the version before")]
    DisconnectedTakingOver,
    /// The files changed while the process was starting; their new version starts instead.
    #[error("the files changed while the tool process was starting")]
    Superseded,
    /// The process names folders of skills that are refused, or whose skills cannot be loaded.
    #[error("{0}")]
    Skills(String),
    /// Accepting the connection failed.
    #[error("the connection of the tool process could not be accepted: {0}")]
    Accept(#[source] std::io::Error),
}

impl StartError {
    /// The reason without the last lines of the process, where the log shows them: its target is `tool::stderr`.
    #[must_use]
    pub fn without_lines(&self) -> String {
        self.cause().without_lines()
    }

    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Exited(exit) => exited(exit),
            Self::NoSdk { exit, remedy } => no_sdk(exit, remedy),
            Self::ExitedRegistering(exit) => Cause::exited(exit, WHILE_REGISTERING),
            Self::ExitedTakingOver(exit) => Cause::exited(exit, WHILE_TAKING_OVER),
            Self::Handshake(HandshakeError::Refused(reason)) => {
                Cause::reported("the tool process did not register its tools: it reported", reason)
            }
            other => other.to_string().into(),
        }
    }
}

/// The reason for which a program could not be started, with the remedy if there is one.
#[derive(Debug)]
pub struct NotSpawned(SpawnError);

impl NotSpawned {
    /// The failure, without a remedy.
    #[must_use]
    pub fn failure(&self) -> &SpawnError {
        &self.0
    }
}

impl fmt::Display for NotSpawned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = match &self.0 {
            SpawnError::NotFound { program } => {
                advice::chosen_by_variable(program).or_else(|| advice::not_found(program))
            }
            SpawnError::InterpreterNotFound { program, .. }
            | SpawnError::IsDirectory { program }
            | SpawnError::PermissionDenied { program } => advice::chosen_by_variable(program),
            _ => None,
        };
        match remedy {
            Some(remedy) => write!(f, "{}; {remedy}", self.0),
            None => self.0.fmt(f),
        }
    }
}

impl Error for NotSpawned {
    /// The source of the failure, whose own words are in the text already.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl From<SpawnError> for StartError {
    fn from(error: SpawnError) -> Self {
        Self::Spawn(NotSpawned(error))
    }
}

/// A program that has done its work may be a server that no client has reached.
fn exited(exit: &Exit) -> Cause {
    let cause = Cause::exited(exit, before_it_connected(exit));
    if exit.status.success() { cause.with_remedy(advice::AS_COMMAND) } else { cause }
}

fn no_sdk(exit: &Exit, remedy: &str) -> Cause {
    Cause::exited(exit, before_it_connected(exit)).with_remedy(remedy)
}

const WHILE_REGISTERING: &str = " while it registered its tools";
const WHILE_TAKING_OVER: &str = " while it took over the state of the version before";

fn before_it_connected(exit: &Exit) -> &'static str {
    if exit.status.success() {
        " before it connected (a tool file has to use an SDK, and in most languages to call its run function)"
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
        let missing = |program: &str| StartError::from(SpawnError::NotFound { program: program.into() }).to_string();
        assert!(missing("python3").starts_with("program not found: python3; files that end in .py"));
        assert_eq!(missing("/no/such"), "program not found: /no/such");
    }

    #[test]
    fn a_chain_of_reasons_says_each_once() {
        fn chain(error: &StartError) -> Vec<String> {
            let (mut texts, mut next) = (Vec::new(), Some(error as &dyn Error));
            while let Some(error) = next {
                texts.push(error.to_string());
                next = error.source();
            }
            texts
        }
        let texts = chain(&SpawnError::NotFound { program: "/no/such".into() }.into());
        assert_eq!(texts, ["program not found: /no/such"]);
        let source = std::io::Error::other("it is a file");
        let texts = chain(&SpawnError::Directory { directory: "/tmp/x".into(), source }.into());
        assert_eq!(texts, ["cannot start in /tmp/x", "it is a file"]);
    }

    #[test]
    fn a_program_that_ends_well_may_be_another_server() {
        let ended =
            |code| StartError::Exited(Exit { status: Status::Code(code), stderr_tail: vec![], uptime: Duration::ZERO });
        assert!(ended(0).to_string().ends_with("pmcp dev -- node FILE"));
        assert!(!ended(1).to_string().contains("pmcp dev"));
    }

    #[test]
    fn no_start_error_quotes_the_process_in_its_summary() {
        let exit = || Exit { status: Status::Code(1), stderr_tail: vec!["secret".into()], uptime: Duration::ZERO };
        let refused = HandshakeError::Refused("secret".into());
        let no_sdk = StartError::NoSdk { exit: exit(), remedy: "install it".into() };
        let connected = [StartError::ExitedRegistering(exit()), StartError::ExitedTakingOver(exit())];
        for error in connected.into_iter().chain([StartError::Exited(exit()), StartError::Handshake(refused), no_sdk]) {
            let cause = Cause::from(&error);
            assert_eq!(cause.to_string(), error.to_string());
            assert_eq!(cause.without_lines(), error.without_lines());
            assert!(cause.to_string().contains("secret") && !cause.summary().contains("secret"), "{error}");
        }
    }
}

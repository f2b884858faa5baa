//! The measured programs: each serves the tool `echo` on its standard streams.

use std::io;
use std::process::{Command, Stdio};

use crate::client::Client;
use crate::programs::Programs;

/// A measured program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A relay that parses nothing, with a tool process behind it.
    Relay,
    /// `pmcp run`, with a tool process behind it.
    Pmcp,
    /// Another build of `pmcp`, with the same tool process.
    Other,
    /// `pmcp run`, with a tool process that makes its large results in advance.
    PmcpLarge,
    /// `rmcp` with its default transport and a built-in tool.
    Rmcp,
    /// `rmcp` with its transport for pipes and a built-in tool.
    RmcpPipes,
}

impl Subject {
    /// The subjects that serve `echo`, in the order of each round.
    pub fn all(programs: &Programs) -> Vec<Self> {
        let other = programs.other.is_some().then_some(Self::Other);
        [Self::Relay, Self::Pmcp].into_iter().chain(other).chain([Self::Rmcp, Self::RmcpPipes]).collect()
    }

    /// The name of the subject in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay that parses nothing",
            Self::Pmcp | Self::PmcpLarge => "pmcp",
            Self::Other => "pmcp, other build",
            Self::Rmcp => "rmcp in-process",
            Self::RmcpPipes => "rmcp in-process, stdio_pipes",
        }
    }

    /// Starts it with these environment variables, without waiting.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn start(self, programs: &Programs, env: &[(&str, &str)]) -> io::Result<Client> {
        let mut command = match self {
            Self::Relay => {
                let mut command = Command::new(&programs.relay);
                command.arg(&programs.plain_tool);
                command
            }
            Self::Pmcp => {
                let mut command = Command::new(&programs.pmcp);
                command.arg("run").arg(&programs.tool);
                command
            }
            Self::Other => {
                let other = programs.other.as_ref().ok_or_else(|| io::Error::other("PMCP_OTHER is not set"))?;
                let mut command = Command::new(other);
                command.arg("run").arg(&programs.tool);
                command
            }
            Self::PmcpLarge => {
                let mut command = Command::new(&programs.pmcp);
                command.arg("run").arg(&programs.large_tool);
                command
            }
            Self::Rmcp => Command::new(&programs.rmcp),
            Self::RmcpPipes => {
                let mut command = Command::new(&programs.rmcp);
                command.arg("--pipes");
                command
            }
        };
        command.envs(env.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Client::new(command)
    }
}

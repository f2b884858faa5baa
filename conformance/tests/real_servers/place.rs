//! The start of a server, and the client's connection to it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use protomcp_client::{Client, ClientSession, Command, Guardian};
use protomcp_conformance::{Sandbox, patience};
use protomcp_http_client::{HttpTransport, Limits};

use crate::real_servers::family::{Family, terminate};

/// The transport of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
    Sse,
}

impl Way {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
            Self::Sse => "HTTP+SSE",
        }
    }
}

/// A program with its arguments and variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) words: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl Program {
    pub(crate) fn new(words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), env: Vec::new() }
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }
}

/// A server that can be connected to.
pub(crate) struct Place {
    program: Program,
    sandbox: Sandbox,
    /// The server over HTTP, which the client does not start.
    listening: Option<(Child, String)>,
    pub(crate) family: Family,
}

impl Place {
    pub(crate) fn new(program: Program, way: Way, sandbox: &Sandbox) -> Self {
        let marker = (OsString::from("PMCP_TEST_MARKER"), OsString::from(sandbox.marker()));
        let program = Program { env: [program.env, vec![marker]].concat(), ..program };
        let family = Family::new(sandbox);
        let listening = (way != Way::Stdio).then(|| listen(&program, sandbox));
        Self { program, sandbox: sandbox.clone(), listening, family }
    }

    /// The URL of a server that listens.
    pub(crate) fn url(&self) -> Option<&str> {
        self.listening.as_ref().map(|(_, url)| url.as_str())
    }

    pub(crate) fn is_child(&self) -> bool {
        self.listening.is_none()
    }

    /// Opens a session: with its own process, or with the one that listens.
    pub(crate) async fn connect(&self, client: &Client) -> Result<ClientSession, String> {
        let opening = async {
            match &self.listening {
                None => client.spawn(self.command()).await.map_err(|error| error.to_string()),
                Some((_, url)) => {
                    let limits = Limits::default().with_max_reconnects(3).with_reconnect_delay(MOMENT);
                    let transport = HttpTransport::new(url).map_err(|error| error.to_string())?;
                    client.connect(transport.limits(limits)).await.map_err(|error| error.to_string())
                }
            }
        };
        tokio::time::timeout(patience(), opening).await.map_err(|_| "no session in time".to_owned())?
    }

    /// Ends a server that listens, in order, and waits for it.
    pub(crate) fn stop(&mut self) {
        if let Some((child, _)) = &mut self.listening {
            terminate(child.id());
            child.wait().expect("it ends");
        }
    }

    /// The command, without a guardian: a test program has no main function that could be one.
    pub(crate) fn command(&self) -> Command {
        let (program, arguments) = self.program.words.split_first().expect("a program has a name");
        let command = Command::new(program).args(arguments).current_dir(self.sandbox.path(""));
        let command = command.guardian(Guardian::None);
        self.program.env.iter().fold(command, |command, (name, value)| command.env(name, value))
    }
}

/// The pause before a stream is opened again.
const MOMENT: Duration = Duration::from_millis(50);

/// Starts a server that says on standard error where it listens, and waits for that line.
fn listen(program: &Program, sandbox: &Sandbox) -> (Child, String) {
    let (name, arguments) = program.words.split_first().expect("a program has a name");
    let mut command = std::process::Command::new(name);
    command.args(arguments).envs(program.env.iter().cloned()).current_dir(sandbox.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the server starts");
    let stderr = child.stderr.take().expect("it was piped");
    let (found, line) = mpsc::channel();
    std::thread::spawn(move || {
        // Output after the line must not fill the pipe.
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let url = line.split_once("listening on http").and_then(|(_, rest)| rest.split_whitespace().next());
            if let Some(rest) = url {
                // Only the first such line is waited for.
                let _ = found.send(format!("http{rest}"));
            }
        }
    });
    let url = line.recv_timeout(patience()).unwrap_or_else(|error| {
        // It may have ended already.
        let _ = child.kill();
        let _ = child.wait();
        panic!("{program:?} does not say where it listens: {error}")
    });
    (child, url)
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.listening {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

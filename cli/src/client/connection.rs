//! The session with the server that the command line names.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use protomcp_auth::{FileTokenStore, LoopbackUserAgent, OAuthClient, OAuthConfig, SignInNotice};
use protomcp_bridge::{Bridge, ToolFile};
use protomcp_client::{Client, ClientSession, Command, CommandTransport};
use protomcp_http_client::HttpTransport;
use protomcp_transport::memory;

use crate::args::{ServerFlags, Target};
use crate::client::form;
use crate::exit::Failure;

/// The time for a server to end its session.
const CLOSE: Duration = Duration::from_secs(5);

/// A session, and the bridge of the tool file at its other end.
pub(super) struct Connection {
    pub(super) session: ClientSession,
    bridge: Option<Bridge>,
}

impl Connection {
    /// Opens a session with the server.
    pub(super) async fn open(target: Target, flags: &ServerFlags) -> Result<Self, Failure> {
        let client = client(flags);
        match target {
            Target::File(file) => to_file(&client, &file, flags.runtime.as_ref()).await,
            Target::Url(url) => {
                let transport = http(&url, &flags.headers)?;
                let session = client.connect(transport).await.map_err(|error| cannot_connect(&url, error))?;
                Ok(Self { session, bridge: None })
            }
            Target::Command(words) => {
                let session = to_command(&client, &words).await?;
                Ok(Self { session, bridge: None })
            }
        }
    }

    /// Ends the session, and the process behind it.
    pub(super) async fn close(self) {
        self.session.close(CLOSE).await;
        if let Some(bridge) = self.bridge {
            bridge.shutdown().await;
        }
    }
}

/// A client that asks its user on the terminal, if there is one.
fn client(flags: &ServerFlags) -> Client {
    let client = Client::new("pmcp", env!("CARGO_PKG_VERSION")).timeout(flags.timeout);
    if form::has_terminal() { client.on_elicit_with_urls(|question, _| form::answer(question)) } else { client }
}

async fn to_file(client: &Client, path: &Path, runtime: Option<&OsString>) -> Result<Connection, Failure> {
    let mut file = ToolFile::new(path);
    if let Some(runtime) = runtime {
        file = file.runtime(runtime);
    }
    let bridge = Bridge::tool_file(&file).start().await.map_err(|error| Failure::failed(error.to_string()))?;
    let (near, far) = memory::pair();
    let server = bridge.server();
    tokio::spawn(async move { server.serve(far).await });
    match client.connect(near).await {
        Ok(session) => Ok(Connection { session, bridge: Some(bridge) }),
        Err(error) => {
            bridge.shutdown().await;
            Err(cannot_connect(&path.display().to_string(), error))
        }
    }
}

async fn to_command(client: &Client, words: &[OsString]) -> Result<ClientSession, Failure> {
    let (program, arguments) = words.split_first().expect("the command line names a program");
    let command = arguments.iter().fold(Command::new(program), Command::arg);
    let name = program.to_string_lossy().into_owned();
    let shown = name.clone();
    let transport = CommandTransport::new(command).on_stderr(move |line| tracing::info!("{shown}: {line}"));
    client.spawn_transport(transport).await.map_err(|error| cannot_connect(&name, error))
}

/// The transport to a URL. Tokens are obtained in the browser when the server asks for one, and kept for the next time,
/// unless the headers have one.
fn http(url: &str, headers: &[(String, String)]) -> Result<HttpTransport, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{url}: {error}"));
    let mut transport = HttpTransport::new(url).map_err(|error| wrong(&error))?;
    for (name, value) in headers {
        let refuse = |error| Failure::usage(format!("invalid --header \"{name}\": {error}"));
        transport = transport.header(name, value).map_err(refuse)?;
    }
    if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        return Ok(transport);
    }
    let config = OAuthConfig::new(url).map_err(|error| wrong(&error))?.client_name("pmcp");
    let mut authorizer = OAuthClient::builder(config).user_agent(LoopbackUserAgent::default().on_notice(say));
    if let Some(directory) = token_directory() {
        authorizer = authorizer.store(FileTokenStore::new(directory));
    }
    Ok(transport.authorizer(Arc::new(authorizer.build())))
}

/// Tells the user where to sign in, also at a log level that shows warnings only.
fn say(notice: &SignInNotice) {
    // With a closed stderr there is no user to tell.
    let _closed = writeln!(io::stderr(), "{notice}");
}

/// `$XDG_STATE_HOME/pmcp/tokens`, or the same below `~/.local/state`. Without a home, tokens are kept in memory.
fn token_directory() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("pmcp/tokens"))
}

fn cannot_connect(server: &str, error: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("cannot connect to {server}: {error}"))
}

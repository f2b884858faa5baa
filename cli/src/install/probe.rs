//! Tries the servers of hosts: each is started as its host starts it, or reached at its URL, and lists its tools.

use std::fmt;
use std::time::{Duration, Instant};

use futures_util::future::ready;
use futures_util::{StreamExt, stream};
use protomcp_client::{
    Client, ClientLimits, ClientSession, CloseReason, Command, CommandTransport, Mode, NoAnswer, OpenError,
    RequestError,
};
use protomcp_http_client::HttpTransport;
use protomcp_install::ListedServer;
use protomcp_types::{Level, one_line};
use serde_json::{Value, json};
use tokio::runtime;
use tokio::sync::watch;

use crate::exit::Failure;
use crate::install::secrets::Secrets;
use crate::install::untried::Untried;
use crate::waiting;

/// The time for a server to open its session and to list its tools.
const LIMIT: Duration = Duration::from_secs(10);

/// The time for a server to end its session.
const CLOSE: Duration = Duration::from_secs(5);

/// The time for the reason of an empty list.
const REASON: Duration = Duration::from_secs(1);

/// The bytes of standard output after which a server is stopped: the longest line of a session.
const MAX_OUTPUT: u64 = 64 << 20;

/// The most servers that are tried at the same time.
const MAX_CONCURRENT: usize = 64;

/// The answer of a server.
#[derive(Debug)]
pub(super) enum Answer {
    /// It lists this number of tools after this time.
    Tools(usize, Duration),
    /// It is at a URL, and asks for a token, which the host has.
    SignIn,
    /// It does not list its tools; the reason, without the secrets of the entry.
    Fails(String),
    /// It was not tried; the reason.
    Untried(Untried),
}

/// A server to try.
pub(super) struct Attempt<'a> {
    pub(super) server: &'a ListedServer,
    /// The variables that its host passes on; `None` for all of this shell.
    pub(super) variables: Option<Vec<(String, String)>>,
}

/// Tries the servers concurrently, 64 at most. The answers are in the same order.
pub(super) fn answers(attempts: &[Attempt<'_>]) -> Result<Vec<Answer>, Failure> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    Ok(runtime.block_on(waiting::shown("trying the servers", all(attempts))))
}

async fn all(attempts: &[Attempt<'_>]) -> Vec<Answer> {
    // Not in their order: one that waits takes the turn of any that is over.
    let tries = attempts.iter().enumerate().map(|(at, attempt)| async move { (at, answer(attempt).await) });
    let mut answers: Vec<_> = stream::iter(tries).buffer_unordered(MAX_CONCURRENT).collect().await;
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

async fn answer(attempt: &Attempt<'_>) -> Answer {
    let (log, mut logged) = watch::channel(None);
    let client = client(log);
    let began = Instant::now();
    let late = |_| Err(Refusal::Failed(format!("it has not listed its tools within {} s", LIMIT.as_secs())));
    let failed = |reason: &str| Answer::Fails(Secrets::of(attempt.server).text(reason));
    match tokio::time::timeout(LIMIT, listed(&client, attempt)).await.unwrap_or_else(late) {
        Err(Refusal::SignIn) => Answer::SignIn,
        Err(Refusal::Failed(reason)) => failed(&reason),
        Ok((session, tools)) => {
            let took = began.elapsed();
            // pmcp dev serves a file that does not start, too, and says so next to the empty list.
            let error = if tools == 0 { tokio::time::timeout(REASON, first(&mut logged)).await } else { Ok(None) };
            session.close(CLOSE).await;
            match error {
                Ok(Some(error)) => failed(&error),
                Ok(None) | Err(_) => Answer::Tools(tools, took),
            }
        }
    }
}

/// The first error that is logged.
async fn first(logged: &mut watch::Receiver<Option<String>>) -> Option<String> {
    logged.wait_for(Option::is_some).await.ok()?.clone()
}

/// A client that keeps the last error that the server has logged.
fn client(log: watch::Sender<Option<String>>) -> Client {
    let limits = ClientLimits { open_timeout: LIMIT, timeout: LIMIT, total_timeout: LIMIT, ..ClientLimits::default() };
    let client = Client::new("pmcp", env!("CARGO_PKG_VERSION")).limits(limits).mode(Mode::StatefulFirst);
    client.on_log(move |message, _| {
        if message.level >= Level::Error
            && let Ok(text) = message.data.to::<String>()
        {
            log.send_replace(Some(text));
        }
        ready(())
    })
}

/// The reason for which a server does not list its tools.
enum Refusal {
    /// The transport says that a request at a URL is not authorized.
    SignIn,
    /// Anything else, in words.
    Failed(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<CloseReason> for Refusal {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::NotOpened(OpenError::Unanswered { why: NoAnswer::Unauthorized, .. }) => Self::SignIn,
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Unanswered { why: NoAnswer::Unauthorized, .. } => Self::SignIn,
            RequestError::Closed(reason) => reason.into(),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// The session with the server, and the number of its tools.
async fn listed(client: &Client, attempt: &Attempt<'_>) -> Result<(ClientSession, usize), Refusal> {
    let session = match &attempt.server.url {
        Some(url) => client.connect(transport(url, attempt.server)?).await?,
        None => {
            // The error of a start has the last lines.
            let transport = CommandTransport::new(command(attempt)?).on_stderr(|_| {}).max_output(MAX_OUTPUT);
            client.spawn_transport(transport).await.map_err(|error| error.to_string())?
        }
    };
    let server = session.server();
    let has_tools = server.capabilities.as_ref().is_none_or(|capabilities| capabilities.tools.is_some());
    let tools = if has_tools { session.list_all_tools().await?.len() } else { 0 };
    Ok((session, tools))
}

fn transport(url: &str, server: &ListedServer) -> Result<HttpTransport, String> {
    let mut transport = HttpTransport::new(url).map_err(|error| error.to_string())?;
    for (name, value) in &server.headers {
        transport = transport.header(name, value).map_err(|error| error.to_string())?;
    }
    Ok(transport)
}

fn command(attempt: &Attempt<'_>) -> Result<Command, String> {
    let [program, args @ ..] = &attempt.server.command[..] else {
        return Err("the entry has neither a command nor a URL".to_owned());
    };
    let with = |command: Command, variables: &[(String, String)]| {
        variables.iter().fold(command, |command, (name, value)| command.env(name, value))
    };
    let command = Command::new(program).args(args);
    let command = match &attempt.variables {
        Some(variables) => with(command.env_clear(), variables),
        None => command,
    };
    Ok(with(command, &attempt.server.env))
}

/// A reason on one line: its first line, and the last one, which says more where a process has ended.
fn silent(reason: &str) -> String {
    let mut lines = reason.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let reason = lines.next_back().map_or_else(|| first.to_owned(), |last| format!("{first} {last}"));
    format!("does not answer: {}", one_line(&reason))
}

fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

impl Answer {
    /// True if the host cannot use the server.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Fails(_))
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Tools(tools, took) => json!({"tools": tools, "ms": milliseconds(*took)}),
            Self::SignIn => json!({"signIn": true}),
            Self::Fails(reason) => json!({"error": reason}),
            Self::Untried(reason) => json!({"notTried": reason.to_string()}),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools(1, took) => write!(f, "answers in {} ms, 1 tool", milliseconds(*took)),
            Self::Tools(tools, took) => write!(f, "answers in {} ms, {tools} tools", milliseconds(*took)),
            Self::SignIn => f.write_str("asks for a sign-in, which the host does"),
            Self::Fails(reason) => f.write_str(&silent(reason)),
            Self::Untried(reason) => write!(f, "{reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_one_line() {
        let took = Duration::from_millis(40);
        for (answer, text) in [
            (Answer::Tools(3, took), "answers in 40 ms, 3 tools"),
            (Answer::Tools(1, took), "answers in 40 ms, 1 tool"),
            (
                Answer::Fails("x ended; its last lines:\n  a\n  b\n".into()),
                "does not answer: x ended; its last lines: b",
            ),
            (Answer::Fails("x".into()), "does not answer: x"),
        ] {
            assert_eq!(answer.to_string(), text);
        }
    }
}

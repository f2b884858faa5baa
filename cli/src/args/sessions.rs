//! The flags about what clients have open over HTTP and TCP: sessions, and questions that wait for their answers.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use protomcp_server::RequestStateKeys;

use crate::args::store::Store;
use crate::args::values::time;
use crate::exit::Failure;

/// The bytes of a name, as of a label in the DNS.
const MAX_NAME: usize = 63;

/// The number and the time of sessions, and the key for states of requests.
#[derive(Debug, Args)]
pub(super) struct HttpSessionFlags {
    /// Most concurrent sessions
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..))]
    max_sessions: u32,

    /// Close sessions that are idle for this long
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = idle)]
    pub(super) session_idle: Duration,

    /// File with a secret of at least 32 bytes that several servers share, so that each knows the state of a question that
    /// another has asked (MCP 2026-07-28); may be repeated: the first seals states, all open them [default: a key of this
    /// process alone]
    #[arg(long, value_name = "FILE")]
    sealing_key_file: Vec<PathBuf>,

    /// Redis or Valkey that several servers share, such as rediss://HOST/0: when a server ends, another one takes its
    /// sessions over; needs --sealing-key-file. A URL with a password belongs in the variable PMCP_STORE
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// URL at which the other servers of --store reach this one, such as http://10.0.0.7:8080; port 0 stands for the one
    /// on which it listens. A request for a session of another server is handed on to that server then
    #[arg(long, value_name = "URL")]
    replica_url: Option<String>,

    /// Name of this server for people, among the servers of --store: the log and errors, which clients see, show it with a
    /// part that each start has for itself
    #[arg(long, value_name = "NAME", value_parser = replica_name)]
    replica_name: Option<String>,
}

impl HttpSessionFlags {
    /// The most concurrent sessions.
    pub(super) fn max(&self) -> usize {
        usize::try_from(self.max_sessions).unwrap_or(usize::MAX)
    }

    /// The store, if there is one.
    pub(super) fn store(&self) -> Result<Option<Store>, Failure> {
        let replica = self.replica_url.as_deref();
        if replica.is_some() && self.store.is_none() {
            return Err(Failure::usage("--replica-url needs --store: the other servers find this one there"));
        }
        if self.replica_name.is_some() && self.store.is_none() {
            return Err(Failure::usage("--replica-name needs --store: a server that shares nothing shows no name"));
        }
        let name = self.replica_name.as_deref();
        let store = |url: &String| Store::new(url, &self.sealing_key_file, self.session_idle, replica, name);
        self.store.as_ref().map(store).transpose()
    }

    /// The keys of the files; `None`: there are none.
    pub(super) fn state_keys(&self) -> Result<Option<RequestStateKeys>, Failure> {
        let keys = self.sealing_key_file.iter().map(|path| RequestStateKeys::from_file(path));
        let keys: Result<Vec<_>, _> = keys.collect();
        let keys = keys.map_err(|error| Failure::usage(format!("invalid --sealing-key-file: {error}")))?;
        Ok(keys.into_iter().reduce(RequestStateKeys::and))
    }
}

/// The name of a pod, or of a machine.
fn replica_name(text: &str) -> Result<String, String> {
    let is_known = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    if (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_known) {
        Ok(text.to_owned())
    } else {
        Err(format!("a name has 1 to {MAX_NAME} letters, digits, \"-\", \"_\" and \".\""))
    }
}

/// A session must live between two requests.
fn idle(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("every session would close immediately; use a duration such as 1h".into()),
        time => Ok(time),
    }
}

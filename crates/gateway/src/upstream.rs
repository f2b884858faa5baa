//! A server behind the gateway, as it is configured.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_client::Mode;
use protomcp_transport::boxed::Boxed;
use protomcp_transport::{Direction, Observed};
use protomcp_types::Message;
use protomcp_watch::Watch;

/// The reason why a connection cannot be made.
pub type ConnectError = Box<dyn Error + Send + Sync>;

type Connector = dyn Fn() -> BoxFuture<'static, Result<Boxed, ConnectError>> + Send + Sync;

type Hint = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A server behind a gateway.
///
/// ```
/// use protomcp_gateway::{Sharing, Upstream};
/// use protomcp_transport::{boxed::Boxed, memory};
///
/// // The connector makes a new transport for each session.
/// let upstream = Upstream::new("files", || async {
///     let (ours, theirs) = memory::pair();
///     drop(theirs);
///     Ok(Boxed::new(ours))
/// });
/// let upstream = upstream.prefix("files_").sharing(Sharing::Shared);
/// assert_eq!(upstream.name(), "files");
/// ```
#[derive(Clone)]
pub struct Upstream {
    name: Arc<str>,
    prefix: Arc<str>,
    sharing: Sharing,
    mode: Mode,
    watches: Vec<Watch>,
    has_logged_output: bool,
    hint: Option<Arc<Hint>>,
    connector: Arc<Connector>,
}

/// The clients that share a session with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sharing {
    /// Each session of a client has its own session with the server. Requests without a session share one.
    #[default]
    PerSession,
    /// All clients share one session. A server cannot tell them apart: its questions reach a client only while no call of
    /// another user is running, was cancelled within the last [`total_timeout`](crate::GatewayLimits::total_timeout), or was
    /// answered within the last ten seconds.
    Shared,
}

impl Upstream {
    /// A server with this name, for messages. `connect` makes a transport for each session with it.
    pub fn new<F>(name: impl Into<Arc<str>>, connect: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Boxed, ConnectError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            prefix: "".into(),
            sharing: Sharing::default(),
            mode: Mode::Auto,
            watches: Vec::new(),
            has_logged_output: false,
            hint: None,
            connector: Arc::new(move || connect().boxed()),
        }
    }

    /// Sets the prefix of the names of its tools and prompts, which is empty by default. Several servers need different
    /// ones. A name belongs to the server with the longest prefix that it begins with: with the prefixes `google_` and
    /// `google_drive_`, a tool `drive_list` of the first server is left out of lists.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<Arc<str>>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the clients that share a session with it.
    #[must_use]
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// Sets the eras of MCP that its sessions may use. By default, [`Mode::Auto`], a server that has both is spoken to in
    /// the era of the client that calls: some features of servers exist in one of them only.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Replaces its sessions by new ones when these files change, or at [`Gateway::reload`](crate::Gateway::reload): once
    /// they are open, new requests go there, and the earlier ones end with their last request. Several watches add up.
    #[must_use]
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watches.push(watch);
        self
    }

    /// The log has the output of its process already: the reasons in the log then leave out its last lines.
    #[must_use]
    pub fn with_logged_output(mut self) -> Self {
        self.has_logged_output = true;
        self
    }

    /// Adds a hint for the operator to the reason of a session that could not be opened. Clients do not get it.
    #[must_use]
    pub fn explain_failures(mut self, hint: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.hint = Some(Arc::new(hint));
        self
    }

    /// Shows each message of its sessions, such as for a trace: those from the server as received. `see` runs where the
    /// messages are read and sent, so it must neither wait nor panic.
    #[must_use]
    pub fn observe(mut self, see: impl Fn(Direction, &Message) + Clone + Send + Sync + 'static) -> Self {
        let connector = self.connector;
        self.connector = Arc::new(move || {
            let (opening, see) = (connector(), see.clone());
            async move { opening.await.map(|transport| Boxed::new(Observed::new(transport, see))) }.boxed()
        });
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    pub(crate) fn name_prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.sharing == Sharing::Shared
    }

    pub(crate) fn watches(&self) -> &[Watch] {
        &self.watches
    }

    pub(crate) fn has_logged_output(&self) -> bool {
        self.has_logged_output
    }

    /// The hint for a reason.
    pub(crate) fn hint(&self, reason: &str) -> Option<String> {
        self.hint.as_ref()?(reason)
    }

    pub(crate) fn eras(&self) -> Mode {
        self.mode
    }

    pub(crate) fn connect(&self) -> BoxFuture<'static, Result<Boxed, ConnectError>> {
        (self.connector)()
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("name", &self.name)
            .field("prefix", &self.prefix)
            .field("sharing", &self.sharing)
            .field("mode", &self.mode)
            .field("watches", &self.watches)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use protomcp_transport::{Sink, Source, Transport, memory};
    use protomcp_types::Params;

    use super::*;

    #[tokio::test]
    async fn the_messages_of_a_session_are_shown_once() {
        let (ours, theirs) = memory::pair();
        let waiting = Mutex::new(Some(ours));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let upstream = Upstream::new("files", move || {
            let ours = waiting.lock().unwrap().take();
            async move { Ok(Boxed::new(ours.ok_or("there is one session")?)) }
        });
        let shown = Arc::clone(&seen);
        let upstream = upstream.observe(move |direction, message| {
            shown.lock().unwrap().push((direction, message.to_text()));
        });
        let (mut source, mut sink) = upstream.connect().await.unwrap().split();
        let (_their_source, mut their_sink) = theirs.split();
        let ping = |id: i32| Message::request(id, "ping", Params::default());
        sink.send(ping(1), None).unwrap();
        their_sink.send(ping(2), None).unwrap();
        their_sink.flush().await.unwrap();
        assert!(source.next().await.unwrap().is_some());
        let seen = seen.lock().unwrap();
        assert_eq!(
            seen.iter().map(|(direction, _)| *direction).collect::<Vec<_>>(),
            [Direction::Sent, Direction::Received]
        );
        assert!(seen[1].1.contains("\"id\":2"), "{seen:?}");
    }
}

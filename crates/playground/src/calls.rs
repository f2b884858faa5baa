//! The session in which requests below `/api` reach the server.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use protomcp_client::{Client, ClientSession, ListChanged, Mode, RequestError};
use protomcp_server::{Server, Service};
use protomcp_transport::memory;
use protomcp_types::{Amount, JsonObject, Prompt, Resource, Tool, code};
use serde_json::json;
use tokio::sync::{OnceCell, watch};

use crate::journal::Journal;

/// The time of a call without progress.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// The time of a call, and of each other request, in all.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(3600);

type Opening = Pin<Box<dyn Future<Output = Result<ClientSession, String>> + Send>>;

/// Makes the requests below `/api` as a client of a server, in one session that all of them share. The client answers no
/// questions: tools that ask get a refusal.
#[derive(Clone)]
pub struct Calls {
    connect: Arc<dyn Fn(Client) -> Opening + Send + Sync>,
    session: Arc<OnceCell<ClientSession>>,
    /// The number of changes of the tools.
    changes: watch::Sender<u64>,
    timeout: Duration,
}

impl Calls {
    /// Requests to this server. The session begins with the first one.
    #[must_use]
    pub fn new<S: Service>(server: Server<S>) -> Self {
        let connect = move |client: Client| -> Opening {
            let server = server.clone();
            Box::pin(async move {
                let (near, far) = memory::pair();
                tokio::spawn(async move { server.serve(far).await });
                client.connect(near).await.map_err(|error| error.to_string())
            })
        };
        let session = Arc::default();
        Self { connect: Arc::new(connect), session, changes: watch::Sender::new(0), timeout: CALL_TIMEOUT }
    }

    /// Sets the time for which a call may be without an answer and without progress. Default five minutes. No request
    /// takes more than an hour.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The number of changes of the tools that the session sees. Begins the session.
    pub(crate) async fn changes(&self) -> Result<watch::Receiver<u64>, String> {
        let changes = self.changes.subscribe();
        self.session().await?;
        Ok(changes)
    }

    async fn session(&self) -> Result<&ClientSession, String> {
        let open = || {
            let changes = self.changes.clone();
            let client = Client::new("protomcp-playground", env!("CARGO_PKG_VERSION")).mode(Mode::Stateful);
            let client = client.timeout(self.timeout).on_list_changed(move |list, _| {
                if matches!(list, ListChanged::Tools) {
                    changes.send_modify(|count| *count += 1);
                }
                std::future::ready(())
            });
            (self.connect)(client)
        };
        self.session.get_or_try_init(open).await
    }

    pub(crate) async fn tools(&self) -> Result<Vec<Tool>, String> {
        let tools = self.session().await?.tools();
        known(tools.try_collect().await)
    }

    pub(crate) async fn resources(&self) -> Result<Vec<Resource>, String> {
        let resources = self.session().await?.resources();
        known(resources.try_collect().await)
    }

    pub(crate) async fn prompts(&self) -> Result<Vec<Prompt>, String> {
        let prompts = self.session().await?.prompts();
        known(prompts.try_collect().await)
    }

    /// Calls a tool. The tools that appear and disappear for the session during the call are named.
    pub(crate) async fn call(&self, name: String, arguments: &JsonObject, journal: &Journal) -> Result<String, String> {
        let before = self.names().await?;
        let (journal, tool) = (journal.clone(), name.clone());
        let request = self.session().await?.call_tool(name, arguments);
        let request = request.total_timeout(TOTAL_TIMEOUT.max(self.timeout)).on_progress(move |progress| {
            let number = |amount: Amount| amount.to_raw();
            let total = progress.total.and_then(number);
            let progressed = json!({
                "tool": tool,
                "progress": number(progress.progress),
                "total": total,
                "message": progress.message,
            });
            journal.progress(&progressed);
        });
        let began = Instant::now();
        let result = request.raw().await.map_err(|error| error.to_string())?;
        let took = began.elapsed().as_millis();
        let after = self.names().await?;
        let enabled: Vec<_> = after.difference(&before).collect();
        let disabled: Vec<_> = before.difference(&after).collect();
        let (enabled, disabled) = (json!(enabled), json!(disabled));
        Ok(format!(
            r#"{{"result":{result},"duration_ms":{took},"tools_enabled":{enabled},"tools_disabled":{disabled}}}"#
        ))
    }

    async fn names(&self) -> Result<BTreeSet<String>, String> {
        Ok(self.tools().await?.iter().map(|tool| tool.name.to_string()).collect())
    }

    pub(crate) async fn read(&self, uri: String) -> Result<String, String> {
        let request = self.session().await?.read_resource(uri).total_timeout(TOTAL_TIMEOUT);
        request.raw().await.map(|result| result.to_string()).map_err(|error| error.to_string())
    }

    pub(crate) async fn prompt(&self, name: String, arguments: &JsonObject) -> Result<String, String> {
        let request = self.session().await?.get_prompt(name, arguments).total_timeout(TOTAL_TIMEOUT);
        request.raw().await.map(|result| result.to_string()).map_err(|error| error.to_string())
    }
}

/// A list, empty if the server has none of this kind.
fn known<T>(listed: Result<Vec<T>, RequestError>) -> Result<Vec<T>, String> {
    match listed {
        Err(RequestError::Refused(error)) if error.code == code::METHOD_NOT_FOUND => Ok(Vec::new()),
        listed => listed.map_err(|error| error.to_string()),
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

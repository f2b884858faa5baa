//! Calls that the author of the tools types into the terminal of `pmcp dev`, with this program as their client.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use protomcp_client::{Client, ClientLimits, ClientSession, Mode};
use protomcp_server::{Server, Service};
use protomcp_transport::memory::{self, Memory};
use protomcp_view::Fact;
use tokio::runtime::Handle;
use tokio::sync::{SetOnce, watch};

use crate::client::call::call_in;
use crate::client::form;
use crate::exit::{Failure, printable};
use crate::log::live::LiveView;
use crate::log::queue::say;
use crate::serve::questions::Questions;

/// The most calls that run at a time.
const MAX_CALLS: usize = 8;
/// The most names of tools that are listed.
const MAX_NAMES: usize = 1_000;
/// The time for the server to end a session.
const CLOSE: Duration = Duration::from_secs(5);
/// The time of a call, and the longest if progress prolongs it.
const TIME: Duration = Duration::from_secs(300);
const TOTAL: Duration = Duration::from_secs(3600);

type Connect = Box<dyn Fn() -> Memory + Send + Sync>;

/// The calls, and the server that they go to once it is served.
pub(super) struct Calls {
    connect: SetOnce<Connect>,
    /// The number of running calls.
    running: watch::Sender<usize>,
    view: Option<LiveView>,
    questions: Option<Questions>,
    runtime: Handle,
}

impl Calls {
    /// Calls of a program within a runtime. What they ask is asked in the view.
    pub(super) fn new(view: Option<LiveView>, questions: Option<Questions>) -> Arc<Self> {
        let runtime = Handle::current();
        Arc::new(Self { connect: SetOnce::new(), running: watch::Sender::new(0), view, questions, runtime })
    }

    /// Calls go to this server. Those that were typed before have waited for it.
    pub(super) fn serve<S: Service>(&self, server: Server<S>) {
        let connect = move || {
            let (near, far) = memory::pair();
            tokio::spawn(server.serve(far));
            near
        };
        // There is one server.
        let _first = self.connect.set(Box::new(connect));
    }

    /// Calls a tool, concurrently with everything else, and prints the outcome.
    pub(super) fn start(self: &Arc<Self>, words: Vec<String>) {
        let has_begun = self.running.send_if_modified(|running| {
            let is_free = *running < MAX_CALLS;
            *running += usize::from(is_free);
            is_free
        });
        if !has_begun {
            return say(&format!("{MAX_CALLS} calls are running: wait for one of them, or reload"));
        }
        let calls = Arc::clone(self);
        self.runtime.spawn(async move {
            let called = calls.with_session(|session| Box::pin(async move { call_in(session, &words).await })).await;
            say(printable(&called.unwrap_or_else(|failure| format!("error: {failure}"))).trim_end());
            calls.running.send_modify(|running| *running -= 1);
        });
    }

    /// Waits until no call runs, and then all are printed, for this time at most.
    pub(super) async fn ended(&self, within: Duration) {
        let mut running = self.running.subscribe();
        // Those that run longer fail with the server.
        let _late = tokio::time::timeout(within, running.wait_for(|running| *running == 0)).await;
    }

    /// Shows the names of the tools in the view.
    pub(super) fn list(self: &Arc<Self>) {
        let Some(view) = self.view.clone() else { return };
        let calls = Arc::clone(self);
        self.runtime.spawn(async move {
            let listed = calls.with_session(|session| Box::pin(names(session))).await;
            // The view has the names from before.
            let Ok(names) = listed else { return };
            view.note(Fact::Tools { count: names.len(), names: names.join(", ") });
            view.note(Fact::Names(names));
        });
    }

    async fn with_session<T>(
        &self,
        act: impl for<'a> FnOnce(&'a ClientSession) -> Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>,
    ) -> Result<T, Failure> {
        let connect = self.connect.wait().await;
        let session = self.client().connect(connect()).await;
        let session = session.map_err(|reason| Failure::failed(format!("cannot connect to the server: {reason}")))?;
        let outcome = act(&session).await;
        session.close(CLOSE).await;
        outcome
    }

    /// Some servers that have both eras can ask in sessions only.
    fn client(&self) -> Client {
        let limits = ClientLimits { timeout: TIME, total_timeout: TOTAL, ..ClientLimits::default() };
        let client = Client::new("pmcp", env!("CARGO_PKG_VERSION")).mode(Mode::StatefulFirst).limits(limits);
        match self.questions.clone() {
            Some(questions) => client.on_elicit_with_urls(move |question, _| questions.clone().answer(question)),
            None => client.observe_refused_questions(form::refused),
        }
    }
}

async fn names(session: &ClientSession) -> Result<Vec<String>, Failure> {
    let mut tools = std::pin::pin!(session.tools());
    let mut names = Vec::new();
    while names.len() < MAX_NAMES
        && let Some(tool) = tools.try_next().await.map_err(|error| Failure::failed(error.to_string()))?
    {
        names.push(printable(tool.name.as_str()));
    }
    Ok(names)
}

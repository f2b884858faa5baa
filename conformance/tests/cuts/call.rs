//! One session with one call, in its own runtime.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_client::{Client, ClientLimits, ClientSession, CloseReason, Mode, OpenError, RequestError};
use protomcp_conformance::patience;
use protomcp_types::{ElicitAction, ElicitResult, RawJson};
use serde_json::{Value, json};

/// A function that cuts the connection.
pub(crate) type Cutter = Arc<dyn Fn() + Send + Sync>;

/// The moment at which the client itself cuts the connection.
#[derive(Clone, Default)]
pub(crate) enum Moment {
    /// It does not.
    #[default]
    Never,
    /// When the call has reported progress.
    Progress(Cutter),
    /// While the user answers a question, who then never answers.
    Question(Cutter),
}

/// The call of a run.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) mode: Mode,
    pub(crate) tool: &'static str,
    /// The time for the opening of the session, and for the call.
    pub(crate) deadline: Duration,
    pub(crate) moment: Moment,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    /// There is no session, for this reason.
    NotOpened(String),
    /// The call has failed.
    Failed(String),
    /// The session or the call has ended at its deadline.
    TimedOut,
}

impl Call {
    pub(crate) fn new(mode: Mode, tool: &'static str) -> Self {
        Self { mode, tool, deadline: DEADLINE, moment: Moment::Never }
    }

    pub(crate) fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    pub(crate) fn at(self, moment: Moment) -> Self {
        Self { moment, ..self }
    }

    /// The client of the call.
    pub(crate) fn client(&self) -> Client {
        let limits = ClientLimits {
            discover_timeout: self.deadline,
            open_timeout: self.deadline,
            timeout: self.deadline,
            total_timeout: self.deadline,
            ..ClientLimits::default()
        };
        let moment = self.moment.clone();
        Client::new("cuts", "1.0").mode(self.mode).limits(limits).on_elicit(move |_, _| {
            let moment = moment.clone();
            async move {
                if let Moment::Question(cut) = moment {
                    cut();
                    std::future::pending::<()>().await;
                }
                let content = RawJson::parse(r#"{"name":"Ada"}"#).expect("it is JSON");
                Ok(ElicitResult { action: ElicitAction::Accept, content: Some(content), meta: None })
            }
        })
    }

    /// Makes the call in a session that `connect` opens, and closes the session.
    ///
    /// # Panics
    ///
    /// If the caller has to wait for longer than the deadline, gets another answer, or if a task is left.
    pub(crate) fn make<F>(&self, connect: impl FnOnce(Client) -> F) -> Outcome
    where
        F: Future<Output = Result<ClientSession, CloseReason>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let began = Instant::now();
        let outcome = runtime.block_on(async {
            match connect(self.client()).await {
                Ok(session) => {
                    let outcome = self.ask(&session).await;
                    session.close(CLOSING).await;
                    outcome
                }
                Err(CloseReason::NotOpened(OpenError::TimedOut(_))) => Outcome::TimedOut,
                Err(reason) => Outcome::NotOpened(reason.to_string()),
            }
        });
        // A busy machine is not a failure, but a call without a deadline would be.
        let limit = self.deadline * 2 + CLOSING + patience();
        assert!(began.elapsed() < limit, "{outcome:?} came after {:?}", began.elapsed());
        runtime.block_on(async {
            let tasks = runtime.metrics();
            let until = Instant::now() + patience();
            while tasks.num_alive_tasks() > 0 {
                assert!(Instant::now() < until, "{} tasks are left after {outcome:?}", tasks.num_alive_tasks());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        outcome
    }

    async fn ask(&self, session: &ClientSession) -> Outcome {
        let moment = self.moment.clone();
        let call = session.call_tool(self.tool, &json!({})).on_progress(move |_| {
            if let Moment::Progress(cut) = &moment {
                cut();
            }
        });
        match call.await {
            Ok(result) => {
                let content: Value = result.content.to().expect("content is JSON");
                let expected = if self.tool == "talk" { r#"hello {"name":"Ada"}"# } else { "brief" };
                match content[0]["text"].as_str() {
                    Some(text) if text == expected => Outcome::Answered,
                    // The server may have found out first that its client is gone.
                    _ if result.is_error => Outcome::Failed(content.to_string()),
                    _ => panic!("another answer: {content}"),
                }
            }
            Err(RequestError::TimedOut(_)) => Outcome::TimedOut,
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }
}

/// The time for the opening of the session, and for the call. With the older transport, a client whose server is gone tries
/// to reach it for most of that time.
const DEADLINE: Duration = Duration::from_secs(20);

/// The time for the end of a session.
const CLOSING: Duration = Duration::from_secs(1);

//! The way back to the client of a call, which the bridge serves.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready, try_join_all};
use protomcp_envelope::{Principal, RequestContext};
use protomcp_server::{
    AskError, CallFacts, CallInfo, CallerIdentity, CallerKey, ClientInfo, Conversation, Extensions, InputRequest,
    Outlet, Owner, ProgressCallback, SessionId, TaskOptions,
};
use protomcp_toollist::Command;
use protomcp_types::{
    Amount, ClientCapabilities, ErrorObject, Implementation, Level, Progress, ProtocolVersion, RawJson, RequestId,
};
use tokio::sync::oneshot;

use crate::bridge::Bridge;

/// The time for the bridge to show or hide tools.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// The way back to the client of one call.
#[derive(Debug)]
pub(crate) struct CallOutlet {
    id: RequestId,
    /// The revision of the client.
    version: ProtocolVersion,
    bridge: Bridge,
}

impl CallOutlet {
    pub(crate) fn new(id: RequestId, version: ProtocolVersion, bridge: Bridge) -> Arc<Self> {
        Arc::new(Self { id, version, bridge })
    }

    fn name(&self) -> &str {
        self.id.as_str().unwrap_or_default()
    }
}

impl Outlet for CallOutlet {
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool {
        let is_finite = |amount: &Amount| !matches!(amount, Amount::Real(number) if !number.is_finite());
        let Some(token) = info.progress_token().filter(|_| is_finite(&progress.progress)) else { return false };
        let mut progress = progress.clone();
        progress.total = progress.total.filter(is_finite);
        progress.message = progress.message.filter(|_| self.version.has_progress_message());
        self.bridge.report(|exchange| exchange.progress(&self.id, token, progress));
        true
    }

    fn send_log(&self, _: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson) {
        self.bridge.report(|exchange| exchange.log(Some(&self.id), level, logger, data));
    }

    fn ask_client(
        self: Arc<Self>,
        _: &CallInfo,
        questions: Vec<InputRequest>,
        timeout: Duration,
        _: Option<ProgressCallback>,
    ) -> BoxFuture<'static, Result<Vec<RawJson>, AskError>> {
        let bridge = &self.bridge;
        let asked = match bridge.ask(|exchange| exchange.ask(&self.id, &questions)) {
            Ok(asked) => asked,
            Err(error) => return ready(Err(error)).boxed(),
        };
        let waiting: Vec<_> =
            asked.into_iter().map(|(id, answer)| Question { id, answer, bridge: bridge.clone() }).collect();
        async move {
            let answers = try_join_all(waiting.into_iter().map(Question::answered));
            match tokio::time::timeout(timeout, answers).await {
                Ok(answers) => answers,
                Err(_) => Err(AskError::TimedOut(timeout)),
            }
        }
        .boxed()
    }

    fn can_be_task(&self) -> bool {
        self.is_remote()
    }

    fn is_task(&self) -> bool {
        self.bridge.exchange().is_task(self.name())
    }

    fn continue_as_task(&self, _: TaskOptions) {
        self.bridge.turn(|exchange| exchange.continue_as_task(self.name()).into_iter().collect());
    }

    fn set_task_message(&self, message: &str) {
        self.bridge.exchange().set_task_message(self.name(), message);
    }

    /// True for the requests of the bridge, whose ids are texts.
    fn is_remote(&self) -> bool {
        self.id.as_str().is_some()
    }

    fn lists_hidden_tools(&self) -> bool {
        !self.is_remote()
    }

    fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        if !self.is_remote() {
            return None;
        }
        let (id, answer) = match self.bridge.ask(|exchange| exchange.select(&self.id, change)) {
            Ok(selecting) => selecting,
            Err(error) => return Some(ready(Err(error)).boxed()),
        };
        let mut waiting = Question { id, answer, bridge: self.bridge.clone() };
        Some(
            async move {
                match tokio::time::timeout(SELECTION_TIMEOUT, &mut waiting.answer).await {
                    Ok(answer) => answer.map_err(|_| AskError::Gone),
                    Err(_) => Err(AskError::TimedOut(SELECTION_TIMEOUT)),
                }
            }
            .boxed(),
        )
    }
}

/// A question that was asked. Dropping it takes the question back.
struct Question<T> {
    id: String,
    answer: oneshot::Receiver<T>,
    bridge: Bridge,
}

impl Question<Result<RawJson, ErrorObject>> {
    async fn answered(mut self) -> Result<RawJson, AskError> {
        match (&mut self.answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(AskError::Refused(error)),
            Err(_) => Err(AskError::Gone),
        }
    }
}

impl<T> Drop for Question<T> {
    fn drop(&mut self) {
        // Without effect when the answer is there.
        self.bridge.exchange().withdraw(&self.id);
    }
}

/// Describes a call by what the bridge says about its client.
pub(crate) fn describe(facts: &mut CallFacts, about: RequestContext) {
    facts.client = client(&about);
    facts.caller = caller(&about);
    let principal = about.principal.as_ref().map(|principal| Arc::new(identity(principal)));
    let known = principal.into_iter().fold(Extensions::default(), Extensions::with);
    facts.known = known.with(Arc::new(about));
}

/// The client, as the bridge describes it.
fn client(about: &RequestContext) -> Arc<ClientInfo> {
    let capabilities = RawJson::parse(about.client_capabilities_json.clone()).ok();
    Arc::new(ClientInfo {
        version: ProtocolVersion::parse(&about.protocol_version).unwrap_or(ProtocolVersion::NEWEST_STATEFUL),
        implementation: Implementation::new(about.client_name.clone(), about.client_version.clone()),
        capabilities: capabilities.and_then(|json| json.to::<ClientCapabilities>().ok()).unwrap_or_default(),
    })
}

/// The caller, as the bridge describes it. Its session has a number only here.
fn caller(about: &RequestContext) -> CallerKey {
    let owner = match &about.principal {
        Some(Principal { subject, issuer, .. }) if issuer.is_empty() => Owner::Principal(subject.as_str().into()),
        Some(Principal { subject, issuer, .. }) => Owner::Principal(format!("{issuer} {subject}").into()),
        None => Owner::Local,
    };
    let conversation = match about.session.as_str() {
        "" => Conversation::Connection(0),
        session => Conversation::Session(SessionId::new(number(session))),
    };
    CallerKey { owner, conversation }
}

/// The caller, for services that also run without a bridge.
fn identity(principal: &Principal) -> CallerIdentity {
    let Principal { subject, client_id, issuer, scopes } = principal.clone();
    CallerIdentity { subject, client_id, issuer, scopes }
}

/// The number of a name, other than the numbers of special sessions.
fn number(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish().clamp(1, u64::MAX - 1)
}

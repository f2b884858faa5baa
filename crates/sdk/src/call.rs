//! The way back to the client of a request, for the context of its call.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all, ready};
use protomcp_proto::{Principal, RequestContext};
use protomcp_server::{
    AskError, CallerIdentity, CallerKey, ClientInfo, Conversation, InputRequest, Owner, ServerResult, SessionId,
    TaskOptions,
};
use protomcp_toollist::Command;
use protomcp_types::{ClientCapabilities, ErrorObject, Implementation, ProtocolVersion, RawJson, RequestId};
use tokio::sync::oneshot;

use crate::handover::RunningCall;
use crate::relay::Relay;

/// The time for the bridge to show or hide tools.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// A request of the bridge.
#[derive(Debug)]
pub(crate) struct Call {
    id: RequestId,
    client: Option<Arc<ClientInfo>>,
    caller: Option<CallerKey>,
    relay: Relay,
}

impl Call {
    pub(crate) fn new(id: RequestId, about: Option<&RequestContext>, relay: Relay) -> Arc<Self> {
        Arc::new(Self { id, client: about.map(client), caller: about.map(caller), relay })
    }

    /// Keeps the result for the answer of the session.
    pub(crate) fn keep(&self, result: ServerResult) {
        self.relay.exchange().keep(&self.id, result);
    }

    /// The handler of a tool begins; it has ended when the value is dropped.
    pub(crate) fn begin(&self) -> RunningCall {
        self.relay.exchange().begin_call()
    }

    fn name(&self) -> &str {
        self.id.as_str().unwrap_or_default()
    }
}

impl protomcp_server::Relay for Call {
    fn client(&self) -> Option<Arc<ClientInfo>> {
        self.client.clone()
    }

    fn caller(&self) -> Option<CallerKey> {
        self.caller.clone()
    }

    fn ask(
        &self,
        questions: Vec<InputRequest>,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<Vec<RawJson>, AskError>> {
        let mut exchange = self.relay.exchange();
        let asked = match exchange.ask(&self.id, &questions) {
            Ok((asked, steps)) => {
                self.relay.carry_out(steps);
                asked
            }
            Err(error) => return ready(Err(error)).boxed(),
        };
        drop(exchange);
        let relay = &self.relay;
        let waiting: Vec<_> =
            asked.into_iter().map(|(id, answer)| Question { id, answer, relay: relay.clone() }).collect();
        async move {
            let answers = join_all(waiting.into_iter().map(Question::answered));
            match tokio::time::timeout(timeout, answers).await {
                Ok(answers) => answers.into_iter().collect(),
                Err(_) => Err(AskError::TimedOut(timeout)),
            }
        }
        .boxed()
    }

    fn can_be_task(&self) -> bool {
        true
    }

    fn is_task(&self) -> bool {
        self.relay.exchange().is_task(self.name())
    }

    fn continue_as_task(&self, _: TaskOptions) {
        self.relay.turn(|exchange| exchange.continue_as_task(self.name()).into_iter().collect());
    }

    fn set_task_message(&self, message: &str) {
        self.relay.exchange().set_task_message(self.name(), message);
    }

    fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        let mut exchange = self.relay.exchange();
        let (id, answer) = match exchange.select(&self.id, change) {
            Ok((selecting, steps)) => {
                self.relay.carry_out(steps);
                selecting
            }
            Err(error) => return Some(ready(Err(error)).boxed()),
        };
        drop(exchange);
        let mut waiting = Question { id, answer, relay: self.relay.clone() };
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
    relay: Relay,
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
        self.relay.exchange().withdraw(&self.id);
    }
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
pub(crate) fn identity(principal: &Principal) -> CallerIdentity {
    let Principal { subject, client_id, issuer, scopes } = principal.clone();
    CallerIdentity { subject, client_id, issuer, scopes }
}

/// The number of a name, other than those of special sessions.
fn number(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish().clamp(1, u64::MAX - 1)
}

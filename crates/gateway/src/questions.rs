//! Questions of servers, passed on to the client of the call that they belong to. They are not read: the client gets
//! them as they were written, in the shape of its revision, and the server gets the client's answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protomcp_client::{ServerContext, ServerQuestion};
use protomcp_server::{Ask, AskError, Context, InputRequests, Owner, SessionId};
use protomcp_types::{
    ClientCapabilities, ClientMethod, CreateMessage, Elicit, ErrorObject, JsonObject, ListRoots, Method, Params,
    ProtocolVersion, RawJson, RequiredCapability, code,
};

use crate::environment::Environment;
use crate::reach::Reach;
use crate::running::{Caller, Running};
use crate::web_pages::WebPages;

/// Finds the client that a question of a session is for.
#[derive(Debug)]
pub(crate) struct Questions {
    pub(crate) reach: Arc<Reach>,
    pub(crate) pages: Arc<WebPages>,
    pub(crate) environment: Arc<Environment>,
    pub(crate) running: Arc<Running>,
    /// The session of its only client; `None`: clients share the session with the server.
    pub(crate) client: Option<SessionId>,
}

impl Questions {
    /// Asks the client of the call that the question is taken for, or else the client of the session.
    pub(crate) async fn answer(&self, question: ServerQuestion, server: ServerContext) -> Result<RawJson, ErrorObject> {
        let is_of_all = question.method == ListRoots::NAME && self.client.is_none();
        if is_of_all && self.environment.clients().is_none_or(|clients| clients.sole_owner().is_none()) {
            return Err(self.refusal("the server would take the roots of one user for the roots of all"));
        }
        // The roots belong to the client, and a call that runs by chance may end before the answer.
        if question.method == ListRoots::NAME
            && let Some(client) = self.local_client()
        {
            return self.ask_session(client, &question, &server).await;
        }
        let caller = if is_of_all { self.running.caller_of_all() } else { self.running.caller() };
        let (number, context) = match (caller, self.client) {
            (Caller::Of(number, context), _) => (number, context),
            (Caller::None, Some(client)) => return self.ask_session(client, &question, &server).await,
            (Caller::Ended, _) => return Err(refused(AskError::Gone)),
            (Caller::Ambiguous, _) => {
                return Err(
                    self.refusal("calls of several clients are running, were cancelled, or have just been answered; if each client has its own session (--upstream-sessions client), it can")
                );
            }
            (Caller::None, None) => {
                match self.local_client().filter(|_| self.running.are_all(|origin| origin.owner == Owner::Local)) {
                    Some(client) => return self.ask_session(client, &question, &server).await,
                    None => return Err(self.refusal("no call is running")),
                }
            }
        };
        let _open = self.running.ask(number);
        // If the call ends, the question ends: it may name the affairs of its client.
        self.ask(&context, &question, &server).await.map_err(refused)
    }

    /// The client on standard input and output, if it is the only one.
    fn local_client(&self) -> Option<SessionId> {
        let clients = self.environment.clients()?;
        let client = clients.sole_session()?;
        (clients.view(client)?.owner == Owner::Local).then_some(client)
    }

    fn place(&self) -> Place<'_> {
        Place { environment: &self.environment, reach: &self.reach, pages: &self.pages }
    }

    /// Asks the client of a call one question of a session.
    async fn ask(
        &self,
        context: &Context,
        question: &ServerQuestion,
        server: &ServerContext,
    ) -> Result<RawJson, AskError> {
        let params = self.place().prepare(question, context.protocol_version(), context.session());
        match question.method.as_str() {
            Elicit::NAME => send(context.ask::<Form>(&params), server).await,
            CreateMessage::NAME => send(context.ask::<Sample>(&params), server).await,
            _ => send(context.ask::<Roots>(&params), server).await,
        }
    }

    fn refusal(&self, why: &str) -> ErrorObject {
        let server = self.reach.upstream.name();
        tracing::warn!(server, why, "a question of a shared session is refused: it does not name its call");
        ErrorObject::internal(format!("the gateway cannot tell which client this question is for: {why}"))
    }

    async fn ask_session(
        &self,
        client: SessionId,
        question: &ServerQuestion,
        server: &ServerContext,
    ) -> Result<RawJson, ErrorObject> {
        let clients = self.environment.clients();
        let Some((clients, view)) = clients.and_then(|clients| Some((clients, clients.view(client)?))) else {
            return Err(refused(AskError::Gone));
        };
        let params = self.place().prepare(question, view.client.version, client);
        let outcome = match question.method.as_str() {
            Elicit::NAME => send(clients.ask::<Form>(client, &params), server).await,
            CreateMessage::NAME => send(clients.ask::<Sample>(client, &params), server).await,
            _ => send(clients.ask::<Roots>(client, &params), server).await,
        };
        outcome.map_err(refused)
    }
}

/// Asks the client of a call everything that its server needs to know, in one round.
pub(crate) async fn ask_all(
    place: Place<'_>,
    context: &Context,
    questions: Vec<ServerQuestion>,
) -> Result<BTreeMap<String, RawJson>, AskError> {
    let mut asked = InputRequests::new();
    for question in &questions {
        let params = place.prepare(question, context.protocol_version(), context.session());
        let key = question.key.as_str();
        asked = match question.method.as_str() {
            Elicit::NAME => asked.with::<Form>(key, &params),
            CreateMessage::NAME => asked.with::<Sample>(key, &params),
            _ => asked.with::<Roots>(key, &params),
        };
    }
    let answers = context.ask_all(asked).await?;
    let answer = |question: ServerQuestion| Some((question.key.clone(), answers.raw(&question.key)?.clone()));
    Ok(questions.into_iter().filter_map(answer).collect())
}

/// The error with which a server hears that a question has no answer: the client's own, if there is one.
pub(crate) fn refused(error: AskError) -> ErrorObject {
    match error {
        AskError::Refused(error) => error,
        AskError::NotSupported(_) => ErrorObject::new(code::METHOD_NOT_FOUND, error.to_string()),
        error => error.into(),
    }
}

async fn send<M: ClientMethod<Result = RawJson> + 'static>(
    ask: Ask<M>,
    server: &ServerContext,
) -> Result<RawJson, AskError> {
    let server = server.clone();
    ask.on_progress(move |progress| server.progress(&progress)).await
}

/// The session with a server that a question comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) reach: &'a Reach,
    pub(crate) pages: &'a WebPages,
}

impl Place<'_> {
    /// The parameters in the shape of the client's revision.
    fn prepare(self, question: &ServerQuestion, version: ProtocolVersion, client: SessionId) -> JsonObject {
        static PAGES: AtomicU64 = AtomicU64::new(0);
        let params = match &question.params {
            Params::Named(params) => params.clone(),
            Params::Absent | Params::Positional(_) => JsonObject::new(),
        };
        let page = || format!("gateway-{}", PAGES.fetch_add(1, Ordering::Relaxed));
        let mut params = crate::translate::question(&question.method, params, version, page);
        let id = params.member("elicitationId").and_then(|id| id.to::<String>().ok());
        if let Some(id) = id.filter(|_| question.method == Elicit::NAME) {
            self.pages.opened(&id, client);
            params.insert("elicitationId", RawJson::text(&self.environment.page_id(self.reach, &id)));
        }
        params
    }
}

/// Questions whose parameters and answers are text.
macro_rules! unread {
    ($($name:ident = $method:ident),* $(,)?) => {
        $(struct $name;

        impl Method for $name {
            const NAME: &'static str = $method::NAME;
            type Params = JsonObject;
            type Result = RawJson;
        }

        impl ClientMethod for $name {
            fn is_supported_by(params: &JsonObject, capabilities: &ClientCapabilities) -> bool {
                RequiredCapability::of(Self::NAME, params).is_some_and(|required| required.is_met_by(capabilities))
            }
        })*
    };
}

unread!(Form = Elicit, Sample = CreateMessage, Roots = ListRoots);

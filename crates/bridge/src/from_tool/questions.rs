//! Requests of the tool process to clients: sampling, roots and elicitation.
//!
//! A question goes to the client whose call it belongs to, and is withdrawn when that call ends. Without a call it goes
//! to the only client that can answer it. In every other case the process gets an error with the reason immediately; it
//! never waits for an answer that cannot come.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use protomcp_envelope::{ElicitationRequest, ListRootsRequest, Msg, SamplingRequest};
use protomcp_link::QuestionFields;
use protomcp_server::{AskError, Budget, Owner, Reservation, ServerHandle, SessionId};
use protomcp_types::{ClientCapabilities, ClientMethod, CreateMessage, Elicit, ElicitWay, ListRoots, ProtocolVersion};
use protomcp_wire::question;
use tokio::sync::oneshot;

use crate::dispatcher::Dispatcher;
use crate::dispatcher::attribution::Recipient;
use crate::from_tool::question_groups::{Admitted, Gathered, QuestionGroups};
use crate::from_tool::url_elicitations::UrlElicitations;
use crate::process::tool_process::ToolProcess;

/// The most questions of all processes without an answer, shared by owners as in a [`Budget`]: a lone owner has 256,
/// and there is always room for an owner with few. Each session has its own lower limit
/// ([`protomcp_server::Limits::max_questions`]). A further question is refused.
const OPEN_QUESTIONS: usize = 320;

/// The most bytes in the name of a question.
const MAX_KEY: usize = 128;

/// The work for a question.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A question of the process.
#[derive(Debug)]
pub(crate) struct Question {
    /// The id that the answer repeats.
    pub(crate) id: String,
    /// The request for which it is asked, if the process names it.
    pub(crate) for_call: String,
    /// Its name and group.
    pub(crate) fields: QuestionFields,
    pub(crate) asked: Asked,
}

/// The request.
#[derive(Debug)]
pub(crate) enum Asked {
    Sampling(SamplingRequest),
    Roots(ListRootsRequest),
    Elicitation(ElicitationRequest),
}

/// The sender of a request, and the session that the request is for.
struct Asker<'a> {
    process: &'a ToolProcess,
    recipient: Recipient,
    for_call: &'a str,
    /// The name of the question, or empty.
    key: &'a str,
}

/// The clients that can be asked.
#[derive(Debug, Clone)]
pub(crate) struct Questions {
    dispatcher: Arc<Dispatcher>,
    sessions: ServerHandle,
    pages: UrlElicitations,
    slots: Budget,
    groups: QuestionGroups,
}

/// The reason for which a request has no answer.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("no active MCP session")]
    NoSession,
    #[error("no MCP session supports {0}")]
    NoneAble(&'static str),
    #[error("several MCP sessions are open, and it is not known which one to ask")]
    Ambiguous,
    #[error("the tool process works for several users, and the question names no call")]
    SeveralOwners,
    #[error("it was not answered in time, and calls of other users wait")]
    OthersWait,
    #[error("the request that asks is over")]
    Over,
    #[error("too many questions wait for answers")]
    TooMany,
    #[error("the name of a question may have {MAX_KEY} bytes")]
    LongKey,
    #[error(transparent)]
    Host(#[from] AskError),
}

impl Asked {
    /// `Err` if the message is not a question.
    #[expect(clippy::result_large_err, reason = "it is processed immediately; a box would cost an allocation")]
    pub(crate) fn read(message: Msg) -> Result<Self, Msg> {
        match message {
            Msg::SamplingRequest(request) => Ok(Self::Sampling(request)),
            Msg::ListRootsRequest(request) => Ok(Self::Roots(request)),
            Msg::ElicitationRequest(request) => Ok(Self::Elicitation(request)),
            other => Err(other),
        }
    }

    /// The error if there is no client to ask.
    fn refuse(&self, why: String) -> Msg {
        match self {
            Self::Sampling(_) => question::not_sampled(why).into(),
            Self::Roots(_) => question::no_roots(why).into(),
            Self::Elicitation(_) => question::not_elicited(why).into(),
        }
    }

    /// The error while the bridge serves no client yet.
    pub(crate) fn refuse_early(&self) -> Msg {
        self.refuse(Unanswered::NoSession.to_string())
    }
}

impl Questions {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, sessions: ServerHandle) -> Self {
        let (pages, groups) = (UrlElicitations::default(), QuestionGroups::default());
        Self { dispatcher, sessions, pages, slots: Budget::new(OPEN_QUESTIONS), groups }
    }

    /// Takes a question. Returns the work for it: to ask it, with its group, or to wait for the end of its request;
    /// `None` if it waits for others, or if the process got an error immediately.
    pub(crate) fn take(&self, process: Arc<ToolProcess>, question: Question) -> Option<Work> {
        let Some(slot) = self.admit(&process, &question) else {
            return if question.fields.more { None } else { self.complete(process, &question.for_call) };
        };
        let for_call = question.for_call.clone();
        match self.groups.add(process.generation(), Admitted { question, slot }) {
            Gathered::Complete(group) => Some(Box::pin(self.clone().ask(process, group))),
            Gathered::First(ended) => Some(Box::pin(self.clone().expire(process, for_call, ended))),
            Gathered::Waiting => None,
        }
    }

    /// The work for the held questions of a group whose last one was refused: the others are asked without it.
    fn complete(&self, process: Arc<ToolProcess>, for_call: &str) -> Option<Work> {
        let held = self.groups.remove(process.generation(), for_call);
        if held.is_empty() { None } else { Some(Box::pin(self.clone().ask(process, held))) }
    }

    /// A slot for one more question; `None` if too many are open, or its name is too long; the process then gets an
    /// error.
    fn admit(&self, process: &ToolProcess, question: &Question) -> Option<Reservation> {
        let owner = match self.dispatcher.recipient(process.generation(), &question.for_call) {
            Recipient::Call(_, context) | Recipient::Request(context) => context.caller().owner.clone(),
            Recipient::Session(_, owner) => owner,
            Recipient::Over | Recipient::Anyone => self.sessions.sole_owner().unwrap_or(Owner::Local),
        };
        let slot = if question.fields.key.len() <= MAX_KEY {
            self.slots.reserve(&owner, 1).map_err(|_| Unanswered::TooMany)
        } else {
            Err(Unanswered::LongKey)
        };
        let refuse = |why: Unanswered| {
            process.link().reply(question.id.as_str(), question.asked.refuse(why.to_string()));
        };
        slot.map_err(refuse).ok()
    }

    /// Refuses the questions of a group whose request ends before the last of them arrives.
    async fn expire(self, process: Arc<ToolProcess>, for_call: String, ended: oneshot::Receiver<()>) {
        let generation = process.generation();
        tokio::select! {
            biased;
            _ = ended => return,
            () = process.link().closed() => {}
            () = self.dispatcher.served(generation, SessionId::STATELESS, &for_call) => {}
        }
        for Admitted { question, .. } in self.groups.remove(generation, &for_call) {
            process.link().reply(question.id, question.asked.refuse(Unanswered::Over.to_string()));
        }
    }

    /// Asks the questions of a group together.
    async fn ask(self, process: Arc<ToolProcess>, group: Vec<Admitted>) {
        let for_call = group.first().map(|first| first.question.for_call.as_str()).unwrap_or_default();
        let mut held = match self.dispatcher.recipient(process.generation(), for_call) {
            Recipient::Call(_, context) | Recipient::Request(context) if group.len() > 1 => {
                Some(context.hold_questions())
            }
            _ => None,
        };
        let ask = |admitted| Box::pin(self.ask_one(&process, admitted));
        let mut open: Vec<_> = group.into_iter().map(ask).collect();
        poll_fn(|cx| {
            open.retain_mut(|asking| asking.as_mut().poll(cx).is_pending());
            // All of them have been polled, and so asked.
            held.take();
            if open.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Asks, and sends the outcome to the process. Ends early when the process has gone.
    async fn ask_one(&self, process: &ToolProcess, Admitted { question, slot: _slot }: Admitted) {
        let Question { id, for_call, fields, asked } = question;
        let recipient = self.dispatcher.recipient(process.generation(), &for_call);
        let open = match &recipient {
            Recipient::Call(call, context) => Some((&context.caller().owner, Some(*call))),
            Recipient::Session(_, owner) => Some((owner, None)),
            // Other requests hold no slots.
            Recipient::Request(_) | Recipient::Over | Recipient::Anyone => None,
        };
        let open = open.map(|(owner, call)| self.dispatcher.open_question(process.generation(), owner, call));
        let taken_back = async {
            match &open {
                Some(open) => open.taken_back().await,
                None => std::future::pending().await,
            }
        };
        let refusal = asked.refuse(Unanswered::OthersWait.to_string());
        let asker = Asker { process, recipient, for_call: &for_call, key: &fields.key };
        let answer = tokio::select! {
            biased;
            () = process.link().closed() => return,
            answer = self.answer(asker, asked) => answer,
            () = taken_back => refusal,
        };
        process.link().reply(id, answer);
    }

    async fn answer(&self, asker: Asker<'_>, asked: Asked) -> Msg {
        match asked {
            Asked::Sampling(request) => {
                let answer = match question::sampling(request) {
                    Ok(params) => self.put::<CreateMessage>(asker, params, one_block_each).await,
                    Err(why) => return question::not_sampled(why).into(),
                };
                answer.map_or_else(|why| question::not_sampled(why.to_string()), question::sampled).into()
            }
            Asked::Roots(ListRootsRequest {}) => {
                let answer = self.put::<ListRoots>(asker, ListRoots::default(), as_it_is).await;
                answer.map_or_else(|why| question::no_roots(why.to_string()), question::roots).into()
            }
            Asked::Elicitation(request) => {
                let answer = match question::elicitation(request) {
                    Ok(params) => {
                        let page = match &params.way {
                            ElicitWay::Url { elicitation_id, .. } => Some(elicitation_id.clone()),
                            ElicitWay::Form { .. } => None,
                        };
                        let note = |_: &mut Elicit, _, session| {
                            if let Some(id) = &page {
                                self.pages.opened(id, session);
                            }
                        };
                        self.put::<Elicit>(asker, params, note).await
                    }
                    Err(why) => return question::not_elicited(why).into(),
                };
                answer.map_or_else(|why| question::not_elicited(why.to_string()), question::elicited).into()
            }
        }
    }

    /// The user has finished this URL elicitation.
    pub(crate) fn elicitation_complete(&self, id: &str) {
        match self.pages.done(id) {
            Some(session) => self.sessions.elicitation_complete(session, id),
            None => tracing::debug!("a completed URL elicitation has no session"),
        }
    }

    /// Sends a question to its recipient. `fit` writes it for a revision and its recipient.
    async fn put<M: ClientMethod>(
        &self,
        asker: Asker<'_>,
        mut params: M::Params,
        fit: impl Fn(&mut M::Params, ProtocolVersion, SessionId),
    ) -> Result<M::Result, Unanswered> {
        let Asker { process, recipient, for_call, key } = asker;
        let generation = process.generation();
        let recipient = match recipient {
            Recipient::Call(_, context) | Recipient::Request(context) => {
                fit(&mut params, context.protocol_version(), context.session());
                return Ok(context.ask::<M>(&params).key(key).await?);
            }
            Recipient::Over => return Err(Unanswered::Over),
            Recipient::Session(session, _) => Some(session),
            Recipient::Anyone => None,
        };
        let (session, version) = self.choose::<M>(process, recipient, &params)?;
        fit(&mut params, version, session);
        let answer = self.sessions.ask::<M>(session, &params).into_future();
        let served = async {
            match recipient {
                Some(session) => self.dispatcher.served(generation, session, for_call).await,
                // It belongs to no call that could end.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = answer => Ok(answer?),
            () = served => Err(Unanswered::Over),
        }
    }

    /// The session to ask: the recipient, or the only one that can answer.
    fn choose<M: ClientMethod>(
        &self,
        process: &ToolProcess,
        recipient: Option<SessionId>,
        params: &M::Params,
    ) -> Result<(SessionId, ProtocolVersion), Unanswered> {
        let views = self.sessions.views();
        if views.is_empty() {
            return Err(Unanswered::NoSession);
        }
        let able = |capabilities: &ClientCapabilities| M::is_supported_by(params, capabilities);
        let mut able = views.iter().filter(|view| match recipient {
            Some(session) => view.id == session,
            None => able(&view.client.capabilities),
        });
        match (able.next(), able.next()) {
            (Some(only), None) => {
                if recipient.is_none() && self.dispatcher.sole_owner(process.generation()).is_none() {
                    return Err(Unanswered::SeveralOwners);
                }
                process.served().add(&only.owner);
                Ok((only.id, only.client.version))
            }
            (Some(_), Some(_)) => Err(Unanswered::Ambiguous),
            (None, _) if recipient.is_some() => Err(AskError::Gone.into()),
            (None, _) => Err(Unanswered::NoneAble(M::NAME)),
        }
    }
}

fn one_block_each(params: &mut CreateMessage, version: ProtocolVersion, _: SessionId) {
    if version < ProtocolVersion::V2025_11_25 {
        params.messages = question::one_block_each(&params.messages);
    }
}

fn as_it_is<P>(_: &mut P, _: ProtocolVersion, _: SessionId) {}

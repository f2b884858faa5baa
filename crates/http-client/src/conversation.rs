//! The state that the halves of a transport and its tasks share.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri};
use protomcp_session::Extensions;
use protomcp_transport::Received;
use protomcp_types::{Incoming, Malformed, Message, ProtocolVersion, RequestId};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::http_client::{HttpClient, Outgoing};
use crate::limits::Limits;
use crate::message_budget::{MessageBudget, Taken};
use crate::old_connection::OldConnection;
use crate::pending::Pending;
use crate::request::{self, SessionFields};

/// Messages that wait for the client.
const MAX_INBOX: usize = 64;

/// Pings, handshakes and cancellations that are open concurrently.
const UPKEEP_SLOTS: usize = 64;

/// The room that messages need in addition to the longest one: what a connection takes in one read.
const ONE_READ: usize = 1024 * 1024;

/// Shared by the halves of a transport and its tasks.
pub(crate) struct Conversation {
    pub(crate) client: HttpClient,
    pub(crate) limits: Limits,
    pub(crate) pending: Pending,
    pub(crate) budget: MessageBudget,
    /// Slots for requests.
    pub(crate) slots: Semaphore,
    /// Slots for pings, handshakes and cancellations.
    pub(crate) upkeep_slots: Semaphore,
    inbox: mpsc::Sender<Delivered>,
    state: Mutex<State>,
    closed: CancellationToken,
}

/// A message on its way to the client.
#[derive(Debug)]
pub(crate) struct Delivered {
    pub(crate) received: Received,
    pub(crate) extensions: Extensions,
    /// The length of the text that the messages share.
    pub(crate) text_len: usize,
    pub(crate) taken: Taken,
}

/// A session at the server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) fields: SessionFields,
    /// Cancelled when the server has been told of the end of the handshake and listening has begun: requests can follow.
    pub(crate) ready: CancellationToken,
    /// Cancelled when the session has ended.
    pub(crate) over: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// The id that the response to the last handshake named.
    offered: Option<HeaderValue>,
    session: Option<Arc<Session>>,
    transport: Speaks,
}

/// The transport that the server speaks.
#[derive(Debug, Clone, Default)]
pub(crate) enum Speaks {
    /// Streamable HTTP, as far as is known.
    #[default]
    Streamable,
    /// HTTP+SSE of 2024-11-05, with its connection. It stays so for the life of the transport.
    Old(Arc<OldConnection>),
}

impl Conversation {
    pub(crate) fn new(client: HttpClient, limits: Limits) -> (Arc<Self>, mpsc::Receiver<Delivered>) {
        let (inbox, messages) = mpsc::channel(MAX_INBOX);
        // One message at a time can grow to its full length whatever the others hold.
        let shared = limits.max_buffered.saturating_sub(limits.max_message).max(ONE_READ);
        let budget = MessageBudget::new(shared);
        let slots = Semaphore::new(limits.max_concurrent_requests.clamp(1, Semaphore::MAX_PERMITS));
        let upkeep_slots = Semaphore::new(UPKEEP_SLOTS);
        let (pending, state) = (Pending::default(), Mutex::default());
        let closed = CancellationToken::new();
        (Arc::new(Self { client, limits, pending, budget, slots, upkeep_slots, inbox, state, closed }), messages)
    }

    /// Cancelled when the transport is dropped: all of its tasks end.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// True if no message can be delivered.
    pub(crate) fn is_unread(&self) -> bool {
        self.inbox.is_closed()
    }

    /// Runs a task for as long as the transport exists.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closed = self.closed.clone();
        tokio::spawn(async move {
            closed.run_until_cancelled_owned(task).await;
        });
    }

    /// A request to the server's URL. The body is the body of a POST.
    pub(crate) fn outgoing(&self, method: Method, headers: HeaderMap, body: Vec<Bytes>) -> Outgoing {
        let target = self.client.server.uri().clone();
        Outgoing { method, target, headers, body, taken: None, turn: None, deadline: self.limits.head_timeout }
    }

    /// The GET that opens a stream or resumes it.
    pub(crate) fn stream_get(&self, session: &SessionFields, last_event: Option<&HeaderValue>) -> Outgoing {
        self.outgoing(Method::GET, request::stream_get(session, last_event), Vec::new())
    }

    /// The address of POSTs; `None` if the server speaks the old transport and its connection is lost.
    pub(crate) fn post_target(&self) -> Option<Uri> {
        match self.speaks() {
            Speaks::Streamable => Some(self.client.server.uri().clone()),
            Speaks::Old(connection) => (!connection.lost.is_cancelled()).then(|| connection.endpoint.clone()),
        }
    }

    pub(crate) fn speaks(&self) -> Speaks {
        self.state().transport.clone()
    }

    /// The server speaks the old transport, over this connection.
    pub(crate) fn speak_old(&self, connection: Arc<OldConnection>) {
        let before = std::mem::replace(&mut self.state().transport, Speaks::Old(connection));
        if let Speaks::Old(before) = before {
            before.over.cancel();
        }
    }

    /// The response to a handshake has named a session, or has not.
    pub(crate) fn offer(&self, id: Option<HeaderValue>) {
        self.state().offered = id;
    }

    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.state().session.clone()
    }

    /// A handshake has succeeded. The session before it is over.
    pub(crate) fn begin_session(&self, version: ProtocolVersion) {
        let mut state = self.state();
        let fields = SessionFields { id: state.offered.take(), version: Some(version) };
        let session = Session { fields, ready: CancellationToken::new(), over: CancellationToken::new() };
        if let Some(before) = state.session.replace(Arc::new(session)) {
            before.over.cancel();
        }
    }

    /// Forgets the session: also one that a handshake has begun and the client has rejected.
    pub(crate) fn leave_session(&self) -> Option<Arc<Session>> {
        let mut state = self.state();
        let (session, offered) = (state.session.take(), state.offered.take());
        let rejected = offered.map(|id| {
            let fields = SessionFields { id: Some(id), version: None };
            Arc::new(Session { fields, ready: CancellationToken::new(), over: CancellationToken::new() })
        });
        rejected.or(session)
    }

    /// Tells the client that a stream of the session is gone, most likely with the session.
    pub(crate) async fn deliver_session_lost(&self) {
        let (received, extensions) = Failure::session_lost().notice();
        let Some(permit) = self.reserve().await else { return };
        permit.send(Delivered {
            received: Ok(Incoming::One(received)),
            extensions,
            text_len: 0,
            taken: Taken::default(),
        });
    }

    /// Delivers the error in place of an answer, unless the request has an answer or is closed.
    pub(crate) async fn fail(&self, id: RequestId, failure: Failure) {
        let Some(permit) = self.reserve().await else { return };
        if self.pending.claim(&id).is_none() {
            return;
        }
        let (message, extensions) = failure.answer(id);
        let received = Ok(Incoming::One(message));
        permit.send(Delivered { received, extensions, text_len: 0, taken: Taken::default() });
    }

    /// Delivers a text of the server. `own` is the request whose response contains it; `Ok(true)`: it has its answer.
    ///
    /// # Errors
    /// [`Malformed`] for text that is not a message.
    pub(crate) async fn deliver(
        &self,
        text: Bytes,
        taken: Taken,
        own: Option<&RequestId>,
        extensions: Extensions,
    ) -> Result<bool, Malformed> {
        // Before a request is claimed: if this waits and the exchange is cancelled, no other request loses its answer.
        let Some(permit) = self.reserve().await else { return Ok(false) };
        let mut is_answered = false;
        let mut admit = |message: &mut Message| {
            let Message::Response(response) = message else { return true };
            // An error that names no request is about the only one that it can be about.
            let Some(id) = response.id.clone().or_else(|| own.cloned()) else { return true };
            let Some(request) = self.pending.claim(&id) else {
                tracing::debug!(?id, "ignoring a response to a request that is not pending");
                return false;
            };
            response.id = Some(id.clone());
            if own == Some(&id) {
                is_answered = true;
            } else {
                request.ended.cancel();
            }
            true
        };
        let incoming = match Incoming::parse(&text)? {
            Incoming::One(mut message) => admit(&mut message).then_some(Incoming::One(message)),
            Incoming::Batch(mut messages) => {
                messages.retain_mut(|message| message.as_mut().map_or(true, &mut admit));
                (!messages.is_empty()).then_some(Incoming::Batch(messages))
            }
        };
        if let Some(incoming) = incoming {
            permit.send(Delivered { received: Ok(incoming), extensions, text_len: text.len(), taken });
        }
        Ok(is_answered)
    }

    /// Passes text on that is not a message; the client has the reply to it.
    pub(crate) async fn deliver_malformed(&self, malformed: Malformed) {
        let Some(permit) = self.reserve().await else { return };
        // A bad answer is one as well: no other is expected.
        if let Some(request) = malformed.answers.as_ref().and_then(|id| self.pending.claim(id)) {
            request.ended.cancel();
        }
        let (extensions, taken) = (Extensions::default(), Taken::default());
        permit.send(Delivered { received: Err(malformed), extensions, text_len: 0, taken });
    }

    /// Room for one message. `None`: the client has dropped the other end.
    async fn reserve(&self) -> Option<mpsc::Permit<'_, Delivered>> {
        let permit = self.inbox.reserve().await;
        permit.inspect_err(|_| tracing::debug!("the client receives no more messages")).ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("client", &self.client).finish_non_exhaustive()
    }
}

//! Reads the response to a request: one JSON text, a stream of events that may be resumed, or a refusal.

use std::sync::Arc;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use protomcp_session::Extensions;
use protomcp_transport::{HttpStatus, NoAnswer};
use protomcp_types::{Incoming, Message, Response, code};
use tokio::time::{Instant, sleep};

use crate::client_request::{ClientRequest, Kind, Reply};
use crate::conversation::Conversation;
use crate::failure::Failure;
use crate::message_budget::Taken;
use crate::request::SessionFields;
use crate::response::{Content, Resumed};
use crate::response_body::{BodyError, EventStream, discard_rest, read_beginning, read_message};
use crate::resumption::{Resumption, Step, StreamKind};
use crate::sse::{Event, EventKind};

/// The most characters of a refusal that an error repeats.
const MAX_QUOTED: usize = 300;

/// Reads the response to an accepted request.
pub(crate) async fn accepted(
    conversation: &Conversation,
    request: &ClientRequest,
    response: Reply,
) -> Result<(), Failure> {
    match Content::of(response.headers()) {
        Content::Json => json(conversation, request, response).await,
        Content::Events => {
            let fields = request.session_fields(response.headers());
            let events = EventStream::new(response.into_body(), &conversation.limits);
            stream(conversation, request, &fields, events).await
        }
        Content::Other => {
            let status = response.status();
            let why = format!("the server replied with {status}, and with neither JSON nor a stream of events");
            Err(Failure::new(NoAnswer::Status(status.as_u16()), why))
        }
    }
}

async fn json(conversation: &Conversation, request: &ClientRequest, response: Reply) -> Result<(), Failure> {
    let status = NoAnswer::Status(response.status().as_u16());
    let (text, taken) = read_message(response.into_body(), &conversation.limits, &conversation.budget)
        .await
        .map_err(|error| Failure::incomplete(error.to_string()))?;
    match conversation.deliver(text, taken, Some(&request.id), Extensions::default()).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(status, "the response is not the answer to the request")),
        Err(malformed) => Err(Failure::new(status, format!("the response is not a message: {malformed}"))),
    }
}

/// Reads a stream of events, and resumes it, until it has brought the answer.
async fn stream(
    conversation: &Conversation,
    request: &ClientRequest,
    fields: &SessionFields,
    mut events: EventStream,
) -> Result<(), Failure> {
    let kind = if request.kind == Kind::Stateless { StreamKind::Stateless } else { StreamKind::Response };
    let mut resumption = Resumption::new(kind, conversation.limits.pace());
    loop {
        let opened = Instant::now();
        let cause = loop {
            match events.next(&conversation.budget).await {
                Ok(Some((event, taken))) => {
                    resumption.event(&event);
                    if message(conversation, request, event, taken).await {
                        discard_rest(events.into_body()).await;
                        return Ok(());
                    }
                }
                Ok(None) => break "the response ended before the answer".to_owned(),
                Err(BodyError::Broken(why)) => break format!("the connection broke before the answer: {why}"),
                Err(error @ BodyError::TimedOut(_)) => break error.to_string(),
                // The same event would come again.
                Err(error @ BodyError::TooLong(_)) => return Err(Failure::incomplete(error.to_string())),
            }
        };
        resumption.stayed_open(opened.elapsed());
        events = resume(conversation, fields, &mut resumption, cause).await?;
    }
}

/// Delivers the message of an event. `true`: it is the answer.
async fn message(conversation: &Conversation, request: &ClientRequest, event: Event, taken: Taken) -> bool {
    if event.kind != EventKind::Message || event.data.is_empty() {
        return false;
    }
    match conversation.deliver(event.data, taken, Some(&request.id), Extensions::default()).await {
        Ok(is_answered) => is_answered,
        Err(malformed) => {
            conversation.deliver_malformed(malformed).await;
            false
        }
    }
}

/// Opens the stream again (MCP 2025-11-25, basic/transports, resumability).
async fn resume(
    conversation: &Conversation,
    fields: &SessionFields,
    resumption: &mut Resumption,
    mut cause: String,
) -> Result<EventStream, Failure> {
    loop {
        let (after, position) = match resumption.ended(random()) {
            Step::Open { after, position } => (after, position),
            Step::GiveUp(why) => return Err(Failure::incomplete(format!("{cause}; {why}"))),
        };
        sleep(after).await;
        cause = match conversation.client.send(conversation.stream_get(fields, position.as_ref())).await {
            Ok(response) => match Resumed::of(response.status(), response.headers()) {
                Resumed::Continues => return Ok(EventStream::new(response.into_body(), &conversation.limits)),
                Resumed::Later => format!("the server replies with {} to the resumption", response.status()),
                Resumed::Never => {
                    let why = format!("{cause}; the server replies with {} to the resumption", response.status());
                    return Err(Failure::incomplete(why));
                }
            },
            Err(Failure { reason: NoAnswer::Connection | NoAnswer::NotSent, text, .. }) => text,
            Err(failure) => return Err(Failure::incomplete(failure.text)),
        };
    }
}

/// A number by which attempts of many clients are spread.
pub(crate) fn random() -> u32 {
    // Without a source of random numbers they are not spread, which harms only servers.
    getrandom::u32().unwrap_or_default()
}

/// Reads the refusal of a request. An error of JSON-RPC is the answer, except one without an id that may pass: the server
/// has not taken the request, and its status says that it can be sent again.
pub(crate) async fn refused(
    conversation: &Conversation,
    request: &ClientRequest,
    response: Reply,
) -> Result<(), Failure> {
    let refusal = Refusal::read(conversation, response).await;
    if refusal.status != StatusCode::UNAUTHORIZED
        && !refusal.may_pass()
        && let Some(text) = refusal.error()
    {
        let extensions = Extensions::default().with(Arc::new(HttpStatus(refusal.status.as_u16())));
        let delivered = conversation.deliver(text, Taken::default(), Some(&request.id), extensions).await;
        if delivered == Ok(true) {
            return Ok(());
        }
    }
    Err(refusal.failure())
}

/// Reads the reply of a server that may not know the session. Some servers reply with 404 to unknown methods, too, and
/// with 400 to requests of other faults.
pub(crate) async fn session_lost(
    conversation: &Conversation,
    request: &ClientRequest,
    response: Reply,
) -> Result<(), Failure> {
    let refusal = Refusal::read(conversation, response).await;
    if let Some(text) = refusal.error()
        && matches!(Incoming::parse(&text), Ok(Incoming::One(message)) if refusal.concerns(request, &message))
    {
        let extensions = Extensions::default().with(Arc::new(HttpStatus(refusal.status.as_u16())));
        if conversation.deliver(text, Taken::default(), Some(&request.id), extensions).await == Ok(true) {
            return Ok(());
        }
    }
    if refusal.status != StatusCode::NOT_FOUND {
        return Err(refusal.failure().guessed_loss());
    }
    if let Some(session) = &request.session {
        session.over.cancel();
    }
    Err(Failure::session_lost())
}

/// The response to a request that was not accepted.
struct Refusal {
    status: StatusCode,
    headers: HeaderMap,
    body: bytes::Bytes,
}

impl Refusal {
    async fn read(conversation: &Conversation, response: Reply) -> Self {
        let (head, body) = response.into_parts();
        let body = read_beginning(body, &conversation.limits).await;
        Self { status: head.status, headers: head.headers, body }
    }

    /// The body, if it is an error of JSON-RPC. Some servers do not declare it as JSON.
    fn error(&self) -> Option<bytes::Bytes> {
        self.response().filter(|response| response.outcome.is_err()).map(|_| self.body.clone())
    }

    fn response(&self) -> Option<Response> {
        match Incoming::parse(&self.body) {
            Ok(Incoming::One(Message::Response(response))) => Some(response),
            _ => None,
        }
    }

    /// True for an error without an id whose status may be another one later.
    fn may_pass(&self) -> bool {
        NoAnswer::Status(self.status.as_u16()).is_passing() && self.response().is_some_and(|error| error.id.is_none())
    }

    /// True if a message is the answer to a request, and says nothing of a session that is not known.
    fn concerns(&self, request: &ClientRequest, message: &Message) -> bool {
        let Message::Response(response) = message else { return false };
        let Err(error) = &response.outcome else { return false };
        if response.id.as_ref() != Some(&request.id) {
            return false;
        }
        let text = error.message.to_ascii_lowercase();
        match self.status {
            StatusCode::NOT_FOUND => error.code == code::METHOD_NOT_FOUND,
            _ => !text.contains("session") && !text.contains("not initialized"),
        }
    }

    fn failure(&self) -> Failure {
        let is_challenge = self.status == StatusCode::FORBIDDEN && self.headers.contains_key(WWW_AUTHENTICATE);
        let reason = match self.status {
            StatusCode::UNAUTHORIZED => NoAnswer::Unauthorized,
            _ if is_challenge => NoAnswer::Unauthorized,
            status => NoAnswer::Status(status.as_u16()),
        };
        let message = self.response().and_then(|response| response.outcome.err()).map(|error| error.message);
        let body = message.unwrap_or_else(|| String::from_utf8_lossy(&self.body));
        let quoted: String = body.trim().chars().filter(|letter| !letter.is_control()).take(MAX_QUOTED).collect();
        let colon = if quoted.is_empty() { "" } else { ": " };
        Failure::new(reason, format!("the server replied with {}{colon}{quoted}", self.status))
    }
}

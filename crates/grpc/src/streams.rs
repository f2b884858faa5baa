//! `buf.mcp.v1.MCPStreams`: the reports of a call in front of its response, and changes of lists and resources.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, TryFutureExt, ready};
use futures_util::stream::{BoxStream, StreamExt, once, unfold};
use http::Response;
use prost::Message;
use protomcp_bufmcp::message::{CallToolRequest, CallToolResponse, ListenRequest, Listening, Notice, Payload, notice};
use protomcp_bufmcp::{
    BareMessage, BinaryAnswer, BinaryCallEvent, BinaryCallEvents, BinaryEndpoint, BinaryListening, Fault, RawMessage,
    code,
};
use protomcp_http::Body;
use protomcp_server::Reservation;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::Status;
use tonic::server::Grpc;
use tower_service::Service;

use crate::call::Caller;
use crate::codec::Bounded;
use crate::reserved_body::ReservedBody;
use crate::whole::Whole;
use crate::{deadline, status};

/// The messages of a response.
type Events<R> = BoxStream<'static, Result<R, Status>>;

/// The answer to a request. Its type is erased: the compiler cannot show otherwise that the response is `Send`.
type Answer<M, R> = Box<dyn FnOnce(M) -> BoxFuture<'static, Result<Events<R>, Status>> + Send>;

/// Bytes of the budgets, until the client has read the response.
type Reservations = Arc<Mutex<Vec<Reservation>>>;

/// `CallEvent`, with reports as the bytes that they are.
#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(bytes = "bytes", optional, tag = "1")]
    progress: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    log: Option<Bytes>,
    #[prost(message, optional, tag = "15")]
    response: Option<CallToolResponse>,
}

/// Calls a tool. Its call ends with the response that the client reads, or at the deadline.
pub(crate) async fn call_tool(
    endpoint: BinaryEndpoint,
    caller: Caller,
    mut whole: Whole,
    deadline: Option<Instant>,
) -> Response<Body> {
    let reservations = Reservations::new(Mutex::new(whole.reservation.take().into_iter().collect()));
    let (codec, held) = (Bounded::new(&endpoint), Arc::clone(&reservations));
    let answer = move |request: CallToolRequest| {
        let events = caller
            .authorize("tools/call", Some(&request.name))
            .map(|()| events(endpoint.call_tool(request, caller.binary()), deadline, held));
        ready(events).boxed()
    };
    respond(codec, Box::new(answer), whole, reservations).await
}

/// Passes changes on, from the first notice until the server shuts down, the token of the client ends, or the deadline.
pub(crate) async fn listen(
    endpoint: BinaryEndpoint,
    caller: Caller,
    whole: Whole,
    deadline: Option<Instant>,
) -> Response<Body> {
    let codec = Bounded::new(&endpoint);
    let answer = move |request: ListenRequest| {
        async move {
            caller.authorize("subscriptions/listen", None)?;
            for uri in &request.uris {
                caller.authorize("resources/subscribe", Some(uri))?;
            }
            let expiry = caller.valid_until().and_then(moment);
            let listening = endpoint.listen(request, caller.binary()).await;
            let listening = listening.map_err(|fault| status::of_fault(&fault))?;
            Ok::<_, Status>(notices(listening, deadline, expiry))
        }
        .boxed()
    };
    respond(codec, Box::new(answer), whole, ()).await
}

/// Responds with a stream.
async fn respond<M, R, T>(codec: Bounded<R, M>, answer: Answer<M, R>, whole: Whole, held: T) -> Response<Body>
where
    M: BareMessage,
    R: Message + 'static,
    T: Unpin + Send + 'static,
{
    // Bytes that have arrived were counted, so tonic needs no bound.
    let mut grpc = Grpc::new(codec).max_decoding_message_size(usize::MAX);
    let response = grpc.server_streaming(Once(Some(answer)), whole.request).await;
    response.map(|body| Body::new(ReservedBody::new(body, held)))
}

/// The events of a call.
fn events(call: BinaryCallEvents, deadline: Option<Instant>, held: Reservations) -> Events<Event> {
    let events = unfold(Some((call, held)), move |open| async move {
        let (mut call, held) = open?;
        Some(match call.next().await? {
            BinaryCallEvent::Report(report) => (Ok(Event::of(report)), Some((call, held))),
            BinaryCallEvent::Answer(BinaryAnswer { outcome, reservations }) => {
                held.lock().unwrap_or_else(PoisonError::into_inner).extend(reservations);
                (answered(outcome), None)
            }
        })
    });
    match deadline {
        Some(_) => ending(events.boxed(), ended(deadline, None)),
        None => events.boxed(),
    }
}

/// The last event.
fn answered(outcome: Result<Payload, Fault>) -> Result<Event, Status> {
    match outcome {
        Ok(Payload::CallToolResponse(response)) => Ok(Event { response: Some(response), ..Event::default() }),
        Ok(_) => Err(status::of_fault(&Fault::new(code::INTERNAL_ERROR, "the answer is of another kind"))),
        Err(fault) => Err(status::of_fault(&fault)),
    }
}

impl Event {
    fn of(report: RawMessage) -> Self {
        match report.payload {
            CALL_PROGRESS => Self { progress: Some(report.body), ..Self::default() },
            _ => Self { log: Some(report.body), ..Self::default() },
        }
    }
}

/// The notices of a client that listens.
fn notices(listening: BinaryListening, deadline: Option<Instant>, expiry: Option<Instant>) -> Events<Notice> {
    let begun = Notice { notice: Some(notice::Notice::Listening(Listening { missing: listening.missing().to_vec() })) };
    let notices = unfold(Some(listening), move |open| async move {
        let mut listening = open?;
        Some(match listening.next().await {
            Some(notice) => (Ok(notice), Some(listening)),
            None => (Err(Status::unavailable("the server is shutting down")), None),
        })
    });
    let notices = match deadline.or(expiry) {
        Some(_) => ending(notices.boxed(), ended(deadline, expiry)),
        None => notices.boxed(),
    };
    once(ready(Ok(begun))).chain(notices).boxed()
}

/// Waits for the end of a call by its time, or by its token.
async fn ended(deadline: Option<Instant>, expiry: Option<Instant>) -> Status {
    tokio::select! {
        biased;
        () = deadline::until(deadline) => deadline::passed(),
        () = deadline::until(expiry) => Status::unauthenticated("the token has expired"),
    }
}

/// The same messages until this end, in front of messages that are ready. What makes them ends then even if the client does
/// not read, and is not asked for more.
fn ending<R: Send + 'static>(messages: Events<R>, end: impl Future<Output = Status> + Send + 'static) -> Events<R> {
    let (sender, receiver) = mpsc::channel(1);
    // It ends with the response.
    let mut passing = JoinSet::new();
    passing.spawn(pass(messages, end, sender));
    let open = (receiver, passing);
    unfold(open, |(mut receiver, passing)| async move { Some((receiver.recv().await?, (receiver, passing))) }).boxed()
}

/// Passes messages on until this end.
async fn pass<R>(mut messages: Events<R>, end: impl Future<Output = Status>, sender: mpsc::Sender<Result<R, Status>>) {
    let receiver = sender.clone();
    let passing = async move {
        while let Some(message) = messages.next().await {
            // Without a receiver the response is over.
            if receiver.send(message).await.is_err() {
                break;
            }
        }
    };
    let status = tokio::select! {
        biased;
        status = end => status,
        () = passing => return,
    };
    drop(sender.send(Err(status)).await);
}

/// A moment on the clock of timers; `None`: beyond it.
fn moment(time: SystemTime) -> Option<Instant> {
    Instant::now().checked_add(time.duration_since(SystemTime::now()).unwrap_or_default())
}

/// A function for one request, as a service of tonic.
struct Once<M, R>(Option<Answer<M, R>>);

impl<M, R: 'static> Service<tonic::Request<M>> for Once<M, R> {
    type Response = tonic::Response<Events<R>>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: tonic::Request<M>) -> Self::Future {
        match self.0.take() {
            Some(answer) => answer(request.into_inner()).map_ok(tonic::Response::new).boxed(),
            None => ready(Err(Status::internal("the request was answered already"))).boxed(),
        }
    }
}

/// The number of `call_progress` in `MCPMessage`.
const CALL_PROGRESS: u32 = 101;

#[cfg(test)]
mod tests {
    use protomcp_bufmcp::message::{CallEvent, CallLog, CallProgress, call_event};

    use futures_util::stream::repeat_with;
    use tokio::sync::oneshot;
    use tonic::Code;

    use super::*;

    #[tokio::test]
    async fn an_end_is_in_front_of_messages_that_are_ready() {
        let mut messages = ending(repeat_with(|| Ok(1)).boxed(), ready(deadline::passed()));
        let status = messages.next().await.unwrap().unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(messages.next().await.is_none());
    }

    #[tokio::test]
    async fn an_end_needs_no_reader() {
        let (held, dropped) = oneshot::channel::<()>();
        let (end, ends) = oneshot::channel();
        // Without a reader it waits with the second message.
        let source = unfold(held, |held| async move { Some((Ok(1), held)) });
        let end_of = async move { ends.await.unwrap() };
        let messages = ending(source.boxed(), end_of);
        end.send(Status::unauthenticated("the token has expired")).unwrap();
        dropped.await.unwrap_err();
        let all: Vec<_> = messages.collect().await;
        assert_eq!(all.last().unwrap().as_ref().unwrap_err().code(), Code::Unauthenticated);
        assert!(all.iter().rev().skip(1).all(Result::is_ok));
    }

    #[tokio::test]
    async fn a_token_ends_a_call_without_a_deadline() {
        let now = Instant::now();
        assert_eq!(ended(None, Some(now)).await.code(), Code::Unauthenticated);
        assert_eq!(ended(Some(now), Some(now)).await.code(), Code::DeadlineExceeded);
    }

    #[test]
    fn events_are_the_ones_of_the_proto_file() {
        let progress = CallProgress { progress: 1.0, ..CallProgress::default() };
        let log = CallLog { logger: "l".to_owned(), ..CallLog::default() };
        let report = |payload, body: Vec<u8>| Event::of(RawMessage { id: 1, payload, body: body.into() });
        let response = CallToolResponse::default();
        for (event, expected) in [
            (report(101, progress.encode_to_vec()), call_event::Event::Progress(progress)),
            (report(101, Vec::new()), call_event::Event::Progress(CallProgress::default())),
            (report(103, log.encode_to_vec()), call_event::Event::Log(log)),
            (answered(Ok(Payload::CallToolResponse(response.clone()))).unwrap(), call_event::Event::Response(response)),
        ] {
            assert_eq!(CallEvent::decode(&*event.encode_to_vec()).unwrap().event, Some(expected));
        }
    }
}

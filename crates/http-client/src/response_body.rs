//! The body of a response: one JSON text, or a stream of events, with limits and deadlines.
//!
//! Only the message that arrives has a deadline. A stream may be silent for as long as it likes: its request has the
//! deadline of the caller, and the connection is checked by keep-alives of TCP and HTTP/2.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use hyper::body::Incoming;
use protomcp_types::without_byte_order_mark;
use protomcp_web::chain;
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits::Limits;
use crate::message_budget::{MessageBudget, Taken};
use crate::sse::{Event, SseParser};

/// The most bytes that are read of a body that is not a message.
const MAX_REST: usize = 64 * 1024;

/// The time for the end of a body after its last message, so that the connection can be used again.
const REST_TIMEOUT: Duration = Duration::from_millis(500);

/// The reason for which a body could not be read further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// A message is too long.
    #[error("a message is longer than {0} bytes")]
    TooLong(usize),
    /// A message did not arrive in time, or found no room in time.
    #[error("a message did not arrive within {0:?}")]
    TimedOut(Duration),
}

/// The next piece of data; `None` at the end.
async fn piece(body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return Ok(None),
            Some(Err(error)) => return Err(BodyError::Broken(chain(&error))),
            // Anything but data are trailers.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Reads a body with one message. Its time begins with its first byte.
pub(crate) async fn read_message(
    mut body: Incoming,
    limits: &Limits,
    budget: &MessageBudget,
) -> Result<(Bytes, Taken), BodyError> {
    let first = timeout(limits.answer_timeout, piece(&mut body)).await;
    let mut first = first.map_err(|_| BodyError::TimedOut(limits.answer_timeout))??;
    let reading = async {
        let mut taken = Taken::default();
        let mut text = BytesMut::new();
        loop {
            let data = match first.take() {
                Some(data) => Some(data),
                None => piece(&mut body).await?,
            };
            let Some(data) = data else { return Ok((text.freeze(), taken)) };
            if text.len() + data.len() > limits.max_message {
                return Err(BodyError::TooLong(limits.max_message));
            }
            budget.grow(&mut taken, text.len() + data.len()).await;
            if text.is_empty() && body.is_end_stream() {
                return Ok((data, taken));
            }
            text.extend_from_slice(&data);
        }
    };
    let read = timeout(limits.message_timeout, reading).await;
    let (text, taken) = read.unwrap_or(Err(BodyError::TimedOut(limits.message_timeout)))?;
    Ok((text.slice_ref(without_byte_order_mark(&text)), taken))
}

/// Reads the beginning of a body that is not a message, for an error.
pub(crate) async fn read_beginning(mut body: Incoming, limits: &Limits) -> Bytes {
    let mut text = BytesMut::new();
    let reading = async {
        while let Ok(Some(data)) = piece(&mut body).await {
            let wanted = data.len().min(MAX_REST - text.len());
            text.extend_from_slice(&data[..wanted]);
            if text.len() == MAX_REST {
                break;
            }
        }
    };
    // The beginning is enough.
    timeout(limits.head_timeout, reading).await.unwrap_or_default();
    let text = text.freeze();
    text.slice_ref(without_byte_order_mark(&text))
}

/// Reads to the end of a body if that is near, so that the connection can be used again.
pub(crate) async fn discard_rest(mut body: Incoming) {
    let mut length = 0;
    let reading = async {
        while let Ok(Some(data)) = piece(&mut body).await {
            length += data.len();
            if length > MAX_REST {
                break;
            }
        }
    };
    timeout(REST_TIMEOUT, reading).await.unwrap_or_default();
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct EventStream {
    body: Incoming,
    /// A piece of the body that is not read to its end.
    piece: Bytes,
    parser: SseParser,
    /// The room of the event that arrives.
    taken: Taken,
    /// The deadline of the event that arrives.
    deadline: Option<Instant>,
    timeout: Duration,
}

impl EventStream {
    pub(crate) fn new(body: Incoming, limits: &Limits) -> Self {
        Self {
            body,
            piece: Bytes::new(),
            parser: SseParser::new(limits.max_message),
            taken: Taken::default(),
            deadline: None,
            timeout: limits.message_timeout,
        }
    }

    /// The next event, with its room; `None` at the end. Cancel safe.
    pub(crate) async fn next(&mut self, budget: &MessageBudget) -> Result<Option<(Event, Taken)>, BodyError> {
        let timeout = self.timeout;
        loop {
            if self.piece.is_empty() {
                let next = match self.deadline {
                    Some(deadline) => {
                        timeout_at(deadline, piece(&mut self.body)).await.map_err(|_| BodyError::TimedOut(timeout))?
                    }
                    None => piece(&mut self.body).await,
                };
                let Some(next) = next? else { return Ok(None) };
                self.piece = next;
            }
            let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + timeout);
            let expected = self.parser.held() + self.piece.len();
            timeout_at(deadline, budget.grow(&mut self.taken, expected))
                .await
                .map_err(|_| BodyError::TimedOut(timeout))?;
            let mut input = &self.piece[..];
            let event = self.parser.next(&mut input).map_err(|error| BodyError::TooLong(error.limit))?;
            let used = self.piece.len() - input.len();
            drop(self.piece.split_to(used));
            if let Some(event) = event {
                self.deadline = None;
                return Ok(Some((event, std::mem::take(&mut self.taken))));
            }
            if !self.parser.is_inside() {
                self.deadline = None;
            }
        }
    }

    /// The connection, when no more events are expected.
    pub(crate) fn into_body(self) -> Incoming {
        self.body
    }
}

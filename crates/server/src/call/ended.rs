//! The outcome of a call, with the bytes that its answer reserves in the outbound budget.
//!
//! Answers wait while a client does not read. Each reserves its bytes in the outbound budget before it is kept; an
//! answer that finds no room is replaced by a short error, so that every request is answered.

use std::borrow::Borrow;

use protomcp_types::{ErrorObject, Message, Notification, RawJson, Request, Response};

use crate::records::overload;
use protomcp_fair::{Budget, Owner, Reservation};
use protomcp_session::{CallOutcome, Limits, ServerResult};

/// The outcome of a call.
pub(crate) type Outcome = CallOutcome;

/// An outcome that waits to be sent.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    /// `None`: it is short.
    pub(crate) reservation: Option<Reservation>,
}

impl Ended {
    /// The call was dropped.
    pub(crate) const NONE: Self = Self { outcome: None, reservation: None };

    /// Reserves the bytes of an outcome; if the budget has too few, a short error replaces it.
    pub(crate) fn new(outcome: Outcome, budget: &Budget, owner: &Owner) -> Self {
        let Some(answer) = outcome else { return Self::NONE };
        let bytes = weight(&answer) + Limits::MESSAGE_OVERHEAD;
        let reservation = budget.reserve(owner, bytes).ok();
        let answer = if reservation.is_some() || bytes <= SHORT { answer } else { in_place_of(&answer, bytes) };
        Self { outcome: Some(answer), reservation }
    }
}

/// A short error in place of an answer of this many bytes.
pub(crate) fn in_place_of(
    answer: &Result<ServerResult, ErrorObject>,
    bytes: usize,
) -> Result<ServerResult, ErrorObject> {
    match answer {
        Ok(ServerResult::CallTool(_)) => Ok(ServerResult::CallTool(overload::result(bytes))),
        Ok(_) | Err(_) => Err(overload::answer(bytes)),
    }
}

/// A message for a client, with the bytes that it has reserved in the outbound budget.
#[derive(Debug)]
pub struct Reserved {
    /// The message.
    pub message: Message,
    /// Gives the bytes back when it is dropped; `None`: the message is short.
    pub reservation: Option<Reservation>,
}

impl From<Message> for Reserved {
    fn from(message: Message) -> Self {
        Self { message, reservation: None }
    }
}

impl Borrow<Message> for Reserved {
    fn borrow(&self) -> &Message {
        &self.message
    }
}

impl Reserved {
    /// Reserves the bytes of an answer without a reservation; if the budget has too few, a short error replaces it.
    pub(crate) fn new(mut message: Message, reservation: Option<Reservation>, budget: &Budget, owner: &Owner) -> Self {
        if reservation.is_some() {
            return Self { message, reservation };
        }
        let bytes = message_weight(&message) + Limits::MESSAGE_OVERHEAD;
        let reservation = budget.reserve(owner, bytes).ok();
        if let (None, Message::Response(response)) = (&reservation, &mut message)
            && bytes > SHORT
        {
            response.outcome = Err(overload::answer(bytes));
        }
        Self { message, reservation }
    }
}

/// Bytes that are kept of an outcome.
pub(crate) fn weight(answer: &Result<ServerResult, ErrorObject>) -> usize {
    match answer {
        Ok(result) => result.weight(),
        Err(error) => error_weight(error),
    }
}

fn error_weight(error: &ErrorObject) -> usize {
    error.message.len() + error.data.as_ref().map_or(0, RawJson::len)
}

fn message_weight(message: &Message) -> usize {
    match message {
        Message::Response(Response { outcome: Ok(body), .. }) => body.len(),
        Message::Response(Response { outcome: Err(error), .. }) => error_weight(error),
        Message::Request(Request { params, .. }) | Message::Notification(Notification { params, .. }) => {
            params.weight()
        }
    }
}

/// An answer of this many bytes is sent without a reservation: an error in its place would not be shorter. Their number
/// is bounded by the requests in flight.
const SHORT: usize = 1024;

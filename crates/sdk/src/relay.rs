//! The machine, shared by the session, the calls and the socket, and the effects of its steps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use protomcp_codec::{Encoder, Limits, Raw};
use protomcp_proto::{CallToolResponse, Envelope, Msg, RequestContext, message_name};
use protomcp_types::{Message, RawJson};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::exchange::Exchange;
use crate::outgoing::Outgoing;
use crate::step::{Answer, Step};

/// A message for the server, and the surroundings of its request.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) message: Message,
    pub(crate) about: Option<Box<RequestContext>>,
}

/// The machine and its two ends. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Relay {
    exchange: Arc<Mutex<Exchange>>,
    server: mpsc::UnboundedSender<Delivery>,
    bridge: Outgoing,
    limits: Limits,
    /// Cancelled when the connection is closed.
    open: CancellationToken,
}

impl Relay {
    /// The messages for the server come out of the receiver. There are few: each follows from one that was received.
    pub(crate) fn new(
        exchange: Exchange,
        (bridge, limits): (Outgoing, Limits),
        open: CancellationToken,
    ) -> (Self, mpsc::UnboundedReceiver<Delivery>) {
        let (server, receiver) = mpsc::unbounded_channel();
        (Self { exchange: Arc::new(Mutex::new(exchange)), server, bridge, limits, open }, receiver)
    }

    /// The machine. No caller holds it across an await.
    pub(crate) fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn bridge(&self) -> &Outgoing {
        &self.bridge
    }

    /// Changes the machine, and carries out the steps in the same order for all callers.
    pub(crate) fn turn(&self, change: impl FnOnce(&mut Exchange) -> Vec<Step>) {
        let mut exchange = self.exchange();
        let steps = change(&mut exchange);
        self.carry_out(steps);
    }

    /// Carries out steps. The caller holds the machine, so that no other step comes between.
    pub(crate) fn carry_out(&self, steps: Vec<Step>) {
        for step in steps {
            match step {
                // A server that has ended receives nothing.
                Step::Deliver(message, about) => drop(self.server.send(Delivery { message: *message, about })),
                Step::Send(envelope) => self.send(*envelope),
                Step::SendRaw(raw) => self.send_raw(&raw),
                Step::Later(id, answer) => self.send_later(id, answer),
            }
        }
    }

    /// Sends an answer when it is there, if the connection is still open.
    fn send_later(&self, id: String, answer: Answer) {
        let relay = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = relay.open.cancelled() => {}
                answer = answer.0 => relay.turn(|_| vec![Step::send(Envelope::new(id, answer))]),
            }
        });
    }

    fn send(&self, envelope: Envelope) {
        let mut bytes = Vec::new();
        let Err(error) = Encoder::new(self.limits.clone()).encode_envelope(&envelope, &mut bytes) else {
            return self.bridge.push(Bytes::from(bytes));
        };
        let Some(message) = envelope.msg else { return };
        tracing::error!(message = message_name(&message), %error, "a message is too large and was not sent");
        // A call must not wait for an answer that does not come.
        if let Msg::CallResult(_) = message {
            let text = format!("the result is too large for the envelope: {error}");
            let result_json = RawJson::text(&text).into_bytes();
            let response = CallToolResponse { is_error: true, result_json, ..CallToolResponse::default() };
            self.send(Envelope::new(envelope.request_id, response));
        }
    }

    fn send_raw(&self, raw: &Raw) {
        let mut head = Vec::new();
        match Encoder::new(self.limits.clone()).encode_raw_header(raw, &mut head) {
            Ok(()) => {
                self.bridge.push(Bytes::from(head));
                self.bridge.push(raw.payload.clone());
            }
            Err(error) => tracing::error!(%error, "a payload is too large and was not sent"),
        }
    }
}

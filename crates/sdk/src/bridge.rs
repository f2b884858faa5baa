//! The bridge, for all parts of the process: the machine, and the effects of its steps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use protomcp_codec::{EncodeError, Encoder, Limits, Raw};
use protomcp_envelope::{CallToolResponse, Envelope, Msg, message_name};
use protomcp_server::{AskError, RunningCall};
use protomcp_types::{Level, RawJson, RequestId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::exchange::Exchange;
use crate::handover::ToolRun;
use crate::outgoing::Outgoing;
use crate::reports::Reports;
use crate::step::{Answer, ServerCall, Step};

/// The calls that the server is to begin. There are few: each follows from a message that was received.
pub(crate) type Calls = mpsc::UnboundedReceiver<Box<ServerCall>>;

/// The machine and its two ends. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Bridge {
    exchange: Arc<Mutex<Exchange>>,
    calls: mpsc::UnboundedSender<Box<ServerCall>>,
    outgoing: Outgoing,
    reports: Arc<Reports>,
    limits: Limits,
    /// Cancelled when the connection is closed.
    open: CancellationToken,
}

impl Bridge {
    /// The calls for the server come out of the receiver.
    pub(crate) fn new(
        exchange: Exchange,
        outgoing: Outgoing,
        reports: Arc<Reports>,
        limits: Limits,
        open: CancellationToken,
    ) -> (Self, Calls) {
        let (calls, receiver) = mpsc::unbounded_channel();
        (Self { exchange: Arc::new(Mutex::new(exchange)), calls, outgoing, reports, limits, open }, receiver)
    }

    /// The machine. No caller holds it across an await.
    pub(crate) fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    /// Changes the machine, and carries out the steps in the same order for all callers.
    pub(crate) fn turn(&self, change: impl FnOnce(&mut Exchange) -> Vec<Step>) {
        let mut exchange = self.exchange();
        let steps = change(&mut exchange);
        self.carry_out(steps);
    }

    /// Like [`Bridge::turn`], for a change that may be refused.
    pub(crate) fn ask<T>(
        &self,
        change: impl FnOnce(&mut Exchange) -> Result<(T, Vec<Step>), AskError>,
    ) -> Result<T, AskError> {
        let mut exchange = self.exchange();
        let (asked, steps) = change(&mut exchange)?;
        self.carry_out(steps);
        Ok(asked)
    }

    /// Carries out steps. The caller holds the machine, so that no other step comes between.
    fn carry_out(&self, steps: Vec<Step>) {
        for step in steps {
            match step {
                // A server that has ended makes no calls.
                Step::Call(call) => drop(self.calls.send(call)),
                Step::Send(envelope) => self.send(*envelope),
                Step::SendRaw(raw) => self.send_raw(&raw),
                Step::Later(id, answer) => self.send_later(id, answer),
            }
        }
    }

    /// Sends a report of a call, or drops it if there is no slot for it.
    pub(crate) fn report(&self, make: impl FnOnce(&mut Exchange) -> Option<Envelope>) {
        let mut exchange = self.exchange();
        let Some(envelope) = make(&mut exchange) else { return };
        let Ok(bytes) = self.encode(&envelope) else { return };
        let Some(slot) = self.reports.take(bytes.len()) else { return };
        let dropped = self.reports.take_dropped();
        if dropped > 0 {
            tracing::warn!(dropped, "the bridge reads too slowly: notifications were dropped");
            let text = format!("{dropped} notifications were dropped: they came faster than they were read");
            let message = exchange.log(None, Level::Warning, Some("protomcp"), &RawJson::text(&text));
            message.into_iter().for_each(|message| self.send(message));
        }
        self.outgoing.push(bytes, Some(slot));
    }

    /// Drives a call, and sends its answer unless it is cancelled. `run` lasts until its handler has ended.
    pub(crate) async fn drive(
        self,
        id: RequestId,
        mut running: RunningCall,
        stop: CancellationToken,
        run: Option<ToolRun>,
    ) {
        let answer = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            () = self.open.cancelled() => None,
            answer = &mut running => Some(answer),
        };
        match answer {
            Some(answer) => {
                drop(run);
                self.turn(|exchange| exchange.ended(&id, answer));
            }
            None => {
                running.cancel();
                // The bridge does not wait for the answer.
                drop(running.await);
            }
        }
    }

    /// Sends an answer when it is there, if the connection is still open.
    fn send_later(&self, id: String, answer: Answer) {
        let bridge = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = bridge.open.cancelled() => {}
                answer = answer.0 => bridge.turn(|_| vec![Step::send(Envelope::new(id, answer))]),
            }
        });
    }

    fn send(&self, envelope: Envelope) {
        let error = match self.encode(&envelope) {
            Ok(bytes) => return self.outgoing.push(bytes, None),
            Err(error) => error,
        };
        // A call must not wait for an answer that does not come.
        if let Some(Msg::CallResult(_)) = envelope.msg {
            let text = format!("the result is too large for the envelope: {error}");
            let result_json = RawJson::text(&text).into_bytes();
            let response = CallToolResponse { is_error: true, result_json, ..CallToolResponse::default() };
            self.send(Envelope::new(envelope.request_id, response));
        }
    }

    fn encode(&self, envelope: &Envelope) -> Result<Bytes, EncodeError> {
        let mut bytes = Vec::new();
        let encoded = Encoder::new(self.limits.clone()).encode_envelope(envelope, &mut bytes);
        encoded.map(|()| Bytes::from(bytes)).inspect_err(|error| {
            let message = envelope.msg.as_ref().map(message_name);
            tracing::error!(message, %error, "a message is too large and was not sent");
        })
    }

    fn send_raw(&self, raw: &Raw) {
        let mut head = Vec::new();
        match Encoder::new(self.limits.clone()).encode_raw_header(raw, &mut head) {
            Ok(()) => {
                self.outgoing.push(Bytes::from(head), None);
                self.outgoing.push(raw.payload.clone(), None);
            }
            Err(error) => tracing::error!(%error, "a payload is too large and was not sent"),
        }
    }
}

//! Requests to the client: sends them, and passes on the answers, the progress and the cancellation.

use protomcp_types::{ErrorObject, JsonBuf, Method, Notification, Ping, Progress, ProgressToken, RequestId, meta};

use crate::call::client_request::{ClientRequest, OutgoingRequest};
use crate::call::ended::Reserved;
use crate::serve::drive::Driver;
use crate::serve::drive::open_question::OpenQuestion;
use crate::service::Service;
use protomcp_session::CallId;
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    pub(super) fn ask(&mut self, question: ClientRequest) -> Result<(), TransportError> {
        let ClientRequest { number, request, answer, slot, reservation } = question;
        let OutgoingRequest { during, method, mut params, progress: report } = request;
        let may_ask = match &during {
            Some(key) => self.session.is_pending(key),
            // MCP 2025-11-25, basic/lifecycle: before the handshake is complete only pings are allowed.
            None => self.session.is_ready() || self.opening.is_done && method == Ping::NAME,
        };
        // A client that has closed its end cannot answer, and at the end no answers are read. Dropping the question
        // fails it for the caller.
        let is_heard = self.connection.is_reading && self.shutdown.lets_calls_finish();
        let is_reached = during.as_ref().is_none_or(|key| self.is_deliverable(&key.id));
        if !may_ask || !is_heard || !is_reached || answer.is_closed() {
            return Ok(());
        }
        for layer in &self.server.sending {
            params = match layer.question(self.id, method, params) {
                Ok(params) => params,
                Err(error) => {
                    drop(answer.send(Err(error)));
                    return Ok(());
                }
            };
        }
        if report.is_some() {
            params = meta::with_progress_token(params, &ProgressToken::from(number));
        }
        let (call, message) = self.session.call(method, params);
        let asker = during.as_ref().map(|key| key.id.clone());
        self.open_questions.push(OpenQuestion { call, number, method, during, answer, slot, report });
        self.send_reserved(Reserved { message, reservation: Some(reservation) }, asker.as_ref())
    }

    pub(super) fn client_answered(&mut self, call: CallId, outcome: Result<JsonBuf, ErrorObject>) {
        if let Some(index) = self.open_questions.iter().position(|open| open.call == call) {
            let open = self.open_questions.swap_remove(index);
            let layers = self.server.sending.iter().rev();
            let outcome = layers.fold(outcome, |outcome, layer| layer.answered(self.id, open.method, outcome));
            // The caller may drop the question at this moment.
            drop(open.answer.send(outcome));
        }
    }

    /// The client has sent progress on a question.
    pub(super) fn client_reports(&self, notification: &Notification) {
        let Some((token, progress)) = Progress::from_notification(notification) else { return };
        let asked = |open: &&OpenQuestion| ProgressToken::from(open.number) == token;
        if let Some(report) = self.open_questions.iter().find(asked).and_then(|open| open.report.as_ref()) {
            report.progress(progress);
        }
    }

    /// Cancels a question whose answer is no longer needed.
    pub(super) fn withdraw(&mut self, number: u64) -> Result<(), TransportError> {
        match self.open_questions.iter().position(|open| open.number == number) {
            Some(index) => self.take_back(index),
            None => Ok(()),
        }
    }

    /// Cancels the questions of a request that was answered.
    pub(super) fn withdraw_all_of(&mut self, request: u64) -> Result<(), TransportError> {
        while let Some(index) =
            self.open_questions.iter().position(|open| open.during.as_ref().is_some_and(|key| key.number == request))
        {
            self.take_back(index)?;
        }
        Ok(())
    }

    /// The messages of a request can no longer reach the client: its questions have failed.
    pub(super) fn undeliverable(&mut self, request: &RequestId) -> Result<(), TransportError> {
        // It may be a later one with the same id.
        if self.is_deliverable(request) {
            return Ok(());
        }
        let is_asked = |open: &OpenQuestion| open.during.as_ref().is_some_and(|key| key.id == *request);
        while let Some(index) = self.open_questions.iter().position(is_asked) {
            self.take_back(index)?;
        }
        Ok(())
    }

    fn is_deliverable(&mut self, request: &RequestId) -> bool {
        self.connection.sink.delivery().is_none_or(|delivery| delivery.is_deliverable(request))
    }

    fn take_back(&mut self, index: usize) -> Result<(), TransportError> {
        let open = self.open_questions.swap_remove(index);
        // The question and its cancellation may not be written yet. Its slot is freed when they are, so that they
        // cannot accumulate.
        self.unsent.slots.push(open.slot);
        match self.session.abandon(open.call) {
            Some(notification) => self.send(notification, open.during.as_ref().map(|key| &key.id)),
            None => Ok(()),
        }
    }
}

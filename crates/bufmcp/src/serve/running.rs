//! The requests of a conversation that have no answer, and their reports.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use protomcp_fair::{FutureSet, Reservation};
use protomcp_session::Session;
use protomcp_types::{Level, Params};

use crate::convert::reports::log_of;
use crate::fault::Fault;
use crate::frame::FrameTooLarge;
use crate::message::mcp_message::Payload;
use crate::report::ReportFrame;
use crate::serve::call_reports::{CallReports, ReportQueue};
use crate::serve::dropped_reports::DroppedReports;
use crate::serve::shared::Shared;
use crate::session::BinarySession;
use crate::session::config::SessionConfig;
use crate::session::inbound::BinaryCall;

/// The outcome of a request, by its id.
pub(super) type Answered = (u64, Result<Result<Payload, Fault>, Aborted>);

/// The requests without an answer.
#[derive(Default)]
pub(super) struct Running {
    pub(super) answers: FutureSet<BoxFuture<'static, Answered>>,
    aborts: HashMap<u64, AbortHandle>,
    /// Only of a client that takes reports.
    pub(super) reports: Option<Arc<ReportQueue>>,
    /// The least severe level of log messages that a call of the client has asked for.
    least: Option<Level>,
    pub(super) dropped: DroppedReports,
}

impl Running {
    pub(super) fn begin(&mut self, id: u64, answer: impl Future<Output = Result<Payload, Fault>> + Send + 'static) {
        let (abort, registration) = AbortHandle::new_pair();
        self.aborts.insert(id, abort);
        // An async block would hold the answer twice.
        self.answers.push(Box::pin(Abortable::new(answer, registration).map(move |outcome| (id, outcome))));
    }

    /// The request with this id has its answer, or is about to have it: its reports have no effect from here on.
    pub(super) fn end(&mut self, id: u64) -> Option<AbortHandle> {
        if let Some(reports) = &self.reports {
            reports.end(id);
        }
        self.aborts.remove(&id)
    }

    /// Drops the work on a request that has its answer.
    pub(super) fn abort(&mut self, id: u64) {
        self.end(id).iter().for_each(AbortHandle::abort);
    }

    /// The client takes reports. Their bytes count in this empty reservation.
    pub(super) fn stream(&mut self, config: Arc<SessionConfig>, reservation: Option<Reservation>) {
        self.reports = Some(ReportQueue::new(config, reservation));
    }

    /// The way for the reports of a request; `None`: its client wants none.
    pub(super) fn reports_of(&self, id: u64, call: &BinaryCall) -> Option<Arc<CallReports>> {
        match (&self.reports, call) {
            (Some(reports), BinaryCall::CallTool(request)) => reports.begin(id, request),
            _ => None,
        }
    }

    /// Notes that a call wants log messages of this level. Returns true if it is less severe than the level so far.
    pub(super) fn lowers(&mut self, least: Level) -> bool {
        let before = self.least.unwrap_or(Session::INITIAL_LEVEL);
        self.least = Some(self.least.map_or(least, |known| known.min(least)));
        least < before
    }

    /// The frame of a log message that belongs to no call; `None`: no call has asked for log messages of its level.
    pub(super) fn log_of(&self, params: &Params, shared: &Shared) -> Option<Result<ReportFrame, FrameTooLarge>> {
        let (level, logger, data) = log_of(params)?;
        let is_wanted = self.least.is_some_and(|least| level >= least);
        is_wanted.then(|| shared.logs.frame(level, logger.as_deref(), data, &shared.session.frames))
    }

    /// Passes the reports on that have arrived.
    pub(super) fn pass_reports(&self, session: &mut BinarySession) {
        let Some(reports) = &self.reports else { return };
        let (arrived, dropped) = reports.drain();
        session.add_dropped_reports(dropped);
        for (id, report) in arrived {
            session.pass(id, report);
        }
    }
}

impl Drop for Running {
    /// Handlers may work a while after the conversation.
    fn drop(&mut self) {
        if let Some(reports) = &self.reports {
            reports.close();
        }
    }
}

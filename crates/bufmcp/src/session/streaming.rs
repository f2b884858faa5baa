//! Reports of calls that run, and their cancellation, for clients that have set `supports_streaming`.

use crate::code;
use crate::fault::Fault;
use crate::frame::FrameTooLarge;
use crate::report::{CallReport, ReportFrame};
use crate::session::inbound::BinaryInbound;
use crate::session::request_kind::RequestKind;
use crate::session::{BinarySession, State};

impl BinarySession {
    /// Reports on a tool call. A log message that belongs to no call has the id 0. Returns true if the report is sent, or
    /// waits until the client reads. It is refused, and the client learns nothing of it, if no call with this id waits for
    /// its answer, if the two sides have not agreed on streaming or the conversation is over, if progress does not
    /// grow, and for a log message of a server without them.
    ///
    /// Answers pass the reports that wait; the reports of the answered call are sent in front of its answer. At most 1,024
    /// log messages and 16 MiB wait, and newer ones are dropped and counted. The caller sends what the client has asked for:
    /// `CallToolRequest.wants_progress` and `log_level`.
    ///
    /// # Errors
    /// If the frame is larger than the limit.
    pub fn report(&mut self, id: u64, report: CallReport) -> Result<bool, FrameTooLarge> {
        let report = report.into_frame(id, &self.config.frames)?;
        Ok(self.pass(id, report))
    }

    /// Like [`BinarySession::report`], with a frame.
    pub(crate) fn pass(&mut self, id: u64, report: ReportFrame) -> bool {
        let is_log = report.progress.is_none();
        let is_unknown = is_log && !self.config.features.streaming.has_logs();
        if !self.streams() || is_unknown || self.state == State::Closed {
            return false;
        }
        if id == 0 && is_log {
            return self.outbound.reports.push(id, report);
        }
        let call = self.in_flight.get_mut(id).filter(|entry| entry.kind == RequestKind::CallTool);
        let Some(entry) = call else { return false };
        let Some(progress) = report.progress else { return self.outbound.reports.push(id, report) };
        let grows = progress.is_finite() && entry.reached.is_none_or(|reached| progress > reached);
        let is_kept = grows && self.outbound.reports.push(id, report);
        if is_kept {
            entry.reached = Some(progress);
        }
        is_kept
    }

    /// Cancels a request: its answer is an error. Without effect if there is none, or its answer is on its way.
    pub(super) fn cancel(&mut self, id: u64) -> Option<BinaryInbound> {
        let entry = self.in_flight.remove(id)?;
        self.outbound.reports.forget(id);
        self.fail(id, entry.kind, &Fault::new(code::CANCELLED, "the request was cancelled"));
        self.settle();
        Some(BinaryInbound::Cancelled(id))
    }

    /// The number of reports that were dropped since the last time, because the client does not read them.
    pub(crate) fn take_dropped_reports(&mut self) -> usize {
        self.outbound.reports.take_dropped()
    }

    /// Counts reports that were dropped on their way to the session.
    pub(crate) fn add_dropped_reports(&mut self, dropped: usize) {
        self.outbound.reports.add_dropped(dropped);
    }

    /// Drops all reports that the client has not read, for want of memory.
    pub(crate) fn drop_reports(&mut self) {
        self.outbound.drop_reports();
    }

    /// True if both sides have set `supports_streaming`.
    pub(super) fn streams(&self) -> bool {
        self.declared().streaming
    }
}

//! The way of the reports of running calls to the task of their conversation, or to the stream of one call.
//!
//! It exists for clients that have agreed on streaming; for calls whose client wants reports it is their [`Outlet`].

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_fair::Reservation;
use protomcp_server::{CallInfo, Outlet};
use protomcp_types::{Level, Notification, Progress, ProgressToken, RawJson, method};
use tokio::sync::Notify;

use crate::convert::reports::{level_from_proto, log_of, log_to_proto, progress_to_proto};
use crate::message::{CallToolRequest, LogLevel};
use crate::report::{CallReport, ReportFrame};
use crate::serve::account::hold;
use crate::session::config::SessionConfig;
use crate::session::reports::Reports;

/// The reports that the task of a conversation has not taken.
#[derive(Debug)]
pub(super) struct ReportQueue {
    config: Arc<SessionConfig>,
    queued: Mutex<Queued>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Queued {
    /// The calls that may report, by id, with their numbers: an id is used again after the answer.
    open: HashMap<u64, u64>,
    last: u64,
    reports: Reports,
    /// The bytes of the reports in the budget that all connections share; `None`: they do not count.
    reservation: Option<Reservation>,
}

/// The way back to the client of a call that wants reports. There are no messages for questions.
#[derive(Debug)]
pub(in crate::serve) struct CallReports {
    queue: Arc<ReportQueue>,
    id: u64,
    number: u64,
    wants_progress: bool,
    /// The least severe level of log messages that the client wants; `None`: it wants none.
    pub(super) least: Option<Level>,
}

impl ReportQueue {
    /// A queue without reports. Their bytes count in this empty reservation.
    pub(super) fn new(config: Arc<SessionConfig>, reservation: Option<Reservation>) -> Arc<Self> {
        let queued = Mutex::new(Queued { reservation, ..Queued::default() });
        Arc::new(Self { config, queued, arrived: Notify::new() })
    }

    /// The way for the reports of a call; `None`: the client wants none that the server has. A level that is not known
    /// means all log messages.
    pub(super) fn begin(self: &Arc<Self>, id: u64, request: &CallToolRequest) -> Option<Arc<CallReports>> {
        let CallToolRequest { wants_progress, log_level, .. } = *request;
        let wants_logs = log_level != LogLevel::Unspecified as i32 && self.config.features.streaming.has_logs();
        if !wants_progress && !wants_logs {
            return None;
        }
        let least = wants_logs.then(|| level_from_proto(log_level).unwrap_or(Level::Debug));
        let mut queued = self.lock();
        queued.last += 1;
        let number = queued.last;
        queued.open.insert(id, number);
        Some(Arc::new(CallReports { queue: Arc::clone(self), id, number, wants_progress, least }))
    }

    /// The call with this id has its answer: reports of it have no effect from here on.
    pub(super) fn end(&self, id: u64) {
        let mut queued = self.lock();
        if queued.open.remove(&id).is_some() {
            queued.reports.forget(id);
            queued.hold(0);
        }
    }

    /// The conversation is over: reports have no effect from here on.
    pub(super) fn close(&self) {
        let mut queued = self.lock();
        queued.open.clear();
        queued.reports = Reports::default();
        queued.hold(0);
    }

    /// All reports that have arrived, and the number of those that were dropped.
    pub(super) fn drain(&self) -> (VecDeque<(u64, ReportFrame)>, usize) {
        let mut queued = self.lock();
        let (reports, dropped) = (queued.reports.drain(), queued.reports.take_dropped());
        queued.hold(0);
        (reports, dropped)
    }

    /// The oldest report that has arrived.
    pub(super) fn pop(&self) -> Option<Vec<u8>> {
        let mut queued = self.lock();
        let report = queued.reports.pop();
        queued.hold(0);
        report
    }

    /// The number of reports that were dropped since the last time.
    pub(super) fn take_dropped(&self) -> usize {
        self.lock().reports.take_dropped()
    }

    /// Waits until reports arrive. Cancel safe.
    pub(super) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Queued> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queued {
    /// Takes a report, or drops and counts it without room.
    fn push(&mut self, id: u64, report: ReportFrame) {
        if self.hold(report.frame.len()) {
            self.reports.push(id, report);
            self.hold(0);
        } else {
            self.reports.add_dropped(1);
        }
    }

    /// Makes the reservation one of the reports and this many more bytes. Returns false without room for them.
    fn hold(&mut self, more: usize) -> bool {
        let bytes = self.reports.bytes() + more;
        self.reservation.as_mut().is_none_or(|reservation| hold(reservation, bytes).is_ok())
    }
}

impl CallReports {
    /// The token of the call for progress, if the client wants any. It never leaves this process.
    pub(super) fn progress_token(&self) -> Option<ProgressToken> {
        self.wants_progress.then(|| ProgressToken::from(self.number))
    }

    /// Sends the report in a notification of MCP, which is one that the client wants.
    pub(super) fn notified(&self, notification: &Notification) {
        let report = if notification.method == method::PROGRESS {
            Progress::from_notification(notification)
                .and_then(|(_, progress)| progress_to_proto(&progress))
                .map(CallReport::Progress)
        } else if notification.method == method::LOG {
            log_of(&notification.params)
                .map(|(level, logger, data)| CallReport::Log(log_to_proto(level, logger.as_deref(), data)))
        } else {
            None
        };
        if let Some(report) = report {
            self.send(report);
        }
    }

    fn send(&self, report: CallReport) {
        let frame = report.into_frame(self.id, &self.queue.config.frames);
        let mut queued = self.queue.lock();
        if queued.open.get(&self.id) != Some(&self.number) {
            return;
        }
        match frame {
            Ok(frame) => queued.push(self.id, frame),
            Err(_) => queued.reports.add_dropped(1),
        }
        drop(queued);
        self.queue.arrived.notify_one();
    }
}

impl Outlet for CallReports {
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool {
        let Some(report) = info.progress_token().and_then(|_| progress_to_proto(progress)) else { return false };
        self.send(CallReport::Progress(report));
        true
    }

    fn send_log(&self, _: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson) {
        if self.least.is_some_and(|least| level >= least) {
            self.send(CallReport::Log(log_to_proto(level, logger, data)));
        }
    }
}

#[cfg(test)]
mod tests {
    use protomcp_fair::{Budget, Owner};

    use super::*;
    use crate::message::CallProgress;
    use crate::serve::running::Running;
    use crate::session::config::Streaming;
    use crate::session::inbound::BinaryCall;

    fn progress(value: f64) -> CallReport {
        CallReport::Progress(CallProgress { progress: value, ..CallProgress::default() })
    }

    fn with(streaming: Streaming) -> SessionConfig {
        let mut config = SessionConfig::new("tests", "1.0");
        config.features.streaming = streaming;
        config
    }

    #[test]
    fn a_server_without_logging_logs_in_no_call() {
        let queue = ReportQueue::new(Arc::new(with(Streaming::Progress)), None);
        let logs = CallToolRequest { log_level: LogLevel::Debug as i32, ..CallToolRequest::default() };
        assert!(queue.begin(1, &logs).is_none());
        let both = CallToolRequest { wants_progress: true, ..logs };
        assert_eq!(queue.begin(1, &both).unwrap().least, None);
    }

    #[tokio::test]
    async fn reports_belong_to_one_call_of_an_id() {
        let queue = ReportQueue::new(Arc::new(with(Streaming::ProgressAndLogs)), None);
        assert!(queue.begin(7, &CallToolRequest::default()).is_none());
        let wanted = CallToolRequest { wants_progress: true, log_level: 99, ..CallToolRequest::default() };
        let first = queue.begin(7, &wanted).unwrap();
        assert_eq!(first.least, Some(Level::Debug));
        first.send(progress(1.0));
        queue.arrived().await;
        assert_eq!(queue.drain().0.len(), 1);
        first.send(progress(2.0));
        queue.end(7);
        let second = queue.begin(7, &wanted).unwrap();
        first.send(progress(3.0));
        second.send(progress(1.0));
        let (reports, dropped) = queue.drain();
        assert_eq!((reports.len(), reports[0].1.progress, dropped), (1, Some(1.0), 0));
    }

    #[test]
    fn a_report_that_is_too_large_is_counted() {
        let mut config = SessionConfig::new("tests", "1.0");
        config.frames.max_frame = 100;
        let queue = ReportQueue::new(Arc::new(config), None);
        let wanted = CallToolRequest { wants_progress: true, ..CallToolRequest::default() };
        let call = queue.begin(1, &wanted).unwrap();
        call.send(CallReport::Progress(CallProgress { message: "x".repeat(200), ..CallProgress::default() }));
        assert_eq!((queue.drain().1, queue.drain().1), (1, 0));
    }

    /// A report of this many bytes, and a few more.
    fn large(bytes: usize) -> CallReport {
        CallReport::Progress(CallProgress { message: "x".repeat(bytes), ..CallProgress::default() })
    }

    #[test]
    fn reports_count_in_the_budget_of_all_connections() {
        let budget = Budget::new(100 << 10);
        let config = Arc::new(SessionConfig::new("tests", "1.0"));
        let queue = ReportQueue::new(config, Some(budget.empty(&Owner::Local)));
        let wanted = CallToolRequest { wants_progress: true, ..CallToolRequest::default() };
        let (one, other) = (queue.begin(1, &wanted).unwrap(), queue.begin(2, &wanted).unwrap());
        one.send(large(60 << 10));
        let taken = budget.taken();
        assert!(taken >= (60 - 16) << 10, "{taken}");
        other.send(large(60 << 10));
        assert_eq!(budget.taken(), taken, "there is no room for both");
        assert_eq!((queue.drain().1, budget.taken()), (1, 0));
        let ends: [fn(&ReportQueue, u64); 2] = [ReportQueue::end, |queue, _| queue.close()];
        for end in ends {
            let call = queue.begin(3, &wanted).unwrap();
            call.send(large(60 << 10));
            assert_eq!(budget.taken(), taken);
            end(&queue, 3);
            assert_eq!((budget.taken(), queue.drain().0.len()), (0, 0));
        }
    }

    #[test]
    fn reports_have_no_effect_after_the_conversation() {
        let mut running = Running::default();
        running.stream(Arc::new(SessionConfig::new("tests", "1.0")), None);
        let wanted = CallToolRequest { wants_progress: true, ..CallToolRequest::default() };
        let call = running.reports_of(1, &BinaryCall::CallTool(wanted)).unwrap();
        call.send(progress(1.0));
        drop(running);
        call.send(progress(2.0));
        assert_eq!(call.queue.drain().0.len(), 0);
    }
}

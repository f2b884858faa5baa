//! A tool call without a conversation, as a stream: its reports, and its answer at the end.

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinSet;

use crate::code;
use crate::fault::Fault;
use crate::message::CallToolRequest;
use crate::raw_message::RawMessage;
use crate::serve::account::Account;
use crate::serve::call_reports::ReportQueue;
use crate::serve::dropped_reports::DroppedReports;
use crate::serve::endpoint::{BinaryAnswer, BinaryCaller, BinaryEndpoint};
use crate::session::config::Streaming;
use crate::session::inbound::BinaryCall;
use crate::session::request_kind::RequestKind;
use crate::stream::now;

/// An event of a tool call without a conversation.
#[derive(Debug)]
pub enum BinaryCallEvent {
    /// A report that the request has asked for: a `CallProgress` (101) or a `CallLog` (103).
    Report(RawMessage),
    /// The answer. No event follows.
    Answer(BinaryAnswer),
}

/// The events of a tool call without a conversation. Dropping them before the answer cancels the call.
///
/// The call goes on while they are not taken: then the newest progress replaces the last one, and log messages beyond
/// 1,024 or 16 MiB are dropped, which the log counts. The answer stays.
#[derive(Debug)]
pub struct BinaryCallEvents {
    reports: Arc<ReportQueue>,
    /// The call, which ends with the set.
    call: JoinSet<BinaryAnswer>,
    answer: Option<BinaryAnswer>,
    dropped: DroppedReports,
}

impl BinaryEndpoint {
    /// Calls a tool like [`BinaryEndpoint::answer`], with the reports that the request asks for: `wants_progress` and
    /// `log_level`. The call runs in its own task. Must be called inside a tokio runtime with timers.
    #[must_use]
    pub fn call_tool(&self, request: CallToolRequest, caller: BinaryCaller) -> BinaryCallEvents {
        let reservation = Account::open(self.handle(), &caller.peer).map(|account| account.outbound);
        let reports = ReportQueue::new(Arc::clone(&self.shared.session), reservation);
        let streams = self.config().features.streaming != Streaming::Unsupported;
        let way = if streams { reports.begin(ID, &request) } else { None };
        let endpoint = self.clone();
        let mut call = JoinSet::new();
        call.spawn(async move { endpoint.answer_with(BinaryCall::CallTool(request), caller, way).await });
        BinaryCallEvents { reports, call, answer: None, dropped: DroppedReports::default() }
    }
}

impl BinaryCallEvents {
    /// The next event; `None` after the answer. Cancel safe.
    pub async fn next(&mut self) -> Option<BinaryCallEvent> {
        loop {
            self.dropped.add(now, self.reports.take_dropped());
            if let Some(frame) = self.reports.pop() {
                match RawMessage::split(&Bytes::from(frame).slice(PREFIX..)) {
                    Some(report) => return Some(BinaryCallEvent::Report(report)),
                    None => continue,
                }
            }
            if let Some(answer) = self.answer.take() {
                self.reports.close();
                return Some(BinaryCallEvent::Answer(answer));
            }
            tokio::select! {
                ended = self.call.join_next() => self.answer = Some(ended?.unwrap_or_else(|_| lost())),
                () = self.reports.arrived() => {}
            }
        }
    }
}

/// The answer to a call whose task has panicked, or ends with the runtime.
fn lost() -> BinaryAnswer {
    let fault = Fault::new(code::INTERNAL_ERROR, "internal error");
    BinaryAnswer { outcome: Ok(RequestKind::CallTool.failure(&fault)), reservations: Vec::new() }
}

/// The id of the call in its reports.
const ID: u64 = 1;

/// The bytes of a length prefix.
const PREFIX: usize = 4;

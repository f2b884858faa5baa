//! The frames that a client has not read: messages in their order, and the reports of calls within bounds.

use std::collections::VecDeque;

use crate::report::ReportFrame;
use crate::session::reports::Reports;

/// The frames that the client has not read.
#[derive(Debug, Default)]
pub(super) struct Outbound {
    frames: VecDeque<Frame>,
    /// The number of messages among them.
    messages: usize,
    /// The bytes of these messages.
    message_bytes: usize,
    /// The reports of running calls, which wait until there are no other frames.
    pub(super) reports: Reports,
}

#[derive(Debug)]
enum Frame {
    Message(Vec<u8>),
    /// In front of the answer of its call. It counts among the reports until it is sent.
    Report(ReportFrame),
}

impl Outbound {
    /// Adds a message.
    pub(super) fn push(&mut self, message: Vec<u8>) {
        self.messages += 1;
        self.message_bytes += message.len();
        self.frames.push_back(Frame::Message(message));
    }

    /// Puts the reports of a call in front of its answer, which is the next message.
    pub(super) fn flush_reports(&mut self, id: u64) {
        self.frames.extend(self.reports.take_of(id).into_iter().map(Frame::Report));
    }

    /// The next frame.
    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        match self.frames.pop_front() {
            Some(Frame::Message(message)) => {
                self.messages -= 1;
                self.message_bytes -= message.len();
                Some(message)
            }
            Some(Frame::Report(report)) => {
                self.reports.release(&report);
                Some(report.frame)
            }
            None => self.reports.pop(),
        }
    }

    /// The number of messages. Reports are not among them: they keep no request out.
    pub(super) fn messages(&self) -> usize {
        self.messages
    }

    /// The bytes of all frames.
    pub(super) fn bytes(&self) -> usize {
        self.message_bytes + self.reports.bytes()
    }

    /// Drops all reports, for want of memory.
    pub(super) fn drop_reports(&mut self) {
        let Self { frames, reports, .. } = self;
        frames.retain(|frame| match frame {
            Frame::Message(_) => true,
            Frame::Report(report) => {
                reports.release(report);
                reports.add_dropped(1);
                false
            }
        });
        reports.drop_waiting();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(bytes: usize) -> ReportFrame {
        ReportFrame { progress: None, frame: vec![1; bytes] }
    }

    /// Two answers of which the second has two reports in front of it, and a report that waits.
    fn outbound() -> Outbound {
        let mut outbound = Outbound::default();
        outbound.push(vec![0; 100]);
        for (id, bytes) in [(1, 10), (1, 20), (2, 30)] {
            assert!(outbound.reports.push(id, log(bytes)));
        }
        outbound.flush_reports(1);
        outbound.push(vec![0; 200]);
        outbound
    }

    fn lengths(outbound: &mut Outbound) -> Vec<usize> {
        std::iter::from_fn(|| outbound.pop()).map(|frame| frame.len()).collect()
    }

    #[test]
    fn reports_are_in_front_of_their_answer_or_last() {
        let mut outbound = outbound();
        assert_eq!((outbound.messages(), outbound.bytes()), (2, 360));
        assert_eq!(lengths(&mut outbound), [100, 10, 20, 200, 30]);
        assert_eq!((outbound.messages(), outbound.bytes(), outbound.reports.take_dropped()), (0, 0, 0));
    }

    #[test]
    fn all_reports_are_dropped_for_want_of_memory() {
        let mut outbound = outbound();
        outbound.drop_reports();
        assert_eq!((outbound.messages(), outbound.bytes(), outbound.reports.take_dropped()), (2, 300, 3));
        assert_eq!(lengths(&mut outbound), [100, 200]);
        assert!(outbound.reports.push(3, log(10)));
        assert_eq!(outbound.bytes(), 10);
    }
}

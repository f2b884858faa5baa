//! The reports of running calls that wait to be sent, within bounds.

use std::collections::VecDeque;

use crate::report::ReportFrame;

/// The reports that wait, the oldest first. Those that were taken for the answer of their call count until they are
/// [released](Reports::release).
#[derive(Debug, Default)]
pub(crate) struct Reports {
    waiting: VecDeque<(u64, ReportFrame)>,
    /// The bytes of all that count.
    bytes: usize,
    /// The log messages among them.
    logs: usize,
    /// The reports for which there was no room.
    dropped: usize,
}

impl Reports {
    /// Takes a report on the call with this id. If many wait, progress replaces the last one of its call. Returns false
    /// without room: the report is dropped and counted.
    pub(crate) fn push(&mut self, id: u64, report: ReportFrame) -> bool {
        let is_log = report.progress.is_none();
        let replaced = if is_log || self.waiting.len() < MAX_EACH_PROGRESS { None } else { self.last_progress(id) };
        let freed = replaced.map_or(0, |at| self.waiting[at].1.frame.len());
        let bytes = self.bytes - freed + report.frame.len();
        if bytes > MAX_BYTES || (is_log && self.logs >= MAX_LOGS) {
            self.dropped += 1;
            return false;
        }
        self.bytes = bytes;
        self.logs += usize::from(is_log);
        match replaced {
            Some(at) => self.waiting[at].1 = report,
            None => self.waiting.push_back((id, report)),
        }
        true
    }

    fn last_progress(&self, id: u64) -> Option<usize> {
        self.waiting.iter().rposition(|(of, report)| *of == id && report.progress.is_some())
    }

    /// The oldest report. It counts no longer.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let (_, report) = self.waiting.pop_front()?;
        self.release(&report);
        Some(report.frame)
    }

    /// The reports of a call, which count until they are released.
    pub(crate) fn take_of(&mut self, id: u64) -> Vec<ReportFrame> {
        let mut taken = Vec::new();
        if self.waiting.iter().any(|(of, _)| *of == id) {
            for (of, report) in std::mem::take(&mut self.waiting) {
                if of == id {
                    taken.push(report);
                } else {
                    self.waiting.push_back((of, report));
                }
            }
        }
        taken
    }

    /// A report that was taken is on its way.
    pub(crate) fn release(&mut self, report: &ReportFrame) {
        self.bytes -= report.frame.len();
        self.logs -= usize::from(report.progress.is_none());
    }

    /// Forgets the reports of a call of which the client wants to know no more.
    pub(crate) fn forget(&mut self, id: u64) {
        for report in self.take_of(id) {
            self.release(&report);
        }
    }

    /// Drops all that wait, for want of memory.
    pub(crate) fn drop_waiting(&mut self) {
        self.dropped += self.waiting.len();
        while self.pop().is_some() {}
    }

    /// All that wait. They count no longer.
    pub(crate) fn drain(&mut self) -> VecDeque<(u64, ReportFrame)> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.iter().for_each(|(_, report)| self.release(report));
        waiting
    }

    /// The bytes of those that wait and those that are not released.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of reports that were dropped since the last time.
    pub(crate) fn take_dropped(&mut self) -> usize {
        std::mem::take(&mut self.dropped)
    }

    /// Counts reports that were dropped elsewhere.
    pub(crate) fn add_dropped(&mut self, dropped: usize) {
        self.dropped += dropped;
    }
}

/// The most reports that wait while progress is added. With more, the newest progress of a call replaces the last one.
const MAX_EACH_PROGRESS: usize = 64;

/// The most log messages of a conversation that wait.
const MAX_LOGS: usize = 1024;

/// The most bytes of reports of a conversation that wait.
const MAX_BYTES: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(value: f64) -> ReportFrame {
        ReportFrame { progress: Some(value), frame: vec![0; 8] }
    }

    fn log(bytes: usize) -> ReportFrame {
        ReportFrame { progress: None, frame: vec![1; bytes] }
    }

    fn values(reports: &mut Reports, id: u64) -> Vec<Option<f64>> {
        reports.take_of(id).iter().map(|report| report.progress).collect()
    }

    #[test]
    fn the_newest_progress_of_a_call_replaces_the_last_one() {
        let mut reports = Reports::default();
        for step in 0..200_u32 {
            assert!(reports.push(7, progress(step.into())));
        }
        assert!(reports.push(8, progress(1.0)) && reports.push(8, progress(2.0)));
        assert_eq!(values(&mut reports, 8), [Some(2.0)]);
        let kept = values(&mut reports, 7);
        assert_eq!((kept.len(), kept[62], kept[63]), (64, Some(62.0), Some(199.0)));
        assert_eq!(reports.take_dropped(), 0);
    }

    #[test]
    fn logs_are_bounded_in_number_and_bytes() {
        let mut reports = Reports::default();
        for _ in 0..MAX_LOGS {
            assert!(reports.push(1, log(10)));
        }
        assert!(!reports.push(1, log(10)), "the newest is dropped");
        assert!(reports.push(1, progress(1.0)), "progress has its own room");
        assert_eq!((reports.take_dropped(), reports.take_dropped()), (1, 0));
        let mut reports = Reports::default();
        assert!(reports.push(1, log(MAX_BYTES - 8)) && reports.push(2, progress(1.0)));
        assert!(!reports.push(1, log(1)) && !reports.push(2, progress(2.0)));
        assert_eq!((reports.take_dropped(), reports.bytes()), (2, MAX_BYTES));
        reports.drop_waiting();
        assert_eq!((reports.take_dropped(), reports.bytes()), (2, 0));
    }

    #[test]
    fn reports_that_were_taken_count_until_they_are_sent() {
        let mut reports = Reports::default();
        assert!(reports.push(1, log(10)) && reports.push(2, log(20)) && reports.push(1, progress(1.0)));
        let taken = reports.take_of(1);
        assert_eq!((taken.len(), reports.bytes()), (2, 38));
        taken.iter().for_each(|report| reports.release(report));
        assert_eq!(reports.bytes(), 20);
        reports.forget(1);
        assert_eq!(reports.pop().map(|frame| frame.len()), Some(20));
        assert!(reports.pop().is_none() && reports.bytes() == 0);
        assert!(reports.push(3, log(5)));
        assert_eq!((reports.drain().len(), reports.bytes()), (1, 0));
    }
}

//! The bounds of progress and log messages of calls, which no request of the bridge bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use protomcp_server::{Budget, Limits, Owner, Reservation, ServerHandle};

/// The slots of reports that are not written: [`Limits::max_notices`] at most, and no further one at
/// [`Limits::max_notice_bytes`]. Their bytes also count in [`Limits::max_outbound_bytes`].
#[derive(Debug)]
pub(crate) struct Reports {
    limits: Limits,
    outbound: Budget,
    count: AtomicUsize,
    bytes: AtomicUsize,
    /// Reports that found no slot since [`Reports::take_dropped`] was last called.
    dropped: AtomicUsize,
}

/// The slot of one report, until it is written.
#[derive(Debug)]
pub(crate) struct ReportSlot {
    reports: Arc<Reports>,
    bytes: usize,
    reservation: Option<Reservation>,
}

impl Reports {
    pub(crate) fn new(sessions: &ServerHandle) -> Arc<Self> {
        Arc::new(Self {
            limits: *sessions.limits(),
            outbound: sessions.outbound_budget().clone(),
            count: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
        })
    }

    /// A slot for a report; `None`: there is none, and the report is dropped.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<ReportSlot> {
        let others = self.count.fetch_add(1, Ordering::Relaxed);
        let other_bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // From here on it gives back what it has taken.
        let mut slot = ReportSlot { reports: Arc::clone(self), bytes, reservation: None };
        if others < self.limits.max_notices && other_bytes < self.limits.max_notice_bytes {
            slot.reservation = self.outbound.reserve(&Owner::Local, bytes + Limits::MESSAGE_OVERHEAD).ok();
        }
        if slot.reservation.is_none() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(slot)
    }

    /// The number of dropped reports since the last call.
    pub(crate) fn take_dropped(&self) -> usize {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}

impl Drop for ReportSlot {
    fn drop(&mut self) {
        self.reports.count.fetch_sub(1, Ordering::Relaxed);
        self.reports.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

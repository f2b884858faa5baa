//! The contract of buses: it holds for one that delivers immediately, and finds the faults of others.

use std::panic::catch_unwind;
use std::sync::{Arc, Weak};

use protomcp_server::contract::notice_bus;
use protomcp_server::{Audience, LocalNotices, NodeId, NoticeBus, NoticeReceiver, NoticeRecord, SessionNotice};
use protomcp_testing::run_paused;

use super::notices::Shared;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// None.
    No,
    /// A sender gets its own notices.
    Echoes,
    /// One receiver of a process gets all of them.
    KnowsOneReceiver,
    /// Everyone gets the notices for an owner.
    IgnoresAudiences,
    /// Notices of tasks are not sent.
    DropsTasks,
}

#[derive(Debug)]
struct Faulty {
    node: NodeId,
    shared: Arc<Shared>,
    fault: Fault,
}

impl NoticeBus for Faulty {
    fn notify(&self, audience: Audience, notice: SessionNotice<'_>) {
        let is_owner = matches!(audience, Audience::Owner(_));
        let audience = if is_owner && self.fault == Fault::IgnoresAudiences { Audience::Everyone } else { audience };
        let Some(record) = NoticeRecord::of(&audience, notice) else { return };
        if self.fault == Fault::DropsTasks && matches!(notice, SessionNotice::TaskChanged(_)) {
            return;
        }
        let receivers = self.shared.receivers(|node| *node != self.node || self.fault == Fault::Echoes);
        let count = if self.fault == Fault::KnowsOneReceiver { 1 } else { receivers.len() };
        for receiver in &receivers[..count] {
            record.deliver_to(&**receiver);
        }
    }

    fn subscribe(&self, receiver: Weak<dyn NoticeReceiver>) {
        self.shared.subscribe(&self.node, receiver);
    }
}

async fn check(fault: Fault) {
    let shared = Arc::new(Shared::default());
    let bus = |node: &str| Faulty { node: NodeId::new(node), shared: Arc::clone(&shared), fault };
    notice_bus(&bus("a"), &bus("b")).await;
}

#[test]
fn a_bus_keeps_the_contract() {
    run_paused(check(Fault::No));
}

#[test]
fn the_contract_finds_each_fault_of_a_bus() {
    for fault in [Fault::Echoes, Fault::KnowsOneReceiver, Fault::IgnoresAudiences, Fault::DropsTasks] {
        let checked = catch_unwind(|| run_paused(check(fault)));
        assert!(checked.is_err(), "{fault:?} is not found");
    }
    let checked = catch_unwind(|| run_paused(notice_bus(&LocalNotices, &LocalNotices)));
    assert!(checked.is_err(), "notices that are not carried are not found");
}

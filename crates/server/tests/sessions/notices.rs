//! A bus of the tests: two servers share it, and it carries notices between them as text.

use std::sync::{Arc, Mutex, Weak};

use protomcp_server::{
    Audience, Limits, NodeId, NoticeBus, NoticeReceiver, NoticeRecord, Owner, RequestStateKeys, ServerHandle,
    ServerInfo, SessionNotice, Stores,
};
use protomcp_testing::run_paused;
use protomcp_types::{Level, RawJson};

use super::transcript::Stage;

/// The servers of all processes, and the notices that they have sent.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    receivers: Mutex<Vec<(NodeId, Weak<dyn NoticeReceiver>)>>,
    sent: Mutex<Vec<String>>,
}

impl Shared {
    pub(crate) fn subscribe(&self, node: &NodeId, receiver: Weak<dyn NoticeReceiver>) {
        self.receivers.lock().unwrap().push((node.clone(), receiver));
    }

    /// The receivers of a process that are left.
    pub(crate) fn receivers(&self, is_meant: impl Fn(&NodeId) -> bool) -> Vec<Arc<dyn NoticeReceiver>> {
        let receivers = self.receivers.lock().unwrap();
        receivers.iter().filter(|(node, _)| is_meant(node)).filter_map(|(_, receiver)| receiver.upgrade()).collect()
    }

    /// The notices that were sent since the last call.
    fn take_sent(&self) -> Vec<String> {
        std::mem::take(&mut *self.sent.lock().unwrap())
    }
}

/// The bus of one server.
#[derive(Debug)]
struct Bus {
    node: NodeId,
    shared: Arc<Shared>,
}

impl NoticeBus for Bus {
    fn notify(&self, audience: Audience, notice: SessionNotice<'_>) {
        let Some(record) = NoticeRecord::of(&audience, notice) else { return };
        let text = record.to_json().into_raw();
        self.shared.sent.lock().unwrap().push(text.as_str().to_owned());
        let read = NoticeRecord::from_json(&text).expect("it was written as a record");
        for receiver in self.shared.receivers(|node| *node != self.node) {
            read.deliver_to(&*receiver);
        }
    }

    fn subscribe(&self, receiver: Weak<dyn NoticeReceiver>) {
        self.shared.subscribe(&self.node, receiver);
    }
}

fn stores(name: &str, shared: &Arc<Shared>) -> Stores {
    let node = NodeId::new(name);
    Stores::new(node.clone()).with_notices(Arc::new(Bus { node, shared: Arc::clone(shared) }))
}

fn keys() -> RequestStateKeys {
    RequestStateKeys::shared([[1; 32]])
}

/// Two servers that share a bus.
fn servers() -> (Arc<Shared>, Stage, Stage) {
    let shared = Arc::new(Shared::default());
    let server = |name: &str| Stage::with_stores(Limits::default(), keys(), stores(name, &shared));
    let (a, b) = (server("a"), server("b"));
    (shared, a, b)
}

const TOOLS_CHANGED: &str = r#"← {"method":"notifications/tools/list_changed"}"#;
const UPDATED: &str = r#"← {"method":"notifications/resources/updated","params":{"uri":"file:///known"}}"#;

#[test]
fn sessions_of_another_server_are_notified_as_well() {
    run_paused(async {
        let (shared, a, b) = servers();
        let (mut one, mut two) = (a.connect(), b.connect());
        for host in [&mut one, &mut two] {
            host.steps(&[
                "→ hello",
                r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"file:///known"}}"#,
                r#"← {"id":1,"result":{}}"#,
            ])
            .await;
        }
        a.server.handle().tools_changed(Audience::Everyone);
        b.server.handle().resource_updated("file:///known");
        assert_eq!(shared.take_sent(), [r#"{"list":"tools"}"#, r#"{"resource":"file:///known"}"#]);
        for host in [&mut one, &mut two] {
            host.steps(&[UPDATED, TOOLS_CHANGED, "· 1000ms"]).await;
        }
        assert!(shared.take_sent().is_empty(), "a notice that was delivered is not sent again");
    });
}

#[test]
fn all_counts_as_changed_when_notices_were_missed() {
    run_paused(async {
        let (shared, a, _b) = servers();
        let mut host = a.connect();
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"resources/subscribe","params":{"uri":"file:///known"}}"#,
            r#"← {"id":1,"result":{}}"#,
        ])
        .await;
        a.server.handle().deliver(&Audience::Everyone, SessionNotice::Missed);
        host.steps(&[
            UPDATED,
            TOOLS_CHANGED,
            r#"← {"method":"notifications/resources/list_changed"}"#,
            r#"← {"method":"notifications/prompts/list_changed"}"#,
            "· 1000ms",
        ])
        .await;
        assert!(shared.take_sent().is_empty(), "it is about this server");
    });
}

#[test]
fn notices_for_an_owner_reach_its_sessions_in_every_server() {
    run_paused(async {
        let (_shared, a, b) = servers();
        let (mut ann, mut bob) = (b.connect_as("ann"), b.connect_as("bob"));
        ann.steps(&["→ hello"]).await;
        bob.steps(&["→ hello", "· 1ms"]).await;
        let audience = Audience::Owner(Owner::Principal("ann".into()));
        a.server.handle().log(audience, Level::Error, Some("disk"), &RawJson::text("full"));
        ann.steps(&[
            r#"← {"method":"notifications/message","params":{"level":"error","logger":"disk","data":"full"}}"#,
        ])
        .await;
        bob.steps(&["· 1000ms"]).await;
    });
}

#[test]
fn notices_for_one_session_stay_in_its_server() {
    run_paused(async {
        let (shared, a, b) = servers();
        let (mut host, mut other) = (a.connect(), b.connect());
        host.steps(&["→ hello", "· 1ms"]).await;
        other.steps(&["→ hello", "· 1ms"]).await;
        let id = a.server.handle().views()[0].id;
        a.server.handle().tools_changed(Audience::Session(id));
        a.server.handle().elicitation_complete(id, "page");
        assert!(shared.take_sent().is_empty());
        host.steps(&[
            r#"← {"method":"notifications/elicitation/complete","params":{"elicitationId":"page"}}"#,
            TOOLS_CHANGED,
        ])
        .await;
        other.steps(&["· 1000ms"]).await;
    });
}

#[test]
fn a_bus_keeps_no_server_alive() {
    let shared = Arc::new(Shared::default());
    let info = ServerInfo::new("greeter", "1.0");
    let handle = ServerHandle::with_stores(info, Limits::default(), keys(), stores("a", &shared));
    assert_eq!(shared.receivers(|_| true).len(), 1);
    drop(handle);
    assert!(shared.receivers(|_| true).is_empty());
}

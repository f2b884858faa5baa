//! A directory of sessions of the test's own: two servers share it, and it carries notices between them as text.

use std::sync::{Arc, Mutex};

use protomcp_server::{
    Audience, Limits, List, NodeId, Owner, RequestStateKeys, SessionDirectory, SessionNotice, SessionRecord, Stores,
};
use protomcp_testing::run_paused;
use protomcp_types::{Level, RawJson};
use serde_json::{Value, json};

use super::transcript::Stage;

/// The sessions of all servers, and the notices that each has sent.
#[derive(Debug, Default)]
struct Shared {
    open: Mutex<Vec<SessionRecord>>,
    sent: Mutex<Vec<(NodeId, String)>>,
}

/// The directory of one server.
#[derive(Debug)]
struct Directory {
    node: NodeId,
    shared: Arc<Shared>,
}

impl SessionDirectory for Directory {
    fn insert(&self, session: &SessionRecord) {
        self.shared.open.lock().unwrap().push(session.clone());
    }

    fn remove(&self, session: &SessionRecord) {
        self.shared.open.lock().unwrap().retain(|open| open != session);
    }

    fn notify(&self, audience: Audience, notice: SessionNotice<'_>) {
        self.shared.sent.lock().unwrap().push((self.node.clone(), write(&audience, notice)));
    }
}

fn write(audience: &Audience, notice: SessionNotice<'_>) -> String {
    let audience = match audience {
        Audience::Everyone => Value::Null,
        Audience::Owner(Owner::Principal(name)) => json!(**name),
        other => panic!("{other:?} stays in its process"),
    };
    let notice = match notice {
        SessionNotice::ListChanged(List::Tools) => json!({"list": "tools"}),
        SessionNotice::ResourceUpdated(uri) => json!({"uri": uri}),
        SessionNotice::TaskChanged(id) => json!({"task": id}),
        SessionNotice::Log { level, logger, data } => json!({"level": level, "logger": logger, "data": data}),
        other => panic!("not sent by this test: {other:?}"),
    };
    json!([audience, notice]).to_string()
}

fn deliver(stage: &Stage, text: &str) {
    let (audience, notice): (Option<String>, Value) = serde_json::from_str(text).unwrap();
    let audience = audience.map_or(Audience::Everyone, |name| Audience::Owner(Owner::Principal(name.into())));
    let (data, level);
    let notice = match (notice["uri"].as_str(), notice["task"].as_str(), notice["level"].as_str()) {
        (Some(uri), ..) => SessionNotice::ResourceUpdated(uri),
        (_, Some(id), _) => SessionNotice::TaskChanged(id),
        (.., Some(name)) => {
            level = *Level::ALL.iter().find(|level| level.as_str() == name).unwrap();
            data = RawJson::of(&notice["data"]).unwrap();
            SessionNotice::Log { level, logger: notice["logger"].as_str(), data: &data }
        }
        _ => SessionNotice::ListChanged(List::Tools),
    };
    stage.server.handle().deliver(&audience, notice);
}

/// Two servers with one directory.
fn servers() -> (Arc<Shared>, Stage, Stage) {
    let shared = Arc::new(Shared::default());
    let server = |name: &str| {
        let node = NodeId::new(name);
        let directory = Arc::new(Directory { node: node.clone(), shared: Arc::clone(&shared) });
        let stores = Stores::new(node).with_sessions(directory);
        Stage::with_stores(Limits::default(), RequestStateKeys::shared([[1; 32]]), stores)
    };
    let (a, b) = (server("a"), server("b"));
    (shared, a, b)
}

/// Carries what was sent to the other server.
fn carry(shared: &Shared, a: &Stage, b: &Stage) -> Vec<String> {
    let sent = std::mem::take(&mut *shared.sent.lock().unwrap());
    for (node, text) in &sent {
        deliver(if node.as_str() == "a" { b } else { a }, text);
    }
    sent.into_iter().map(|(_, text)| text).collect()
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
        assert_eq!(carry(&shared, &a, &b), [r#"[null,{"list":"tools"}]"#, r#"[null,{"uri":"file:///known"}]"#]);
        for host in [&mut one, &mut two] {
            host.steps(&[UPDATED, TOOLS_CHANGED, "· 1000ms"]).await;
        }
        assert!(carry(&shared, &a, &b).is_empty(), "a notice that was delivered is not sent again");
    });
}

#[test]
fn notices_for_an_owner_reach_its_sessions_in_every_server() {
    run_paused(async {
        let (shared, a, b) = servers();
        let (mut ann, mut bob) = (b.connect_as("ann"), b.connect_as("bob"));
        ann.steps(&["→ hello"]).await;
        bob.steps(&["→ hello", "· 1ms"]).await;
        let audience = Audience::Owner(Owner::Principal("ann".into()));
        a.server.handle().log(audience, Level::Error, Some("disk"), &RawJson::text("full"));
        carry(&shared, &a, &b);
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
        let mut host = a.connect();
        host.steps(&["→ hello", "· 1ms"]).await;
        let id = a.server.handle().views()[0].id;
        a.server.handle().tools_changed(Audience::Session(id));
        assert!(carry(&shared, &a, &b).is_empty());
        host.steps(&[TOOLS_CHANGED]).await;
    });
}

#[test]
fn the_directory_knows_open_sessions_and_requests_that_listen() {
    run_paused(async {
        let (shared, a, b) = servers();
        let open = || {
            let open = shared.open.lock().unwrap();
            open.iter().map(|record| (record.node.to_string(), record.id.to_string())).collect::<Vec<_>>()
        };
        let known = |node: &str, id: &str| (node.to_owned(), id.to_owned());
        let (mut one, mut two) = (a.connect(), b.connect_as("ann"));
        one.steps(&["→ hello", "· 1ms"]).await;
        two.steps(&["→ hello", "· 1ms"]).await;
        assert_eq!(open(), [known("a", "1"), known("b", "1")]);
        assert_eq!(shared.open.lock().unwrap()[1].owner, Owner::Principal("ann".into()));
        one.steps(&["→ end", "← end"]).await;
        assert_eq!(open(), [known("b", "1")]);
        two.abort();
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        assert!(open().is_empty());
    });
}

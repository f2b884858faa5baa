//! One user who takes all there is, and another who finds room.

use protomcp_http::Config;

use super::client::{Host, initialize};
use super::handler::Stage;

const PING: &str = r#"{"id":1,"method":"ping"}"#;

/// The clients of a proxy on this machine.
fn user(stage: &Stage, address: &str) -> Host {
    stage.host.with("x-forwarded-for", address)
}

async fn count_alive(sessions: &[Host]) -> usize {
    let mut alive = 0;
    for session in sessions {
        match session.say(PING).await.0 {
            200 => alive += 1,
            status => assert_eq!(status, 404),
        }
    }
    alive
}

#[tokio::test]
async fn a_user_who_holds_all_sessions_keeps_no_other_out() {
    const SESSIONS: usize = 8;
    let mut config = Config::default().trust_proxy(std::net::IpAddr::from([127, 0, 0, 1]));
    config.max_sessions = SESSIONS;
    let stage = Stage::new(config).await;
    let (ann, bob) = (user(&stage, "192.0.2.1"), user(&stage, "192.0.2.2"));
    let mut hoard = Vec::new();
    for _ in 0..SESSIONS {
        hoard.push(ann.hello("2025-11-25").await);
    }
    assert_eq!(ann.post(&initialize("2025-11-25", "{}")).await.status, 503);
    let first = bob.hello("2025-11-25").await;
    assert_eq!(count_alive(&hoard).await, SESSIONS - 1);
    // Neither gets more than the other has.
    let mut others = Vec::new();
    while bob.post(&initialize("2025-11-25", "{}")).await.status == 200 {
        others.push(());
    }
    assert_eq!((count_alive(&hoard).await, others.len() + 1), (SESSIONS / 2, SESSIONS / 2));
    assert_eq!(ann.post(&initialize("2025-11-25", "{}")).await.status, 503);
    assert_eq!(count_alive(&[first]).await, 1);
}

#[tokio::test]
async fn an_address_that_no_trusted_proxy_has_forwarded_does_not_count() {
    let mut config = Config::default();
    config.max_sessions = 1;
    let stage = Stage::new(config).await;
    user(&stage, "192.0.2.1").hello("2025-11-25").await;
    assert_eq!(user(&stage, "192.0.2.2").post(&initialize("2025-11-25", "{}")).await.status, 503);
}

//! Sessions with servers: their number, and their end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use protomcp_client::Mode;
use protomcp_gateway::{GatewayLimits, Sharing};
use protomcp_testing::until;

use crate::stage::{Backend, Stage, call, client, connect, gateway, run};

#[test]
fn sessions_close_with_the_sessions_of_their_clients() {
    run(async {
        let stage = Stage::open(client(), (Mode::Stateful, Mode::Stateful), Sharing::PerSession).await;
        let open = || stage.backend.registry.sessions().count();
        assert_eq!(open(), 1, "the one that has asked for the capabilities");
        let second = connect(&stage.gateway, &client().mode(Mode::Stateful)).await;
        stage.call("whoami").await;
        call(&second, "whoami").await;
        assert_eq!(open(), 3);
        second.close(Duration::from_secs(5)).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(open(), 2);
        // The shared one is not used.
        tokio::time::sleep(Duration::from_secs(3600 / 2 - 60)).await;
        stage.call("whoami").await;
        tokio::time::sleep(Duration::from_secs(900)).await;
        assert_eq!(open(), 1);
        stage.gateway.close().await;
        assert_eq!(open(), 0);
    });
}

#[test]
fn one_session_is_enough_for_all_clients_that_share_it() {
    run(async {
        let stage = Stage::open(client(), (Mode::Stateful, Mode::Stateful), Sharing::Shared).await;
        let second = connect(&stage.gateway, &client().mode(Mode::Stateless)).await;
        stage.call("whoami").await;
        call(&second, "whoami").await;
        second.close(Duration::from_secs(5)).await;
        tokio::time::sleep(Duration::from_secs(3 * 3600)).await;
        stage.call("whoami").await;
        assert_eq!(stage.backend.switch().connections.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn an_idle_session_gives_way_to_a_new_one() {
    run(async {
        let backend = Backend::new();
        let limits = GatewayLimits { max_sessions: 2, ..GatewayLimits::default() };
        let gateway = gateway().limits(limits).upstream(backend.upstream("a").mode(Mode::Stateful));
        let gateway = gateway.open().await.unwrap();
        let host = client().mode(Mode::Stateful);
        let [one, two, three] =
            [connect(&gateway, &host).await, connect(&gateway, &host).await, connect(&gateway, &host).await];
        for session in [&one, &two, &three, &one] {
            assert_eq!(call(session, "log").await, "logged");
            tokio::time::sleep(Duration::from_secs(20)).await;
            assert!(backend.registry.sessions().count() <= 3);
        }
        let hanging = |session: &protomcp_client::ClientSession| {
            tokio::spawn(session.call_tool("hang", &protomcp_types::JsonObject::new()).into_future())
        };
        let busy = [hanging(&one), hanging(&three)];
        let is_busy = || backend.registry.sessions().count() >= 3 && !backend.seen.take().is_empty();
        until("the third session is busy", is_busy).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let refused = two.call_tool("log", &protomcp_types::JsonObject::new()).await.unwrap();
        assert!(refused.meta.unwrap().as_str().contains("OVERLOADED"));
        busy.iter().for_each(tokio::task::JoinHandle::abort);
    });
}

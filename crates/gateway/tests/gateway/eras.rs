//! The era in which a server is spoken to that has both.

use std::sync::atomic::Ordering;
use std::time::Duration;

use protomcp_client::{ClientSession, Mode};
use protomcp_gateway::{Builder, Era, Sharing};
use protomcp_server::{Context, ServerInfo};
use protomcp_typed::{Registry, Resource, Tool};
use protomcp_types::{Discover, Initialize, ListCapability, Method, Request};

use crate::interposed::{self, Fate};
use crate::stage::{Backend, call, client, connect, gateway, run};

/// A server whose only tool tells the era of its client.
fn server() -> Backend {
    let tell = async |context: Context| if context.is_stateless() { "stateless" } else { "stateful" };
    let registry = Registry::builder("server", "1").tool(Tool::new("era", "Tells the era").handler(tell));
    Backend::of(registry.build().unwrap())
}

async fn eras(one: &ClientSession, other: &ClientSession) -> [String; 2] {
    [call(one, "era").await, call(other, "era").await]
}

#[test]
fn a_server_is_spoken_to_in_the_era_of_the_client() {
    for sharing in [Sharing::PerSession, Sharing::Shared] {
        for era in [None, Some(Era::Stateful), Some(Era::Stateless)] {
            run(async {
                let server = server();
                let builder = gateway().upstream(server.upstream("a").sharing(sharing));
                let gateway = era.into_iter().fold(builder, Builder::first_era).open().await.unwrap();
                let stateful = connect(&gateway, &client().mode(Mode::Stateful)).await;
                let stateless = connect(&gateway, &client().mode(Mode::Stateless)).await;
                for _ in 0..2 {
                    assert_eq!(eras(&stateful, &stateless).await, ["stateful", "stateless"], "{sharing:?} {era:?}");
                }
                if sharing == Sharing::Shared {
                    assert_eq!(server.switch().connections.load(Ordering::SeqCst), 2);
                }
            });
        }
    }
}

/// Where all clients have one era, there is one session.
#[test]
fn one_era_needs_one_session() {
    for (era, mode, told) in
        [(Era::Stateful, Mode::Stateful, "stateful"), (Era::Stateless, Mode::Stateless, "stateless")]
    {
        run(async {
            let server = server();
            let upstream = server.upstream("a").sharing(Sharing::Shared);
            let gateway = gateway().upstream(upstream).first_era(era).open().await.unwrap();
            let clients =
                [connect(&gateway, &client().mode(mode)).await, connect(&gateway, &client().mode(mode)).await];
            assert_eq!(eras(&clients[0], &clients[1]).await, [told, told]);
            assert_eq!(server.switch().connections.load(Ordering::SeqCst), 1);
        });
    }
}

#[test]
fn a_chosen_era_applies_to_all_clients() {
    for (mode, told) in
        [(Mode::StatefulFirst, "stateful"), (Mode::Stateful, "stateful"), (Mode::Stateless, "stateless")]
    {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            run(async {
                let gateway =
                    gateway().upstream(server().upstream("a").sharing(sharing).mode(mode)).open().await.unwrap();
                let stateful = connect(&gateway, &client().mode(Mode::Stateful)).await;
                let stateless = connect(&gateway, &client().mode(Mode::Stateless)).await;
                assert_eq!(eras(&stateful, &stateless).await, [told, told], "{sharing:?}");
            });
        }
    }
}

/// A server that lacks an era is spoken to in the other one, in one session if clients share it.
#[test]
fn a_server_with_one_era_is_spoken_to_in_it() {
    for (missing, told) in [(Discover::NAME, "stateful"), (Initialize::NAME, "stateless")] {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            for era in [None, Some(Era::Stateful), Some(Era::Stateless)] {
                run(async {
                    let judge =
                        move |request: &Request| if request.method == *missing { Fate::Refused } else { Fate::Arrives };
                    let server = server();
                    let upstream = interposed::upstream(&server, "a", judge).sharing(sharing);
                    let builder = gateway().upstream(upstream);
                    let builder = era.into_iter().fold(builder, Builder::first_era);
                    let gateway = builder.open().await.unwrap();
                    let stateful = connect(&gateway, &client().mode(Mode::Stateful)).await;
                    let stateless = connect(&gateway, &client().mode(Mode::Stateless)).await;
                    for _ in 0..2 {
                        let told_by = eras(&stateful, &stateless).await;
                        assert_eq!(told_by, [told, told], "{missing} {sharing:?} {era:?}");
                    }
                });
            }
        }
    }
}

/// A server that runs once serves clients of both eras in the session that it has.
#[test]
fn a_server_that_cannot_be_opened_twice_has_one_session_for_all() {
    for (era, told) in [(Era::Stateful, "stateful"), (Era::Stateless, "stateless")] {
        run(async {
            let server = server();
            let upstream = server.upstream("a").sharing(Sharing::Shared);
            let gateway = gateway().upstream(upstream).first_era(era).open().await.unwrap();
            server.switch().refuse(true);
            let stateful = connect(&gateway, &client().mode(Mode::Stateful)).await;
            let stateless = connect(&gateway, &client().mode(Mode::Stateless)).await;
            for _ in 0..2 {
                assert_eq!(eras(&stateful, &stateless).await, [told, told]);
            }
        });
    }
}

/// A second session that is lost comes back; until then the first one serves its clients.
#[test]
fn a_lost_session_of_one_era_comes_back() {
    run(async {
        let server = server();
        let gateway = gateway().upstream(server.upstream("a").sharing(Sharing::Shared)).open().await.unwrap();
        let stateful = connect(&gateway, &client().mode(Mode::Stateful)).await;
        let stateless = connect(&gateway, &client().mode(Mode::Stateless)).await;
        assert_eq!(eras(&stateful, &stateless).await, ["stateful", "stateless"]);
        server.switch().refuse(true);
        server.switch().kill_newest();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(eras(&stateful, &stateless).await, ["stateful", "stateful"]);
        server.switch().refuse(false);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(eras(&stateful, &stateless).await, ["stateful", "stateless"]);
    });
}

fn has_subscriptions(session: &ClientSession) -> bool {
    session.server().capabilities.as_ref().unwrap().resources.unwrap().subscribe
}

/// Until a server was spoken to in the era of a client, it may have subscriptions there.
#[test]
fn a_capability_of_one_era_is_not_shown_in_the_other() {
    run(async {
        let resource = Resource::new("test:a", "a").text("content of a");
        let registry = Registry::builder("server", "1").resource(resource).build().unwrap();
        let mut info = ServerInfo::clone(registry.sessions().info());
        info.capabilities.resources = Some(ListCapability { list_changed: true, subscribe: false });
        registry.sessions().describe_stateless(info);
        let gateway = gateway().upstream(Backend::of(registry).upstream("a")).open().await.unwrap();
        let early = connect(&gateway, &client().mode(Mode::Stateless)).await;
        assert!(has_subscriptions(&early));
        early.read_resource("test:a").await.unwrap();
        assert!(!has_subscriptions(&connect(&gateway, &client().mode(Mode::Stateless)).await));
        assert!(has_subscriptions(&connect(&gateway, &client().mode(Mode::Stateful)).await));
    });
}

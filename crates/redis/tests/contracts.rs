//! The contracts of both traits.

use protomcp_testing::in_time;

use crate::server::{RedisServer, connect};

#[tokio::test]
async fn the_contract_of_leases_holds() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    in_time(protomcp_server::contract::lease_store(&*stores.leases())).await.expect("the store answers");
}

#[tokio::test]
async fn the_contract_of_events_holds() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    in_time(protomcp_http::contract::event_store(&*stores.events())).await.expect("the store answers");
}

/// Without scripts in the cache of the server, each is sent as text once.
#[tokio::test]
async fn the_contracts_hold_while_scripts_are_forgotten() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    let flushed = async {
        loop {
            server.ask::<()>(&["SCRIPT", "FLUSH", "SYNC"]);
            tokio::task::yield_now().await;
        }
    };
    let checked = async {
        protomcp_server::contract::lease_store(&*stores.leases()).await;
        protomcp_http::contract::event_store(&*stores.events()).await;
    };
    tokio::select! {
        () = flushed => {}
        outcome = in_time(checked) => outcome.expect("the store answers"),
    }
}

//! The contracts of leases, events and notices.

use std::cell::Cell;

use protomcp_server::NodeId;
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

#[tokio::test]
async fn the_contract_of_notices_holds() {
    let server = RedisServer::start(&[]);
    let (one, other) = (connect(&server, "secret").await, connect(&server, "secret").await);
    let (a, b) = (one.notices(&NodeId::new("a")), other.notices(&NodeId::new("b")));
    in_time(protomcp_server::contract::notice_bus(&*a, &*b)).await.expect("the store answers");
}

/// Without scripts in the cache of the server, each is sent as text once.
#[tokio::test]
async fn the_contracts_hold_while_scripts_are_forgotten() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    let is_over = Cell::new(false);
    let flushed = async {
        while !is_over.get() {
            server.ask::<()>(&["SCRIPT", "FLUSH", "SYNC"]);
            tokio::task::yield_now().await;
        }
    };
    let checked = async {
        let (leases, events) = (stores.leases(), stores.events());
        in_time(protomcp_server::contract::lease_store(&*leases)).await.expect("the store answers");
        in_time(protomcp_http::contract::event_store(&*events)).await.expect("the store answers");
        is_over.set(true);
    };
    tokio::join!(flushed, checked);
}

//! A cluster of several servers.

use std::time::Duration;

use protomcp_redis::{RedisStores, StoreUrl};
use protomcp_server::{LeaseStore, NodeId};
use protomcp_testing::{in_time, until};

use crate::notices::{Inbox, arrives, connects};
use crate::server::{LONG, RedisServer, connect_within, keys, lease, own_address};

/// Servers of which the first ones have these slots. One that is silent for this time, in milliseconds, has failed.
async fn cluster<const N: usize>(slots: &[[&str; 2]], silence: &str) -> [RedisServer; N] {
    let address = own_address();
    let options =
        ["--cluster-enabled", "yes", "--cluster-announce-ip", address.as_str(), "--cluster-node-timeout", silence];
    let servers: [RedisServer; N] = std::array::from_fn(|_| RedisServer::on_port(&options));
    for (server, [first, last]) in servers.iter().zip(slots) {
        server.ask::<()>(&["CLUSTER", "ADDSLOTSRANGE", first, last]);
    }
    for other in &servers[1..] {
        servers[0].ask::<()>(&["CLUSTER", "MEET", &address, &other.port().to_string()]);
    }
    let is_ready = |server: &RedisServer| {
        let info: String = server.ask(&["CLUSTER", "INFO"]);
        info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
    };
    until("the cluster is whole", || servers.iter().all(is_ready)).await;
    servers
}

#[tokio::test]
async fn the_contracts_hold_in_a_cluster() {
    let servers = cluster::<3>(&[["0", "5460"], ["5461", "10922"], ["10923", "16383"]], "15000").await;
    let nodes: Vec<_> = servers.iter().map(RedisServer::address).collect();
    let url: StoreUrl = format!("redis+cluster://{}", nodes.join(",")).parse().expect("it is a URL");
    let stores = in_time(RedisStores::connect(&url, keys("secret"))).await.expect("it has a time");
    let stores = stores.expect("the cluster answers");
    stores.health().await.expect("the cluster answers");
    in_time(protomcp_server::contract::lease_store(&*stores.leases())).await.expect("the store answers");
    in_time(protomcp_http::contract::event_store(&*stores.events())).await.expect("the store answers");

    // The processes listen to different nodes.
    let reversed: Vec<_> = nodes.into_iter().rev().collect();
    let url: StoreUrl = format!("redis+cluster://{}", reversed.join(",")).parse().expect("it is a URL");
    let others = RedisStores::connect(&url, keys("secret")).await.expect("the cluster answers");
    let (a, b) = (stores.notices(&NodeId::new("a")), others.notices(&NodeId::new("b")));
    in_time(protomcp_server::contract::notice_bus(&*a, &*b)).await.expect("the store answers");
}

#[tokio::test]
async fn a_replica_takes_the_place_of_its_node() {
    // The first node has all keys of the test, and both processes listen to it.
    let mut servers = cluster::<4>(&[["0", "16381"], ["16382", "16382"], ["16383", "16383"]], "5000").await;
    let first: String = servers[0].ask(&["CLUSTER", "MYID"]);
    let [_, _, _, replica] = &servers;
    until("the replica knows its node", || replica.ask::<String>(&["CLUSTER", "NODES"]).contains(&first)).await;
    replica.ask::<()>(&["CLUSTER", "REPLICATE", &first]);
    let is_linked = || replica.ask::<String>(&["INFO", "replication"]).contains("master_link_status:up");
    until("the replica follows", is_linked).await;

    let nodes: Vec<_> = servers.iter().map(RedisServer::address).collect();
    let url: StoreUrl = format!("redis+cluster://{}", nodes.join(",")).parse().expect("it is a URL");
    let stores = connect_within(&url, Duration::from_secs(5)).await;
    assert_eq!(stores.leases().register(&lease("a"), LONG).await, Ok(true));
    let (a, b) = (stores.notices(&NodeId::new("a")), stores.notices(&NodeId::new("b")));
    let mut inbox = Inbox::of(&b);
    connects(&a, &mut inbox).await;
    until("the replica has the lease", || !servers[3].keys().is_empty()).await;

    servers[0].kill();
    let live = async {
        loop {
            if let Ok(live) = stores.leases().live().await {
                return live;
            }
        }
    };
    let live = in_time(live).await.expect("the replica takes the place of its node");
    assert_eq!(live, [lease("a")]);
    assert_eq!(inbox.next().await, "Missed", "it has listened to the node that is gone");
    arrives(&a, &mut inbox).await;
}

//! A cluster of three servers.

use protomcp_redis::{RedisStores, StoreUrl};
use protomcp_server::NodeId;
use protomcp_testing::{in_time, until};

use crate::server::{RedisServer, keys, own_address};

/// Three servers that share the slots.
async fn cluster() -> [RedisServer; 3] {
    let address = own_address();
    let options = ["--cluster-enabled", "yes", "--cluster-announce-ip", address.as_str()];
    let servers: [RedisServer; 3] = std::array::from_fn(|_| RedisServer::on_port(&options));
    for (server, [first, last]) in servers.iter().zip([["0", "5460"], ["5461", "10922"], ["10923", "16383"]]) {
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
    let servers = cluster().await;
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

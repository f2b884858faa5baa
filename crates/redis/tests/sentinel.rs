//! A server with a replica, and a sentinel that puts it in its place.

use std::collections::HashMap;
use std::fs;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use protomcp_redis::{RedisStores, StoreUrl};
use protomcp_server::{LeaseStore, NodeId};
use protomcp_testing::{eventually, in_time, until};
use tempfile::TempDir;

use crate::notices::{Inbox, arrives, connects};
use crate::server::{LONG, RedisServer, connect_within, keys, lease, own_address, spawn};

/// The port of the sentinel.
const PORT: u16 = 16_379;

struct Sentinel {
    process: Child,
    _folder: TempDir,
}

impl Sentinel {
    /// Watches a server, which it replaces after half a second.
    fn of(server: &RedisServer) -> Self {
        let (folder, address) = (tempfile::tempdir().expect("a folder for the sentinel"), own_address());
        let config = format!(
            "port {PORT}\nbind {address}\nsentinel monitor main {address} {} 1\n\
             sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n",
            server.port()
        );
        let file = folder.path().join("sentinel.conf");
        fs::write(&file, config).expect("the folder is writable");
        let mut command = Command::new("redis-server");
        command.arg(&file).arg("--sentinel").current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        let process = spawn(&mut command);
        eventually("the sentinel listens", || TcpStream::connect((own_address(), PORT)).ok());
        Self { process, _folder: folder }
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[tokio::test]
async fn a_replica_takes_the_place_of_its_primary() {
    let (address, mut primary) = (own_address(), RedisServer::on_port(&["--repl-diskless-sync-delay", "0"]));
    let port = primary.port().to_string();
    let replica = RedisServer::on_port(&["--replicaof", &address, &port, "--replica-announce-ip", &address]);
    let is_linked = || replica.ask::<String>(&["INFO", "replication"]).contains("master_link_status:up");
    until("the replica follows", is_linked).await;
    let _sentinel = Sentinel::of(&primary);

    let url: StoreUrl = format!("redis+sentinel://{address}:{PORT}/main").parse().expect("it is a URL");
    let stores = connect_within(&url, Duration::from_secs(5)).await;
    assert_eq!(stores.leases().register(&lease("a"), LONG).await, Ok(true));
    let unknown: StoreUrl = format!("redis+sentinel://{address}:{PORT}/other").parse().expect("it is a URL");
    let error = RedisStores::connect(&unknown, keys("secret")).await.expect_err("there is no such master");
    assert!(error.to_string().contains("know a master with this name"), "{error}");

    let (a, b) = (stores.notices(&NodeId::new("a")), stores.notices(&NodeId::new("b")));
    let mut inbox = Inbox::of(&b);
    connects(&a, &mut inbox).await;

    until("the sentinel knows the replica", knows_replica).await;
    primary.kill();
    let registered = async {
        // A name is used once: its answer may have been lost.
        let mut name = lease("b");
        while stores.leases().register(&name, LONG).await != Ok(true) {
            name = name.successor();
        }
    };
    in_time(registered).await.expect("the replica takes the place of its primary");
    arrives(&a, &mut inbox).await;
}

/// True if the sentinel knows a replica that follows its primary.
fn knows_replica() -> bool {
    let client = redis::Client::open(format!("redis://{}:{PORT}/", own_address())).expect("it is a URL");
    let mut connection = client.get_connection().expect("the sentinel answers");
    let replicas = redis::cmd("SENTINEL").arg("replicas").arg("main").query(&mut connection);
    let replicas: Vec<HashMap<String, String>> = replicas.expect("the sentinel answers");
    replicas.iter().any(|replica| replica.get("master-link-status").is_some_and(|status| status == "ok"))
}

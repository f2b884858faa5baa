//! The sessions that several servers share: one of them serves a session, and when it ends, another takes it over.
//! Notices reach the clients of all servers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::Authority;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;
use protomcp_auth::Introspection;
use protomcp_http::{Config, HttpReplicaClient, Replicas};
use protomcp_redis::RedisStores;
use protomcp_server::{LeaseKeeper, LeaseTerms, NodeId, Stores, TaskLimits};
use tokio::time::timeout;

use crate::args::store::{Replica, Store};
use crate::exit::Failure;
use crate::serve::refused_tokens::RefusedTokens;

/// The time in which a store that answers has to grant a lease to this server.
const GRANT_TIMEOUT: Duration = Duration::from_secs(10);

/// The part of this server.
#[derive(Debug, Default)]
pub(super) struct SharedSessions {
    keeper: Option<Arc<LeaseKeeper>>,
    stores: Option<Stores>,
    shared: Option<RedisStores>,
    _refused_tokens: Option<Arc<RefusedTokens>>,
}

impl SharedSessions {
    /// Connects to the store, if there is one, and joins the servers that share it. This one listens on `port`, and asks
    /// about tokens with `introspection`, if it does.
    pub(super) async fn join(
        store: Option<Store>,
        config: Config,
        port: u16,
        introspection: Option<Arc<Introspection>>,
    ) -> Result<(Self, Config), Failure> {
        let Some(Store { url, keys, options, name, replica }) = store else { return Ok((Self::default(), config)) };
        let stores = RedisStores::connect_with(&url, keys, options).await;
        let stores = stores.map_err(|error| Failure::failed(format!("the store of --store: {error}")))?;
        let node = name.as_deref().map_or_else(NodeId::random, NodeId::random_after);
        tracing::info!("sharing the sessions in {url} as {node}");
        let (leases, terms) = (stores.leases(), LeaseTerms::default());
        let (notices, tasks) = (stores.notices(&node), stores.tasks(&TaskLimits::default()));
        let refused_tokens = introspection.map(|tokens| RefusedTokens::share(tokens, notices.clone()));
        let local = Stores::new(node.clone()).with_leases(leases.clone()).with_notices(notices).with_tasks(tasks);
        let (keeper, replicas) = match replica {
            None => (LeaseKeeper::start(leases, node, terms), None),
            Some(Replica { url, keys }) => {
                let url = listening_on(&url, port).to_string();
                let replicas = Replicas::new(Arc::new(HttpReplicaClient::new()), keys);
                (LeaseKeeper::start_at(leases, node, terms, url), Some(Arc::new(replicas)))
            }
        };
        let keeper = Arc::new(keeper);
        if timeout(GRANT_TIMEOUT, keeper.held()).await.is_err() {
            return Err(Failure::failed(format!(
                "the store of --store: {url} grants no lease to this server; see if the store has memory for more"
            )));
        }
        let mut config = config.with_leases(Arc::clone(&keeper));
        config.streams.event_store = Some(stores.events());
        let config = replicas.into_iter().fold(config, Config::with_replicas);
        let sessions =
            Self { keeper: Some(keeper), stores: Some(local), shared: Some(stores), _refused_tokens: refused_tokens };
        Ok((sessions, config))
    }

    /// The stores of the server behind the sessions, if it shares any.
    pub(super) fn stores(&self) -> Option<Stores> {
        self.stores.clone()
    }

    /// Counts the requests to the store that have failed, if there is one.
    pub(super) fn register(&self, registry: &mut Registry) {
        if let Some(stores) = &self.shared {
            registry.register_collector(Box::new(StoreFailures(stores.clone())));
        }
    }

    /// Lets the other servers take the sessions of this one over, and read the results of its tasks.
    pub(super) async fn leave(self) {
        if let Some(stores) = self.shared {
            let tasks = stores.flush().await;
            if tasks > 0 {
                tracing::warn!(tasks, "the store does not answer: the last changes of tasks are lost");
            }
        }
        if let Some(keeper) = self.keeper {
            keeper.resign().await;
        }
    }
}

/// The requests to the store that have failed.
#[derive(Debug)]
struct StoreFailures(RedisStores);

impl Collector for StoreFailures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests to the store of sessions without an answer in time, or refused by it.";
        let failures = encoder.encode_descriptor("pmcp_store_failures", help, None, MetricType::Counter)?;
        ConstCounter::new(self.0.failures()).encode(failures)
    }
}

/// The URL with this port, if its own one is 0.
fn listening_on(url: &Uri, port: u16) -> Uri {
    let mut parts = url.clone().into_parts();
    let is_open = url.port_u16() == Some(0);
    let authority = url.host().filter(|_| is_open).and_then(|host| format!("{host}:{port}").parse::<Authority>().ok());
    parts.authority = authority.or(parts.authority);
    Uri::from_parts(parts).unwrap_or_else(|_| url.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_0_stands_for_the_port_of_the_server() {
        for (url, expected) in [
            ("http://10.0.0.7:0", "http://10.0.0.7:8080/"),
            ("https://[::1]:0/tools", "https://[::1]:8080/tools"),
            ("http://10.0.0.7:80/", "http://10.0.0.7:80/"),
            ("http://b.example", "http://b.example/"),
        ] {
            assert_eq!(listening_on(&url.parse().expect("it is a URL"), 8080).to_string(), expected);
        }
    }
}

//! The sessions that several servers share: when one of them ends, another takes its sessions over.

use std::sync::Arc;
use std::time::Duration;

use protomcp_http::Config;
use protomcp_redis::RedisStores;
use protomcp_server::{LeaseKeeper, LeaseTerms, NodeId};
use tokio::time::timeout;

use crate::args::store::Store;
use crate::exit::Failure;

/// The time in which a store that answers has to grant a lease to this server.
const GRANT_TIMEOUT: Duration = Duration::from_secs(10);

/// The part of this server.
#[derive(Debug)]
pub(super) struct SharedSessions(Option<Arc<LeaseKeeper>>);

impl SharedSessions {
    /// Connects to the store, if there is one, and joins the servers that share it.
    pub(super) async fn join(store: Option<Store>, config: Config) -> Result<(Self, Config), Failure> {
        let Some(Store { url, keys, options }) = store else { return Ok((Self(None), config)) };
        let stores = RedisStores::connect_with(&url, keys, options).await;
        let stores = stores.map_err(|error| Failure::failed(format!("the store of --store: {error}")))?;
        let keeper = Arc::new(LeaseKeeper::start(stores.leases(), NodeId::random(), LeaseTerms::default()));
        if timeout(GRANT_TIMEOUT, keeper.held()).await.is_err() {
            return Err(Failure::failed(format!(
                "the store of --store: {url} grants no lease to this server; see if the store has memory for more"
            )));
        }
        tracing::info!("sharing the sessions in {url}");
        let mut config = config.with_leases(Arc::clone(&keeper));
        config.streams.event_store = Some(stores.events());
        Ok((Self(Some(keeper)), config))
    }

    /// Lets the other servers take the sessions of this one over.
    pub(super) async fn leave(self) {
        if let Some(keeper) = self.0 {
            keeper.resign().await;
        }
    }
}

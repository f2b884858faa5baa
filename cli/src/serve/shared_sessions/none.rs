//! Sessions of a build without stores: this server has them alone.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use protomcp_auth::Introspection;
use protomcp_http::Config;
use protomcp_server::Stores;

use crate::args::store::Store;
use crate::exit::Failure;

/// There are none.
#[derive(Debug)]
pub(super) struct SharedSessions;

impl SharedSessions {
    pub(super) async fn join(
        store: Option<Store>,
        config: Config,
        _: u16,
        _: Option<Arc<Introspection>>,
    ) -> Result<(Self, Config), Failure> {
        match store {
            Some(store) => match store {},
            None => Ok((Self, config)),
        }
    }

    pub(super) fn stores(&self) -> Option<Stores> {
        None
    }

    pub(super) fn register(&self, _: &mut Registry) {}

    pub(super) async fn leave(self) {}
}

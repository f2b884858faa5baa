//! The client at the other end of a stream, as far as the stream knows it.

use std::net::IpAddr;
use std::sync::Arc;

use protomcp_fair::Owner;
use protomcp_session::Extensions;

use crate::session::permission::Permission;

/// The other end of a stream.
#[derive(Debug, Clone, Default)]
pub struct BinaryPeer {
    /// The authenticated principal, from a certificate for example.
    pub principal: Option<Arc<str>>,
    /// The network address, if the stream crosses a network.
    pub address: Option<IpAddr>,
    /// The requests that the client may make; `None`: all.
    pub permission: Option<Permission>,
    /// The facts about the client that handlers see in each request
    /// ([`Context::extension`](protomcp_server::Context::extension)).
    pub known: Extensions,
}

impl BinaryPeer {
    /// The unit by which its requests count.
    pub(super) fn owner(&self) -> Owner {
        Owner::of(self.principal.clone(), self.address)
    }

    /// The name under which the calls of this client are counted. `connection`: its number, if nothing else is known.
    pub(super) fn rate_key(&self, connection: impl FnOnce() -> u64) -> String {
        match (&self.principal, self.address) {
            (Some(principal), _) => format!("principal {principal}"),
            (None, Some(address)) => format!("address {address}"),
            (None, None) => format!("connection {}", connection()),
        }
    }
}

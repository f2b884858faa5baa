//! The memory of one connection, out of the budgets that all connections of a server share.

use protomcp_server::ServerHandle;
use protomcp_session::{OverBudget, Owner, Reservation};

use crate::serve::peer::BinaryPeer;

/// The bytes of a connection that have not become requests yet, and those that the client has not read.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) inbound: Reservation,
    pub(super) outbound: Reservation,
}

impl Account {
    /// The account of a connection over a network. The one client of a stream on this machine shares with no other.
    pub(super) fn open(sessions: &ServerHandle, peer: &BinaryPeer) -> Option<Self> {
        if peer.principal.is_none() && peer.address.is_none() {
            return None;
        }
        let owner = Owner::of(peer.principal.clone(), peer.address);
        let (inbound, outbound) = (sessions.inbound_budget().empty(&owner), sessions.outbound_budget().empty(&owner));
        Some(Self { inbound, outbound })
    }
}

/// Makes a reservation one of this many bytes. Small buffers are free.
pub(super) fn hold(reservation: &mut Reservation, bytes: usize) -> Result<(), OverBudget> {
    let (bytes, held) = (bytes.saturating_sub(FREE), reservation.bytes());
    if bytes > held {
        return reservation.grow(bytes - held);
    }
    if bytes < held {
        reservation.shrink(held - bytes);
    }
    Ok(())
}

/// The bytes of each direction that every connection may have.
const FREE: usize = 16 << 10;

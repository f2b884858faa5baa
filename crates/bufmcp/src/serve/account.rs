//! The memory of one connection, out of the budgets that all connections of a server share.

use protomcp_fair::{OverBudget, Reservation};
use protomcp_server::ServerHandle;

use crate::serve::peer::BinaryPeer;
use crate::session::inbound::BinaryCall;

/// The bytes of a connection that have not become requests yet, and those that the client has not read. Requests have
/// their own reservations.
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
        let owner = peer.owner();
        let (inbound, outbound) = (sessions.inbound_budget().empty(&owner), sessions.outbound_budget().empty(&owner));
        Some(Self { inbound, outbound })
    }
}

impl Account {
    /// Takes the bytes of a decoded request, until it is answered. A small one is free.
    pub(super) fn request(&self, call: &BinaryCall) -> Result<Option<Reservation>, OverBudget> {
        let weight = call.weight();
        if weight <= FREE {
            return Ok(None);
        }
        let mut reservation = self.inbound.sibling();
        reservation.grow(weight)?;
        Ok(Some(reservation))
    }
}

/// Makes a reservation one of this many bytes. Small buffers are free.
pub(super) fn hold(reservation: &mut Reservation, bytes: usize) -> Result<(), OverBudget> {
    reservation.resize(bytes.saturating_sub(FREE))
}

/// The bytes of each direction that every connection may have.
pub(super) const FREE: usize = 16 << 10;

//! Requests to the store, and its answers.

use crate::records::claim::{Claim, FencingToken};
use crate::records::lease_name::LeaseName;

/// A request to the store or its answer, on the wire.
#[derive(Debug, Clone)]
pub(super) struct Packet {
    pub(super) process: usize,
    pub(super) lease_name: LeaseName,
    /// The number of the request.
    pub(super) serial: u64,
    pub(super) body: Body,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Register,
    Renew,
    Resign,
    Claim,
    Release(FencingToken),
    Write(FencingToken),
    Registered(bool),
    Renewed(bool),
    Claimed(Claim),
    Written(FencingToken, bool),
}

impl Body {
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Registered(_) | Self::Renewed(_) | Self::Claimed(_) | Self::Written(..))
    }
}

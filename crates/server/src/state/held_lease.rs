//! A lease that this process holds, as the sessions under it see it.

use std::time::Instant;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::records::lease_clock::lease_now;
use crate::records::lease_name::LeaseName;

/// A lease that this process holds, or has held ([`LeaseKeeper::lease`](crate::LeaseKeeper::lease)). A later lease of the
/// process is another one. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct HeldLease {
    pub(super) name: LeaseName,
    pub(super) held: watch::Receiver<Option<Held>>,
    pub(super) over: CancellationToken,
}

/// The lease that the process holds until this time.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) name: LeaseName,
    pub(super) until: Instant,
    pub(super) over: CancellationToken,
}

impl Held {
    /// True if the process may serve its sessions now.
    pub(super) fn runs(&self) -> bool {
        lease_now() < self.until
    }
}

impl HeldLease {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &LeaseName {
        &self.name
    }

    /// True if the process holds the lease now, and may serve the sessions under it. To be called before each effect
    /// that two processes must not have.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held.borrow().as_ref().is_some_and(|held| held.name == self.name && held.runs())
    }

    /// Cancelled when the lease is over: the sessions under it end in this process, and others may serve them. A busy
    /// machine may cancel it late; [`HeldLease::is_held`] is exact.
    #[must_use]
    pub fn over(&self) -> &CancellationToken {
        &self.over
    }
}

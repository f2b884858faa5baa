//! The owners that a process has worked for.
//!
//! The output of a process, and its messages without a call, may be about any caller that it has worked for since its
//! start. So they are for clients only while that is one owner, and otherwise for the log alone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use protomcp_server::Owner;

/// The owners that one process has worked for.
#[derive(Debug, Default)]
pub(crate) struct ServedOwners {
    first: OnceLock<Owner>,
    others: AtomicBool,
}

impl ServedOwners {
    /// Records that the process is about to be sent data of this owner.
    pub(crate) fn add(&self, owner: &Owner) {
        if self.first.get_or_init(|| owner.clone()) != owner {
            self.others.store(true, Ordering::Release);
        }
    }

    /// True if the process has worked for no other owner than this one.
    pub(crate) fn only(&self, owner: &Owner) -> bool {
        !self.others.load(Ordering::Acquire) && self.first.get().is_none_or(|first| first == owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_counts_for_ever() {
        let (served, [ann, bob]) = (ServedOwners::default(), ["ann", "bob"].map(|name| Owner::Principal(name.into())));
        assert!(served.only(&ann) && served.only(&bob));
        served.add(&ann);
        served.add(&ann);
        assert!(served.only(&ann) && !served.only(&bob));
        served.add(&bob);
        served.add(&ann);
        assert!(!served.only(&ann) && !served.only(&bob));
    }
}

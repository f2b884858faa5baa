//! The sessions for single calls of clients without a session. One that is free is used again, by the same owner.

use std::collections::HashMap;
use std::sync::Arc;

use protomcp_fair::may_take_slot;
use protomcp_server::Owner;

/// Sessions for single calls.
#[derive(Debug)]
pub(super) struct Leases<T> {
    pub(super) all: Vec<Arc<T>>,
    /// Those that no call uses, each with its last owner. No other owner gets it: late messages of the server about its
    /// last call must not reach another user.
    pub(super) free: Vec<(Owner, Arc<T>)>,
    /// The number of those in use, also of an earlier version of the server.
    in_use: HashMap<Owner, usize>,
}

impl<T> Default for Leases<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new(), in_use: HashMap::new() }
    }
}

impl<T> Leases<T> {
    /// An owner takes one more. False if there is no room for it.
    pub(super) fn take(&mut self, owner: &Owner, max: usize) -> bool {
        let own = self.in_use.get(owner).copied().unwrap_or_default();
        let has_room = may_take_slot(own, self.in_use.values().sum(), max);
        if has_room {
            self.in_use.insert(owner.clone(), own + 1);
        }
        has_room
    }

    /// A free session that this owner was the last to use.
    pub(super) fn reuse(&mut self, owner: &Owner) -> Option<Arc<T>> {
        let index = self.free.iter().rposition(|(last, _)| last == owner)?;
        Some(self.free.remove(index).1)
    }

    /// Takes out the session that has been free longest, if there are as many as allowed.
    pub(super) fn make_room(&mut self, max: usize) -> Option<Arc<T>> {
        if self.all.len() < max || self.free.is_empty() {
            return None;
        }
        let (_, victim) = self.free.remove(0);
        self.all.retain(|session| !Arc::ptr_eq(session, &victim));
        Some(victim)
    }

    pub(super) fn give_back(&mut self, owner: &Owner) {
        if let Some(own) = self.in_use.get_mut(owner) {
            *own -= 1;
            if *own == 0 {
                self.in_use.remove(owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_session_is_for_its_last_owner_alone() {
        let owner = |name: &str| Owner::Principal(name.into());
        let mut leases = Leases::default();
        for (name, session) in [("one", Arc::new(1)), ("two", Arc::new(2)), ("one", Arc::new(3))] {
            leases.all.push(Arc::clone(&session));
            leases.free.push((owner(name), session));
        }
        assert_eq!(leases.reuse(&owner("three")), None);
        assert_eq!(leases.reuse(&owner("one")).as_deref(), Some(&3), "the one that was used last");
        assert_eq!(leases.make_room(4), None);
        assert_eq!(leases.make_room(3).as_deref(), Some(&1), "the one that was free longest gives way");
        assert_eq!((leases.reuse(&owner("one")), leases.all.len()), (None, 2));
        assert_eq!(leases.reuse(&owner("two")).as_deref(), Some(&2));
        assert_eq!(leases.make_room(2), None, "all are in use");
    }
}

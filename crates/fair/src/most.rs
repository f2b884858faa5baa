//! Selects the holder that loses an item when a shared table is full.

use std::collections::HashMap;

use crate::owner::Owner;

/// The holder with the most, if it has more than `caller`. Each item has its holder and its size. It takes time for each item.
#[must_use]
pub fn holder_of_most(held: impl Iterator<Item = (Owner, usize)>, caller: &Owner) -> Option<Owner> {
    let mut shares = HashMap::<_, usize>::new();
    for (owner, amount) in held {
        *shares.entry(owner).or_default() += amount;
    }
    let own = shares.get(caller).copied().unwrap_or_default();
    shares.into_iter().filter(|(_, amount)| *amount > own).max_by_key(|(_, amount)| *amount).map(|(owner, _)| owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_most_gives_way_to_callers_that_hold_less() {
        let owner = |name: &str| Owner::Principal(name.into());
        let held = [("ann", 3), ("bob", 4), ("ann", 3)];
        let most = |caller| holder_of_most(held.iter().map(|(name, amount)| (owner(name), *amount)), &owner(caller));
        assert_eq!(most("ann"), None);
        assert_eq!([most("bob"), most("cid")], [Some(owner("ann")), Some(owner("ann"))]);
        assert_eq!(holder_of_most(std::iter::empty(), &owner("ann")), None);
        let equal = [("ann", 2), ("bob", 2)].map(|(name, amount)| (owner(name), amount));
        assert_eq!(holder_of_most(equal.into_iter(), &owner("bob")), None);
    }
}

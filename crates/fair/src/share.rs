//! The most that one owner may have: the dynamic threshold rule of shared switch buffers.

/// One owner may have this many times as much as stays free.
const SHARE: usize = 4;

/// True if an owner may have `held` while `free` stays free for others. One owner alone gets four fifths of all, two get four
/// ninths each, and a part stays free for an owner that has little.
#[must_use]
pub fn is_within_share(held: usize, free: usize) -> bool {
    held <= free.saturating_mul(SHARE)
}

/// True if an owner that has `held` of the `taken` slots may have one more, of at most `capacity`. What is free counts before the
/// slot is taken: the last one goes to an owner that has at most three.
#[must_use]
pub fn may_take_slot(held: usize, taken: usize, capacity: usize) -> bool {
    let free = capacity.saturating_sub(taken);
    free > 0 && (held == 0 || is_within_share(held + 1, free))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stays_free_for_other_owners() {
        for (capacity, of_one) in [(1, 1), (2, 2), (10, 8), (1000, 800), (1024, 820)] {
            let mut held = 0;
            while may_take_slot(held, held, capacity) {
                held += 1;
            }
            assert_eq!(held, of_one, "of {capacity}");
            // Others share the rest.
            let others = (held..capacity).take_while(|taken| may_take_slot(0, *taken, capacity)).count();
            assert_eq!(held + others, capacity);
        }
        assert!(!may_take_slot(0, 5, 5) && !may_take_slot(0, 0, 0));
    }
}

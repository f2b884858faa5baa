//! The share of each owner in the sessions with one server, and in the calls of one session, as in the budgets of bytes:
//! one owner alone gets four fifths of all, and a part always stays free for others.

/// An owner may have this many times as many sessions as are free.
const SHARE: usize = 4;

/// True if an owner with `own` of the `open` ones may have one more, of at most `max`.
pub(crate) fn has_room(own: usize, open: usize, max: usize) -> bool {
    let free = max.saturating_sub(open);
    free > 0 && (own == 0 || own < free.saturating_mul(SHARE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stays_free_for_other_owners() {
        for (max, of_one) in [(1, 1), (2, 2), (10, 8), (1000, 800), (1024, 820)] {
            let mut own = 0;
            while has_room(own, own, max) {
                own += 1;
            }
            assert_eq!(own, of_one, "of {max}");
            // Others share the rest.
            let others = (own..max).take_while(|open| has_room(0, *open, max)).count();
            assert_eq!(own + others, max);
        }
        assert!(!has_room(0, 5, 5) && !has_room(0, 0, 0));
    }
}

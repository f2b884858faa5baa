//! The entry that yields, in tables and under any order of events.

use std::cell::Cell;
use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn owner(name: &str) -> Owner {
    Owner::Principal(name.into())
}

/// The state of an entry: established or not, and the seconds for which it is unused; `None`: in use.
type Known = (bool, Option<u64>);

const USED: Known = (true, None);

fn idle(seconds: u64) -> Known {
    (true, Some(seconds))
}

/// Entries that began an hour ago, and a new one of `newcomer`. Returns the entry that yields, as `owner` and its place
/// in the list, or another outcome.
fn admit(limit: usize, entries: &[(&str, Known)], newcomer: &str) -> String {
    let begun = Instant::now();
    let now = begun + Duration::from_secs(3600);
    let look = |(_, (is_established, unused)): &(usize, Known)| {
        let last = now - Duration::from_secs(unused.unwrap_or_default());
        Use { is_established: *is_established, last }
    };
    let mut table = LimitedTable::new(limit);
    for (index, (who, known)) in entries.iter().enumerate() {
        assert_eq!(table.insert((index, *known), &owner(who), begun, look).0, Admission::Free);
    }
    match table.insert((entries.len(), USED), &owner(newcomer), now, look).0 {
        Admission::Free => "free".to_owned(),
        Admission::Refused => "refused".to_owned(),
        Admission::InsteadOf((index, _)) => format!("{}{index}", entries[index].0),
    }
}

#[test]
fn the_largest_holder_yields() {
    let stuck = (false, None);
    for (entries, newcomer, expected) in [
        // There is a free place.
        (&[("a", USED), ("a", USED)][..], "a", "free"),
        // One owner has all places, in use: another gets a place, the same one does not.
        (&[("a", USED), ("a", USED), ("a", USED)], "b", "a0"),
        (&[("a", USED), ("a", USED), ("a", USED)], "a", "refused"),
        // The longest unused entry yields first, but one that is not established yields before it.
        (&[("a", idle(5)), ("a", idle(30)), ("a", USED)], "b", "a1"),
        (&[("a", idle(900)), ("a", stuck), ("a", USED)], "b", "a1"),
        (&[("a", idle(900)), ("a", stuck), ("a", USED)], "a", "a1"),
        // Within one owner only unused entries yield.
        (&[("a", idle(59)), ("a", idle(30)), ("a", USED)], "a", "refused"),
        (&[("a", idle(61)), ("a", idle(60)), ("a", USED)], "a", "a0"),
        // A small holder never yields to a large one, however long its entry is unused.
        (&[("a", USED), ("a", USED), ("b", idle(3000))], "a", "refused"),
        (&[("a", USED), ("a", idle(60)), ("b", idle(3000))], "a", "a1"),
        (&[("a", USED), ("a", USED), ("b", idle(3000))], "b", "b2"),
        (&[("a", USED), ("a", USED), ("b", idle(3000))], "c", "a0"),
        // An entry in use does not yield to an owner that would have as many; an unused one does.
        (&[("a", USED), ("b", USED), ("c", USED)], "d", "refused"),
        (&[("a", USED), ("b", idle(60)), ("c", idle(61))], "d", "c2"),
        (&[("a", USED), ("a", USED), ("b", USED)], "b", "refused"),
        (&[("a", idle(60)), ("a", USED), ("b", USED)], "b", "a0"),
    ] {
        assert_eq!(admit(3, entries, newcomer), expected, "{entries:?} {newcomer}");
    }
}

#[test]
fn an_entry_has_ten_seconds_to_be_established() {
    let mut table = LimitedTable::new(2);
    let (start, is_established) = (Instant::now(), Cell::new(false));
    let at = |seconds| start + Duration::from_secs(seconds);
    let look = |_: &u32| Use { is_established: is_established.get(), last: start };
    table.insert(0, &owner("a"), at(0), look);
    table.insert(1, &owner("b"), at(0), look);
    assert_eq!(table.insert(2, &owner("c"), at(9), look).0, Admission::Refused);
    assert_eq!(table.insert(3, &owner("c"), at(10), look).0, Admission::InsteadOf(0));
    // An entry that is established late is in use again.
    is_established.set(true);
    assert_eq!(table.insert(4, &owner("d"), at(20), look).0, Admission::Refused);
    assert_eq!(table.insert(5, &owner("d"), at(60), look).0, Admission::InsteadOf(1));
}

#[test]
fn an_entry_is_examined_once_a_minute() {
    const COUNT: usize = 1000;
    let looks = Cell::new(0);
    let mut table = LimitedTable::new(COUNT);
    let start = Instant::now();
    for number in 0..COUNT {
        let name = if number % 2 == 0 { "even" } else { "odd" };
        table.insert((), &owner(name), start, |()| unreachable!("there is room"));
    }
    for second in 0..180 {
        let now = start + Duration::from_secs(10 + second);
        for _ in 0..COUNT / 10 {
            let look = |(): &()| {
                looks.set(looks.get() + 1);
                Use { is_established: true, last: now }
            };
            assert_eq!(table.insert((), &owner("even"), now, look).0, Admission::Refused);
        }
    }
    // Once when they are no longer young, and then each minute.
    assert!(looks.get() <= 4 * COUNT, "{} looks at {COUNT} entries in three minutes", looks.get());
}

#[test]
fn entries_that_come_and_go_leave_nothing() {
    let mut table = LimitedTable::new(4);
    let now = Instant::now();
    for _ in 0..1000 {
        let (_, number) = table.insert((), &owner("a"), now, |()| unreachable!("there is room"));
        assert_eq!(table.remove(number.unwrap()), Some(()));
    }
    assert!(table.entries.is_empty());
    assert!(table.young.len() <= 8, "{}", table.young.len());
}

proptest! {
    #[test]
    fn under_any_order_of_events_the_small_are_served(
        events in prop::collection::vec((0..5_u8, 0..4_u64, any::<bool>()), 1..200),
    ) {
        const LIMIT: usize = 8;
        let mut table = LimitedTable::new(LIMIT);
        let mut now = Instant::now();
        // The owner, and the time of the last use if the entry is not in use.
        let mut model: HashMap<u64, (u8, Option<Instant>)> = HashMap::new();
        for (next, (who, minutes, is_used)) in (0_u64..).zip(events) {
            now += Duration::from_secs(minutes * 20);
            let mut counts = [0_usize; 5];
            model.values().for_each(|(owner, _)| counts[usize::from(*owner)] += 1);
            let look = |id: &u64| Use { is_established: true, last: model[id].1.unwrap_or(now) };
            let (admission, number) = table.insert(next, &owner(&who.to_string()), now, look);
            prop_assert_eq!(number.is_some(), admission != Admission::Refused);
            let (own, most) = (counts[usize::from(who)], *counts.iter().max().unwrap());
            match admission {
                Admission::Free => prop_assert!(model.len() < LIMIT),
                Admission::Refused => prop_assert!(model.len() == LIMIT && most <= own + 1),
                Admission::InsteadOf(id) => {
                    let (victim, last) = model.remove(&id).unwrap();
                    let held = counts[usize::from(victim)];
                    prop_assert!(held == most && held > own || victim == who);
                    let is_unused = last.is_some_and(|last| now - last >= REPLACEABLE);
                    prop_assert!(is_unused || held > own + 1);
                }
            }
            if number.is_some() {
                model.insert(next, (who, (!is_used).then_some(now)));
            }
            prop_assert_eq!(table.len(), model.len());
        }
    }
}

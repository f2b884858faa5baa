//! The order of calls, and the calls that make room.

use super::*;

type Queue = FairQueue<u32, usize>;

/// A call of `a1` is one of the first conversation of the owner `a`.
fn push_one(queue: &mut Queue, name: &str, call: usize) -> Pushed<usize> {
    let (of, conversation) = name.split_at(1);
    queue.push(&owner(of), conversation.parse().unwrap(), call)
}

fn owner(name: &str) -> Owner {
    Owner::Principal(name.into())
}

/// Adds calls: the callers, with the number of each call in order.
fn push(queue: &mut Queue, callers: &[&str]) -> Vec<Ticket> {
    let push = |(call, name): (usize, &&str)| match push_one(queue, name, call) {
        Pushed::Waiting(ticket) => ticket,
        other => panic!("{name}: {other:?}"),
    };
    callers.iter().enumerate().map(push).collect()
}

fn order(queue: &mut Queue) -> Vec<usize> {
    std::iter::from_fn(|| queue.pop()).collect()
}

fn is_clean(queue: &Queue) -> bool {
    queue.is_empty() && queue.owners.is_empty() && queue.turns.order.is_empty()
}

#[test]
fn owners_take_turns_and_so_do_the_conversations_of_one() {
    for (callers, expected) in [
        (&["a1", "a1", "a1"][..], &[0, 1, 2][..]),
        (&["a1", "a1", "b1", "b1"], &[0, 2, 1, 3]),
        // Each turn of b follows one turn of all sessions of a.
        (&["a1", "a2", "a3", "b1", "b1"], &[0, 3, 1, 4, 2]),
        (&["a1", "a1", "a2", "b1", "a2"], &[0, 3, 2, 1, 4]),
        (&["a1", "b1", "c1", "a1", "b1", "a1"], &[0, 1, 2, 3, 4, 5]),
    ] {
        let mut queue = FairQueue::new(100);
        push(&mut queue, callers);
        assert_eq!(order(&mut queue), expected, "{callers:?}");
        assert!(is_clean(&queue), "what has gone is forgotten");
    }
}

#[test]
fn who_comes_back_comes_last() {
    let mut queue = FairQueue::new(100);
    push(&mut queue, &["a1", "b1", "b1"]);
    assert_eq!(queue.pop(), Some(0));
    push_one(&mut queue, "a1", 3);
    assert_eq!(order(&mut queue), [1, 3, 2]);
}

#[test]
fn a_removed_call_leaves_nothing_behind() {
    let mut queue = FairQueue::new(100);
    let tickets = push(&mut queue, &["a1", "a1", "a2", "b1"]);
    assert_eq!(queue.remove(&owner("b"), tickets[0]), None, "it is a's");
    assert_eq!(queue.remove(&owner("c"), tickets[0]), None);
    assert_eq!(queue.remove(&owner("a"), tickets[0]), Some(0));
    assert_eq!(queue.remove(&owner("a"), tickets[0]), None, "once");
    assert_eq!(queue.len(), 3);
    assert_eq!(queue.remove(&owner("a"), tickets[1]), Some(1));
    assert_eq!(queue.owners[&owner("a")].conversations.len(), 1);
    assert_eq!(queue.remove(&owner("b"), tickets[3]), Some(3));
    assert!(!queue.others_wait(&owner("a")) && queue.others_wait(&owner("b")));
    assert_eq!(order(&mut queue), [2]);
    assert!(is_clean(&queue) && !queue.others_wait(&owner("b")));
}

#[test]
fn a_full_queue_takes_the_newest_call_of_the_largest_holder() {
    let mut queue = FairQueue::new(4);
    push(&mut queue, &["a1", "a2", "a3", "b1"]);
    // a has three: to remove one of them would change nothing.
    assert_eq!(push_one(&mut queue, "a9", 4), Pushed::Full(4));
    let Pushed::InPlaceOf(_, displaced, held) = push_one(&mut queue, "c1", 5) else { panic!("a has more") };
    assert_eq!((displaced, held, queue.len()), (2, 3, 4));
    // Two of a, one of b, one of c: a second one of c would be as much as a has.
    assert_eq!(push_one(&mut queue, "c1", 6), Pushed::Full(6));
    let Pushed::InPlaceOf(_, displaced, held) = push_one(&mut queue, "d1", 7) else { panic!("a has two") };
    assert_eq!((displaced, held), (1, 2));
    assert_eq!(push_one(&mut queue, "e1", 8), Pushed::Full(8), "no owner has more than one");
    assert_eq!(order(&mut queue), [0, 3, 5, 7]);
}

#[test]
fn a_lone_owner_may_have_all_places() {
    let mut queue = FairQueue::new(1000);
    push(&mut queue, &["a1"; 1000]);
    assert!(matches!(push_one(&mut queue, "a1", 0), Pushed::Full(0)));
    let mut taken = 0;
    while matches!(push_one(&mut queue, "b1", 0), Pushed::InPlaceOf(..)) {
        taken += 1;
    }
    assert_eq!(taken, 500, "two have half each");
}

#[test]
fn draining_gives_every_call_back() {
    let mut queue = FairQueue::new(100);
    let before = push(&mut queue, &["a1", "b1", "a2"]);
    let mut drained = queue.drain();
    drained.sort_unstable();
    assert_eq!(drained, [0, 1, 2]);
    assert!(is_clean(&queue));
    let after = push(&mut queue, &["a1"]);
    assert!(after[0] > before[2], "no ticket is used twice");
    assert_eq!(queue.remove(&owner("a"), before[0]), None);
}

/// Against lists that are searched from end to end.
#[test]
fn any_order_of_operations_keeps_count() {
    let names = ["a1", "a2", "b1", "b2", "c1"];
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut queue = FairQueue::new(20);
    let mut model: Vec<(usize, Ticket, usize)> = Vec::new();
    for call in 0..20_000 {
        match random(4) {
            0 | 1 => {
                let name = random(names.len());
                match push_one(&mut queue, names[name], call) {
                    Pushed::Waiting(ticket) => model.push((name, ticket, call)),
                    Pushed::InPlaceOf(ticket, displaced, _) => {
                        model.retain(|(_, _, call)| *call != displaced);
                        model.push((name, ticket, call));
                    }
                    Pushed::Full(_) => assert_eq!(model.len(), 20),
                }
            }
            2 => {
                let popped = queue.pop();
                assert_eq!(popped.is_none(), model.is_empty());
                model.retain(|(_, _, call)| Some(*call) != popped);
            }
            _ if model.is_empty() => {}
            _ => {
                let (name, ticket, call) = model.swap_remove(random(model.len()));
                assert_eq!(queue.remove(&owner(&names[name][..1]), ticket), Some(call));
            }
        }
        assert_eq!(queue.len(), model.len());
    }
    assert_eq!(order(&mut queue).len(), model.len());
    assert!(is_clean(&queue));
}

/// Each of these would take minutes if it searched the queue from end to end.
#[test]
fn removing_a_hundred_thousand_calls_costs_little() {
    let mut queue = FairQueue::new(100_000);
    let tickets = push(&mut queue, &["a1"; 100_000]);
    let begun = std::time::Instant::now();
    for ticket in tickets.iter().rev() {
        assert!(queue.remove(&owner("a"), *ticket).is_some());
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(is_clean(&queue));
}

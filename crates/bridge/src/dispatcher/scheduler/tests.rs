//! The order of calls.

use protomcp_server::{Conversation, Owner, SessionId};

use super::*;

fn generation(number: u32) -> Generation {
    (1..number).fold(Generation::FIRST, |generation, _| generation.next())
}

fn session(number: u64) -> CallerKey {
    CallerKey { owner: Owner::Local, conversation: Conversation::Session(SessionId::new(number)) }
}

fn enter(scheduler: &mut Scheduler<u32>, from: u64, call: u32) -> Entry<u32> {
    scheduler.enter(&session(from), call)
}

/// The calls that may go now.
fn grants(scheduler: &mut Scheduler<u32>) -> Vec<u32> {
    std::iter::from_fn(|| scheduler.grant()).map(|(_, call)| call).collect()
}

#[test]
fn one_at_a_time_in_order() {
    let mut scheduler = Scheduler::new(10);
    scheduler.open(generation(1), 1);
    assert_eq!(enter(&mut scheduler, 1, 1), Entry::Go(generation(1), 1));
    assert!(matches!(enter(&mut scheduler, 1, 2), Entry::Wait(_)));
    assert!(matches!(enter(&mut scheduler, 1, 3), Entry::Wait(_)));
    assert_eq!(grants(&mut scheduler), [] as [u32; 0]);
    assert!(scheduler.leave(generation(1), Slot::Occupied));
    assert_eq!(grants(&mut scheduler), [2]);
    assert_eq!((scheduler.waiting(), scheduler.in_flight(generation(1))), (1, 1));
}

#[test]
fn sessions_take_turns() {
    let mut scheduler = Scheduler::new(10);
    for (from, call) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)] {
        assert!(matches!(enter(&mut scheduler, from, call), Entry::Wait(_)), "a held scheduler grants nothing");
    }
    scheduler.open(generation(1), 6);
    assert_eq!(grants(&mut scheduler), [10, 20, 30, 11, 21, 12]);
}

#[test]
fn others_want_a_slot_only_of_a_process_that_has_any() {
    let mut scheduler = Scheduler::new(10);
    scheduler.open(generation(1), 1);
    enter(&mut scheduler, 1, 1);
    enter(&mut scheduler, 1, 2);
    let owner = Owner::Principal("another".into());
    assert_eq!(scheduler.others_want(generation(1), &owner), Some(1));
    scheduler.resize(generation(1), 0);
    assert_eq!(scheduler.others_want(generation(1), &owner), None, "the end of a call gives them none");
}

#[test]
fn waiting_calls_are_not_overtaken() {
    let mut scheduler = Scheduler::new(10);
    assert!(matches!(enter(&mut scheduler, 1, 1), Entry::Wait(_)));
    scheduler.open(generation(1), 2);
    assert!(matches!(enter(&mut scheduler, 2, 2), Entry::Wait(_)), "there is room, but also a queue");
    assert_eq!(grants(&mut scheduler), [1, 2]);
}

#[test]
fn waiting_calls_go_to_the_new_process() {
    let mut scheduler = Scheduler::new(10);
    scheduler.open(generation(1), 1);
    assert_eq!(enter(&mut scheduler, 1, 1), Entry::Go(generation(1), 1));
    assert!(matches!(enter(&mut scheduler, 1, 2), Entry::Wait(_)));
    scheduler.hold();
    assert!(scheduler.leave(generation(1), Slot::Occupied));
    assert_eq!(grants(&mut scheduler), [] as [u32; 0]);
    scheduler.open(generation(2), 1);
    assert_eq!(scheduler.grant(), Some((generation(2), 2)));
}

#[test]
fn a_swap_does_not_wait_for_the_old_process() {
    let mut scheduler = Scheduler::new(10);
    scheduler.open(generation(1), 1);
    enter(&mut scheduler, 1, 1);
    scheduler.open(generation(2), 1);
    assert_eq!(enter(&mut scheduler, 1, 2), Entry::Go(generation(2), 2));
    assert!(scheduler.leave(generation(1), Slot::Occupied), "the old one is idle");
    assert_eq!((scheduler.in_flight(generation(1)), scheduler.in_flight(generation(2))), (0, 1));
    assert!(!scheduler.leave(generation(1), Slot::Occupied), "and is so only once");
}

#[test]
fn an_abandoned_call_is_never_granted() {
    let mut scheduler = Scheduler::new(10);
    let Entry::Wait(first) = enter(&mut scheduler, 1, 1) else { panic!("calls are held") };
    let Entry::Wait(_) = enter(&mut scheduler, 2, 2) else { panic!("calls are held") };
    scheduler.abandon(&session(1).owner, first);
    scheduler.abandon(&session(1).owner, first);
    assert_eq!(scheduler.waiting(), 1);
    scheduler.open(generation(1), 5);
    assert_eq!(grants(&mut scheduler), [2]);
    let Entry::Go(..) = enter(&mut scheduler, 1, 3) else { panic!("the queue is empty") };
}

#[test]
fn the_queue_is_bounded() {
    let mut scheduler = Scheduler::new(2);
    enter(&mut scheduler, 1, 1);
    enter(&mut scheduler, 2, 2);
    assert_eq!(enter(&mut scheduler, 3, 3), Entry::Full(3, 2));
    let other = CallerKey { owner: Owner::Principal("other".into()), ..session(3) };
    assert!(matches!(scheduler.enter(&other, 4), Entry::WaitInPlaceOf(_, 2, 2)), "the newest of the largest holder");
    assert_eq!(scheduler.waiting(), 2);
}

#[test]
fn refusing_returns_waiting_calls_and_accepts_none() {
    let mut scheduler = Scheduler::new(5);
    enter(&mut scheduler, 1, 1);
    enter(&mut scheduler, 2, 2);
    let mut back = scheduler.refuse("gone".into());
    back.sort_unstable();
    assert_eq!(back, [1, 2]);
    assert_eq!(enter(&mut scheduler, 1, 3), Entry::Down(3, "gone".into()));
    scheduler.open(generation(2), 1);
    assert_eq!(enter(&mut scheduler, 1, 4), Entry::Go(generation(2), 4));
}

#[test]
fn a_given_up_call_keeps_its_slot_but_is_not_in_flight() {
    let mut scheduler = Scheduler::new(5);
    scheduler.open(generation(1), 1);
    enter(&mut scheduler, 1, 1);
    enter(&mut scheduler, 1, 2);
    assert!(scheduler.give_up(generation(1)), "nothing is in flight");
    assert_eq!((grants(&mut scheduler), scheduler.is_busy(generation(1))), (vec![], true));
    scheduler.free(generation(1));
    assert_eq!(grants(&mut scheduler), [2]);
    assert!(scheduler.leave(generation(1), Slot::Occupied));
    scheduler.free(generation(1));
    assert!(!scheduler.is_busy(generation(1)));
    enter(&mut scheduler, 1, 3);
    assert!(scheduler.give_up(generation(1)));
    scheduler.open(generation(2), 1);
    assert_eq!(enter(&mut scheduler, 1, 4), Entry::Go(generation(2), 4), "another process is not busy with it");
}

#[test]
fn a_task_is_in_flight_and_has_no_place() {
    let mut scheduler = Scheduler::new(5);
    scheduler.open(generation(1), 1);
    enter(&mut scheduler, 1, 1);
    enter(&mut scheduler, 1, 2);
    assert_eq!(scheduler.detach(generation(1)), Slot::Detached);
    assert_eq!(grants(&mut scheduler), [2]);
    assert_eq!(scheduler.in_flight(generation(1)), 2);
    assert!(!scheduler.leave(generation(1), Slot::Occupied), "the task continues");
    assert!(scheduler.leave(generation(1), Slot::Detached));
    assert_eq!(scheduler.detach(generation(1)), Slot::Occupied, "there is no call to detach");
}

#[test]
fn the_number_of_tasks_without_a_slot_is_bounded() {
    let mut scheduler = Scheduler::new(5);
    scheduler.open(generation(1), 1);
    for call in 0..1024 {
        assert_eq!(enter(&mut scheduler, 1, call), Entry::Go(generation(1), call));
        assert_eq!(scheduler.detach(generation(1)), Slot::Detached);
    }
    enter(&mut scheduler, 1, 2000);
    assert_eq!(scheduler.detach(generation(1)), Slot::Occupied);
    assert!(matches!(enter(&mut scheduler, 1, 2001), Entry::Wait(_)));
}

#[test]
fn no_call_goes_to_a_process_that_was_lost() {
    let mut scheduler = Scheduler::new(5);
    scheduler.open(generation(2), 1);
    scheduler.lose(generation(1));
    assert_eq!(enter(&mut scheduler, 1, 1), Entry::Go(generation(2), 1), "another process serves");
    assert!(scheduler.leave(generation(2), Slot::Occupied));
    scheduler.lose(generation(2));
    assert!(matches!(enter(&mut scheduler, 1, 2), Entry::Wait(_)));
    scheduler.open(generation(3), 1);
    assert_eq!(grants(&mut scheduler), [2]);
}

//! The order of calls.

use protomcp_server::{Conversation, Owner, SessionId};

use super::*;

fn generation(number: u32) -> Generation {
    (1..number).fold(Generation::FIRST, |generation, _| generation.next())
}

fn session(number: u64) -> CallerKey {
    CallerKey { owner: Owner::Local, conversation: Conversation::Session(SessionId::new(number)) }
}

fn enter(lane: &mut Scheduler<u32>, from: u64, call: u32) -> Entry<u32> {
    lane.enter(&session(from), call)
}

/// The calls that may go now.
fn grants(lane: &mut Scheduler<u32>) -> Vec<u32> {
    std::iter::from_fn(|| lane.grant()).map(|(_, call)| call).collect()
}

#[test]
fn one_at_a_time_in_order() {
    let mut lane = Scheduler::new(10);
    lane.open(generation(1), 1);
    assert_eq!(enter(&mut lane, 1, 1), Entry::Go(generation(1), 1));
    assert!(matches!(enter(&mut lane, 1, 2), Entry::Wait(_)));
    assert!(matches!(enter(&mut lane, 1, 3), Entry::Wait(_)));
    assert_eq!(grants(&mut lane), [] as [u32; 0]);
    assert!(lane.leave(generation(1), Slot::Held));
    assert_eq!(grants(&mut lane), [2]);
    assert_eq!((lane.waiting(), lane.in_flight(generation(1))), (1, 1));
}

#[test]
fn sessions_take_turns() {
    let mut lane = Scheduler::new(10);
    for (from, call) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)] {
        assert!(matches!(enter(&mut lane, from, call), Entry::Wait(_)), "a held lane lets nothing go");
    }
    lane.open(generation(1), 6);
    assert_eq!(grants(&mut lane), [10, 20, 30, 11, 21, 12]);
}

#[test]
fn nobody_overtakes_those_who_wait() {
    let mut lane = Scheduler::new(10);
    assert!(matches!(enter(&mut lane, 1, 1), Entry::Wait(_)));
    lane.open(generation(1), 2);
    assert!(matches!(enter(&mut lane, 2, 2), Entry::Wait(_)), "there is room, but also a queue");
    assert_eq!(grants(&mut lane), [1, 2]);
}

#[test]
fn waiting_calls_go_to_the_new_process() {
    let mut lane = Scheduler::new(10);
    lane.open(generation(1), 1);
    assert_eq!(enter(&mut lane, 1, 1), Entry::Go(generation(1), 1));
    assert!(matches!(enter(&mut lane, 1, 2), Entry::Wait(_)));
    lane.hold();
    assert!(lane.leave(generation(1), Slot::Held));
    assert_eq!(grants(&mut lane), [] as [u32; 0]);
    lane.open(generation(2), 1);
    assert_eq!(lane.grant(), Some((generation(2), 2)));
}

#[test]
fn a_swap_does_not_wait_for_the_old_process() {
    let mut lane = Scheduler::new(10);
    lane.open(generation(1), 1);
    enter(&mut lane, 1, 1);
    lane.open(generation(2), 1);
    assert_eq!(enter(&mut lane, 1, 2), Entry::Go(generation(2), 2));
    assert!(lane.leave(generation(1), Slot::Held), "the old one is idle");
    assert_eq!((lane.in_flight(generation(1)), lane.in_flight(generation(2))), (0, 1));
    assert!(!lane.leave(generation(1), Slot::Held), "and is so only once");
}

#[test]
fn a_place_given_up_is_nobody_s() {
    let mut lane = Scheduler::new(10);
    let Entry::Wait(first) = enter(&mut lane, 1, 1) else { panic!("a held lane") };
    let Entry::Wait(_) = enter(&mut lane, 2, 2) else { panic!("a held lane") };
    lane.abandon(&session(1).owner, first);
    lane.abandon(&session(1).owner, first);
    assert_eq!(lane.waiting(), 1);
    lane.open(generation(1), 5);
    assert_eq!(grants(&mut lane), [2]);
    let Entry::Go(..) = enter(&mut lane, 1, 3) else { panic!("nobody waits") };
}

#[test]
fn the_queue_is_bounded() {
    let mut lane = Scheduler::new(2);
    enter(&mut lane, 1, 1);
    enter(&mut lane, 2, 2);
    assert_eq!(enter(&mut lane, 3, 3), Entry::Full(3, 2));
    let other = CallerKey { owner: Owner::Principal("other".into()), ..session(3) };
    assert!(matches!(lane.enter(&other, 4), Entry::WaitInPlaceOf(_, 2, 2)), "the newest of the largest holder");
    assert_eq!(lane.waiting(), 2);
}

#[test]
fn a_refused_lane_gives_back_who_waits_and_takes_nobody() {
    let mut lane = Scheduler::new(5);
    enter(&mut lane, 1, 1);
    enter(&mut lane, 2, 2);
    let mut back = lane.refuse("gone".into());
    back.sort_unstable();
    assert_eq!(back, [1, 2]);
    assert_eq!(enter(&mut lane, 1, 3), Entry::Down(3, "gone".into()));
    lane.open(generation(2), 1);
    assert_eq!(enter(&mut lane, 1, 4), Entry::Go(generation(2), 4));
}

#[test]
fn a_call_that_was_given_up_keeps_its_place_and_nobody_waits_for_its_end() {
    let mut lane = Scheduler::new(5);
    lane.open(generation(1), 1);
    enter(&mut lane, 1, 1);
    enter(&mut lane, 1, 2);
    assert!(lane.give_up(generation(1)), "nothing is in flight");
    assert_eq!((grants(&mut lane), lane.is_busy(generation(1))), (vec![], true));
    lane.free(generation(1));
    assert_eq!(grants(&mut lane), [2]);
    assert!(lane.leave(generation(1), Slot::Held));
    lane.free(generation(1));
    assert!(!lane.is_busy(generation(1)));
    enter(&mut lane, 1, 3);
    assert!(lane.give_up(generation(1)));
    lane.open(generation(2), 1);
    assert_eq!(enter(&mut lane, 1, 4), Entry::Go(generation(2), 4), "another process is not busy with it");
}

#[test]
fn a_task_is_in_flight_and_has_no_place() {
    let mut lane = Scheduler::new(5);
    lane.open(generation(1), 1);
    enter(&mut lane, 1, 1);
    enter(&mut lane, 1, 2);
    assert_eq!(lane.detach(generation(1)), Slot::Detached);
    assert_eq!(grants(&mut lane), [2]);
    assert_eq!(lane.in_flight(generation(1)), 2);
    assert!(!lane.leave(generation(1), Slot::Held), "the task goes on");
    assert!(lane.leave(generation(1), Slot::Detached));
    assert_eq!(lane.detach(generation(1)), Slot::Held, "there is nothing to step aside");
}

#[test]
fn no_more_than_so_many_tasks_are_without_a_place() {
    let mut lane = Scheduler::new(5);
    lane.open(generation(1), 1);
    for call in 0..1024 {
        assert_eq!(enter(&mut lane, 1, call), Entry::Go(generation(1), call));
        assert_eq!(lane.detach(generation(1)), Slot::Detached);
    }
    enter(&mut lane, 1, 2000);
    assert_eq!(lane.detach(generation(1)), Slot::Held);
    assert!(matches!(enter(&mut lane, 1, 2001), Entry::Wait(_)));
}

#[test]
fn no_call_goes_to_a_process_that_was_lost() {
    let mut lane = Scheduler::new(5);
    lane.open(generation(2), 1);
    lane.lose(generation(1));
    assert_eq!(enter(&mut lane, 1, 1), Entry::Go(generation(2), 1), "another process serves");
    assert!(lane.leave(generation(2), Slot::Held));
    lane.lose(generation(2));
    assert!(matches!(enter(&mut lane, 1, 2), Entry::Wait(_)));
    lane.open(generation(3), 1);
    assert_eq!(grants(&mut lane), [2]);
}

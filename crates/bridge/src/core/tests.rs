//! The core as a table of inputs and effects.
//!
//! A script is a list of inputs; each is followed by its effects, in a short form. Published lists are written as the
//! names that a session without its own selection sees.

mod catalog;
mod draining;
mod faults;
mod first_version;
mod handover;
mod link_events;
mod list;
mod middleware;
mod pace;
mod retiring;
mod superseded;
mod words;

use std::sync::Arc;

use protomcp_envelope::ToolDefinition;
use protomcp_server::SessionId;
use protomcp_supervisor::{Exit, Status};
use protomcp_toollist::Command;
use protomcp_types::ToolName;

use super::*;
use crate::catalog::registration::Registration;
use crate::catalog::tool::SchemaPolicy;
use crate::core::list::ToolLists;
use crate::core::tests::words::describe;
use crate::process::sdk::SdkFeatures;

const LIMITS: Limits = Limits { call_timeout: Duration::from_secs(300), max_retiring: 4 };
const NAMES: [&str; 3] = ["a", "b", "c"];

/// No call is in flight, and one thread reads the socket.
struct Calm {
    /// All processes hand over their state.
    hands_over: bool,
    /// A session that has ended, which the core does not know yet.
    ended: Option<SessionId>,
}

const CALM: Calm = Calm { hands_over: false, ended: None };

impl Facts for Calm {
    fn features(&self, _: Generation) -> Option<SdkFeatures> {
        Some(SdkFeatures { hands_over: self.hands_over, ..SdkFeatures::default() })
    }

    fn is_idle(&self, _: Generation) -> bool {
        true
    }

    fn is_busy(&self, _: Generation) -> bool {
        false
    }

    fn has_two_readers(&self, _: Generation) -> bool {
        false
    }

    fn list_scope(&self, _: Generation, _: &str) -> Option<SessionId> {
        None
    }

    fn is_open(&self, session: SessionId) -> bool {
        self.ended != Some(session)
    }
}

struct Rig {
    core: Core,
    start: Instant,
    now: Instant,
    tools: Vec<ToolDefinition>,
    facts: Calm,
}

fn definitions(names: &[&str]) -> Vec<ToolDefinition> {
    names.iter().map(|name| ToolDefinition { name: (*name).into(), ..Default::default() }).collect()
}

fn registered(tools: &[ToolDefinition]) -> Registration {
    Registration { tools: Some(tools.into()), ..Registration::default() }
}

fn generation(number: u32) -> Generation {
    (1..number).fold(Generation::FIRST, |generation, _| generation.next())
}

fn names(names: &[&str]) -> Vec<ToolName> {
    names.iter().map(|name| ToolName::new(*name).unwrap()).collect()
}

fn session(number: u64) -> SessionId {
    SessionId::new(number)
}

impl Rig {
    fn new(mode: ReloadMode) -> Self {
        let tools = definitions(&NAMES);
        let now = Instant::now();
        let (core, effects) = Core::new(now, mode, no_tools(), LIMITS, FirstVersion::Required);
        assert_eq!(describe(&effects), "start 1");
        let mut rig = Self { core, start: now, now, tools, facts: CALM };
        rig.started(1, "list a,b,c; release 1; first started");
        rig
    }

    /// Gives an input and compares its effects. No earlier deadline may be pending.
    #[track_caller]
    fn check(&mut self, input: Input, expected: &str) {
        let effects = self.core.handle(self.now, input, &self.facts);
        assert_eq!(describe(&effects), expected);
        assert!(self.core.deadline().is_none_or(|at| at > self.now), "{:?} is overdue", self.core);
    }

    /// Lets this many milliseconds pass without a deadline.
    #[track_caller]
    fn pass(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        assert!(self.core.deadline().is_none_or(|at| at > self.now));
    }

    /// Replaces the previous process in swap mode: it is asked to report when it is idle.
    #[track_caller]
    fn swap_to(&mut self, number: u32) {
        self.check(Input::Changed, &format!("start {number}"));
        self.swapped_to(number);
    }

    /// The same from the start of the new process on.
    #[track_caller]
    fn swapped_to(&mut self, number: u32) {
        let old = number - 1;
        self.started(number, &format!("list a,b,c; release {number}; changed everyone; report reloaded; await {old}"));
    }

    /// The process starts and registers the same tools again.
    #[track_caller]
    fn started(&mut self, number: u32, expected: &str) {
        let registered = registered(&self.tools.clone());
        self.check(Input::Started(generation(number), registered), expected);
    }

    #[track_caller]
    fn exited(&mut self, number: u32, uptime: u64, expected: &str) {
        let exit = Exit { status: Status::Signal(9), stderr_tail: Vec::new(), uptime: Duration::from_secs(uptime) };
        let separator = if expected.is_empty() { "" } else { "; " };
        self.check(Input::Exited(generation(number), exit), &format!("{expected}{separator}remove {number}"));
    }

    /// Lets time pass until the deadline, which must be after this many milliseconds.
    #[track_caller]
    fn elapse(&mut self, millis: u64, expected: &str) {
        let deadline = self.core.deadline().expect("something is due");
        assert_eq!(deadline.duration_since(self.now), Duration::from_millis(millis));
        self.now = deadline;
        self.check(Input::Elapsed, expected);
    }
}

fn no_tools() -> List {
    List::new(SchemaPolicy::Proven, ToolLists::PerSession)
}

#[test]
fn graceful_replaces_a_process_that_changed_nothing() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    let same = registered(&rig.tools.clone());
    rig.check(Input::Reloaded(generation(1), same), "start 2");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1");
    rig.check(Input::Idle(generation(1)), "stop 1");
    rig.exited(1, 9, "");
}

#[test]
fn a_process_that_is_being_replaced_does_not_change_the_list() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    let same = registered(&rig.tools.clone());
    rig.check(Input::Reloaded(generation(1), same), "start 2");
    let ask = || Input::Control {
        generation: generation(1),
        session: None,
        command: Ok(Command::disable(names(&["a"]))),
        reply: Some("1".into()),
    };
    rig.check(ask(), "reply a,b,c");
    // Once calls go to it again, it may change the list.
    rig.elapse(5000, "release 1");
    rig.check(ask(), "list b,c; changed everyone; reply b,c");
}

#[test]
fn graceful_keeps_a_process_that_reloaded_in_place() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    let new = registered(&definitions(&["new"]));
    rig.check(Input::Reloaded(generation(1), new), "list new; release 1; changed everyone; report in place");
    // The announcement of the feature counts like a difference.
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    let same = Registration { in_place: true, ..registered(&definitions(&["new"])) };
    rig.check(Input::Reloaded(generation(1), same), "list new; release 1; changed everyone; report in place");
}

#[test]
fn a_refused_reload_keeps_the_process_and_silence_replaces_it() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    let failed = "report failed: the tool process reported an error: syntax; release 1";
    rig.check(Input::NotReloaded(generation(1), Some("syntax".into())), failed);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    rig.check(Input::NotReloaded(generation(1), None), "start 2");
}

#[test]
fn a_failed_start_changes_nothing() {
    for (mode, change) in [(ReloadMode::Swap, "start 2"), (ReloadMode::Immediate, "hold; interrupt 1; start 2")] {
        let mut rig = Rig::new(mode);
        rig.check(Input::Changed, change);
        rig.check(Input::StartFailed(generation(2), "syntax".into()), "report failed: syntax; release 1");
        assert_eq!(rig.core.deadline(), None);
        rig.check(Input::Changed, &change.replace('2', "3"));
    }
}

#[test]
fn a_slow_start_holds_calls_for_a_bounded_time() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Idle(generation(1)), "ask 1");
    rig.check(Input::NotReloaded(generation(1), None), "start 2");
    rig.elapse(5000, "release 1");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1");
}

#[test]
fn swap_starts_the_new_process_and_lets_the_old_one_finish() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.check(Input::Changed, "start 2");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1");
    rig.check(Input::Idle(generation(1)), "stop 1");
    rig.exited(1, 9, "");
}

#[test]
fn immediate_fails_calls_and_stops_the_old_process() {
    let mut rig = Rig::new(ReloadMode::Immediate);
    rig.check(Input::Changed, "hold; interrupt 1; start 2");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; cut short 1");
}

#[test]
fn changes_during_a_reload_become_one_further_reload() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.check(Input::Changed, "start 2");
    rig.check(Input::Changed, "report waits");
    rig.check(Input::Changed, "");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1; start 3");
    rig.check(Input::Idle(generation(1)), "stop 1");
    assert_eq!(rig.core.deadline(), None);
    rig.swapped_to(3);
    rig.exited(1, 9, "");
    rig.check(Input::Idle(generation(2)), "stop 2");
    rig.exited(2, 9, "");
    assert_eq!(rig.core.deadline(), None);
}

#[test]
fn a_change_before_the_files_are_read_needs_no_further_reload() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.check(Input::Changed, "name calls of 1");
    rig.check(Input::Changed, "");
    rig.check(Input::Idle(generation(1)), "ask 1");
    // The process may have read them by now; a process that starts afterwards reads them again.
    rig.check(Input::Changed, "report waits");
    rig.check(Input::NotReloaded(generation(1), None), "start 2");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1");
    assert_eq!(rig.core.deadline(), None, "no change waits");
    // A process that reloaded in place may have read them too early.
    rig.check(Input::Changed, "hold; await 2");
    rig.check(Input::Idle(generation(2)), "ask 2");
    rig.check(Input::Changed, "report waits");
    let new = registered(&definitions(&["new"]));
    rig.check(Input::Reloaded(generation(2), new), "list new; release 2; changed everyone; report in place");
    rig.elapse(1000, "hold; await 2");
}

#[test]
fn crashes_restart_with_growing_pauses_until_it_gives_up() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.exited(1, 1, "hold; report crash; report restart in 250ms");
    for (number, pause) in [(2, 250), (3, 500), (4, 1000), (5, 2000)] {
        rig.elapse(pause, &format!("start {number}"));
        let next = if number == 5 {
            "report restart failed; refuse: broken; list a,b,c; report gave up after 5".into()
        } else {
            format!("report restart failed; report restart in {:?}", Duration::from_millis(pause * 2))
        };
        rig.check(Input::StartFailed(generation(number), "broken".into()), &next);
    }
    assert_eq!(rig.core.deadline(), None, "it is left alone");
    rig.check(Input::Changed, "start 6");
    rig.started(6, "list a,b,c; release 6; report back");
}

#[test]
fn a_minute_of_health_resets_earlier_crashes() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.exited(1, 1, "hold; report crash; report restart in 250ms");
    rig.elapse(250, "start 2");
    rig.started(2, "list a,b,c; release 2; report back");
    rig.exited(2, 1, "hold; report crash; report restart in 500ms");
    rig.elapse(500, "start 3");
    rig.started(3, "list a,b,c; release 3; report back");
    rig.exited(3, 61, "hold; report crash; report restart in 250ms");
}

#[test]
fn a_restart_with_other_tools_is_announced() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.exited(1, 1, "hold; report crash; report restart in 250ms");
    rig.elapse(250, "start 2");
    let other = registered(&definitions(&["z"]));
    rig.check(Input::Started(generation(2), other), "list z; release 2; changed everyone; report back");
}

#[test]
fn a_crash_while_a_reload_waits_starts_the_new_code_immediately() {
    let mut rig = Rig::new(ReloadMode::Graceful);
    rig.check(Input::Changed, "hold; await 1");
    rig.exited(1, 1, "hold; report crash; start 2");
    rig.started(2, "list a,b,c; release 2; report back");
}

#[test]
fn a_crash_while_the_next_process_starts_only_waits_for_it() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.check(Input::Changed, "start 2");
    rig.exited(1, 1, "hold; report crash");
    rig.check(Input::StartFailed(generation(2), "broken".into()), "report restart failed; report restart in 250ms");
    rig.elapse(250, "start 3");
}

#[test]
fn a_save_during_a_restart_is_taken_up_after_it() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.exited(1, 1, "hold; report crash; report restart in 250ms");
    rig.elapse(250, "start 2");
    rig.check(Input::Changed, "");
    rig.started(2, "list a,b,c; release 2; report back; start 3");
}

#[test]
fn messages_of_retired_processes_have_no_effect() {
    let mut rig = Rig::new(ReloadMode::Swap);
    rig.check(Input::Changed, "start 2");
    rig.started(2, "list a,b,c; release 2; changed everyone; report reloaded; await 1");
    rig.check(Input::Listed(generation(1), definitions(&["old"])), "");
    let same = registered(&rig.tools.clone());
    rig.check(Input::Reloaded(generation(1), same), "");
    let disable = Ok(Command::disable(names(&["a"])));
    let control =
        Input::Control { generation: generation(1), session: None, command: disable, reply: Some("x".into()) };
    rig.check(control, "reply a,b,c");
    rig.started(7, "stop 7");
}

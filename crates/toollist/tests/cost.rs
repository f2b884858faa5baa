//! The cost of a command, counted in comparisons of names instead of time.

use std::cell::Cell;
use std::cmp::Ordering;

use protomcp_toollist::{Command, ToolList};

const TOOLS: u32 = 10_000;

thread_local! {
    static COMPARISONS: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug, Clone)]
struct Name(u32);

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARISONS.set(COMPARISONS.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Name {}

#[test]
fn hiding_and_showing_a_few_names_does_not_walk_the_list() {
    let mut list = full_list();
    list.apply(&Command::set_blocked((0..TOOLS).step_by(2).map(Name).collect())).unwrap();
    for command in [Command::disable(vec![Name(7)]), Command::enable(vec![Name(7)]), Command::enable(vec![Name(8)])] {
        let spent = comparisons(|| assert!(!list.apply(&command).unwrap().is_empty()));
        assert!(spent < 400, "{spent} comparisons for one name");
    }
}

#[test]
fn looking_a_tool_up_does_not_walk_the_list() {
    let list = full_list();
    let spent = comparisons(|| assert!(list.get(&Name(TOOLS / 3)).is_some()));
    assert!(spent < 40, "{spent} comparisons");
}

#[test]
fn a_registration_of_a_sorted_list_walks_it_a_few_times() {
    let mut list = full_list();
    let spent = comparisons(|| {
        list.register((0..TOOLS).map(|n| (Name(n), ())).collect());
    });
    assert!(spent < 8 * TOOLS as usize, "{spent} comparisons");
}

fn full_list() -> ToolList<Name, ()> {
    let mut list = ToolList::new();
    list.register((0..TOOLS).map(|n| (Name(n), ())).collect());
    list
}

fn comparisons(work: impl FnOnce()) -> usize {
    let before = COMPARISONS.get();
    work();
    COMPARISONS.get() - before
}

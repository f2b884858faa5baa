//! Every cell of the table of transitions (docs/envelope.md, "Tool list"), as data.

use protomcp_toollist::{Batch, Command, Mode, Policy, Rejected, Selection};

type Names = &'static [&'static str];

#[derive(Clone, Copy)]
enum Start {
    Open(Names),
    Allow(Names),
    Block(Names),
}

#[derive(Clone, Copy)]
enum Op {
    Enable(Names),
    Disable(Names),
    SetAllowed(Names),
    SetBlocked(Names),
    Result { enable: Names, disable: Names },
    Batch { enable: Names, disable: Names, allow: Names, block: Names },
}

use Op::{Disable, Enable, SetAllowed, SetBlocked};
use Start::{Allow, Block, Open};

const NONE: Names = &[];

#[test]
fn enabling_shows_a_name_in_the_way_of_the_mode() {
    check(Open(&["a", "b"]), Enable(&["a", "c"]), "open b");
    check(Allow(&["a"]), Enable(&["a", "c"]), "allow a c");
    check(Block(&["a", "b"]), Enable(&["a", "c"]), "block b");
}

#[test]
fn disabling_hides_a_name_in_the_way_of_the_mode() {
    check(Open(&["b"]), Disable(&["b", "a"]), "open a b");
    check(Allow(&["a", "b"]), Disable(&["a", "c"]), "allow b");
    check(Block(&["b"]), Disable(&["b", "a"]), "block a b");
}

#[test]
fn an_allowlist_that_lost_its_last_name_is_still_an_allowlist() {
    check(Allow(&["a"]), Disable(&["a"]), "allow");
    check(Block(&["a"]), Enable(&["a"]), "block");
    check(Open(&["a"]), Enable(&["a"]), "open");
}

#[test]
fn set_allowed_replaces_mode_and_names() {
    check(Open(&["a"]), SetAllowed(&["b", "a", "b"]), "allow a b");
    check(Allow(&["a"]), SetAllowed(&["b"]), "allow b");
    check(Block(&["a"]), SetAllowed(&["b"]), "allow b");
}

#[test]
fn set_blocked_replaces_mode_and_names() {
    check(Open(&["a"]), SetBlocked(&["b", "a", "b"]), "block a b");
    check(Allow(&["a"]), SetBlocked(&["b"]), "block b");
    check(Block(&["a"]), SetBlocked(&["b"]), "block b");
}

#[test]
fn setting_no_names_goes_back_to_open_and_forgets() {
    for start in [Open(&["a"]), Allow(&["a"]), Block(&["a"])] {
        check(start, SetAllowed(NONE), "open");
        check(start, SetBlocked(NONE), "open");
    }
}

#[test]
fn a_batch_without_policy_edits_in_the_mode_in_force() {
    let op = Op::Batch { enable: &["a"], disable: &["b"], allow: NONE, block: NONE };
    check(Open(&["a"]), op, "open b");
    check(Allow(&["b", "c"]), op, "allow a c");
    check(Block(&["a"]), op, "block b");
}

#[test]
fn an_empty_batch_does_not_reset() {
    let op = Op::Batch { enable: NONE, disable: NONE, allow: NONE, block: NONE };
    check(Open(&["a"]), op, "open a");
    check(Allow(&["a"]), op, "allow a");
    check(Block(&["a"]), op, "block a");
}

#[test]
fn a_batch_takes_its_policy_first_then_enables_then_disables() {
    for start in [Open(&["z"]), Allow(&["z"]), Block(&["z"])] {
        let allow = Op::Batch { enable: &["c"], disable: &["a"], allow: &["a", "b"], block: NONE };
        check(start, allow, "allow b c");
        let block = Op::Batch { enable: &["a"], disable: &["c"], allow: NONE, block: &["a", "b"] };
        check(start, block, "block b c");
    }
}

#[test]
fn a_name_both_enabled_and_disabled_ends_disabled() {
    let batch = Op::Batch { enable: &["a"], disable: &["a"], allow: NONE, block: NONE };
    let result = Op::Result { enable: &["a"], disable: &["a"] };
    for op in [batch, result] {
        check(Open(NONE), op, "open a");
        check(Allow(&["a"]), op, "allow");
        check(Block(NONE), op, "block a");
    }
}

#[test]
fn the_lists_of_a_result_edit_in_the_mode_in_force() {
    let op = Op::Result { enable: &["a"], disable: &["b"] };
    check(Open(&["a"]), op, "open b");
    check(Allow(&["b", "c"]), op, "allow a c");
    check(Block(&["a"]), op, "block b");
}

#[test]
fn a_batch_that_allows_and_blocks_is_rejected_as_a_whole() {
    let batch = Batch { enable: vec!["a"], disable: vec!["b"], allow: vec!["c"], block: vec!["d"] };
    assert_eq!(Command::batch(batch), Err(Rejected::AllowAndBlock));
}

#[test]
fn a_policy_that_allows_nothing_is_not_open() {
    let mut selection = Selection::from(Policy::Allow([].into()));
    assert!(!selection.allows("a"));
    let allow_nothing = Command { policy: Some(Policy::Allow([].into())), enable: vec![], disable: vec![] };
    selection.apply(&Command::set_allowed(vec!["a"])).unwrap();
    selection.apply(&allow_nothing).unwrap();
    assert_eq!(written(&selection), "allow");
}

#[test]
fn each_mode_reads_its_names_its_own_way() {
    for (start, listed_is_visible) in [(Open(&["a"]), false), (Allow(&["a"]), true), (Block(&["a"]), false)] {
        let selection = selection(start);
        assert_eq!(selection.allows("a"), listed_is_visible);
        assert_eq!(selection.allows("other"), !listed_is_visible);
    }
}

#[test]
fn a_selection_starts_open() {
    assert_eq!(written(&Selection::default()), "open");
    assert_eq!(Selection::<&str>::default(), Selection::from(Policy::Open));
}

fn check(start: Start, op: Op, expected: &str) {
    let mut selection = selection(start);
    let command = command(op);
    selection.apply(&command).expect("far from the bound");
    assert_eq!(written(&selection), expected);
    // No cell adds up: taking the same step again leaves everything where it is.
    selection.apply(&command).expect("far from the bound");
    assert_eq!(written(&selection), expected, "a second time");
}

fn selection(start: Start) -> Selection<&'static str> {
    match start {
        Open(disabled) => {
            let mut selection = Selection::open();
            selection.apply(&Command::disable(disabled.to_vec())).expect("far from the bound");
            selection
        }
        Allow(allowed) => Selection::from(Policy::Allow(allowed.iter().copied().collect())),
        Block(blocked) => Selection::from(Policy::Block(blocked.iter().copied().collect())),
    }
}

fn command(op: Op) -> Command<&'static str> {
    match op {
        Enable(names) => Command::enable(names.to_vec()),
        Disable(names) => Command::disable(names.to_vec()),
        SetAllowed(names) => Command::set_allowed(names.to_vec()),
        SetBlocked(names) => Command::set_blocked(names.to_vec()),
        Op::Result { enable, disable } => Command::enable_then_disable(enable.to_vec(), disable.to_vec()),
        Op::Batch { enable, disable, allow, block } => Command::batch(Batch {
            enable: enable.to_vec(),
            disable: disable.to_vec(),
            allow: allow.to_vec(),
            block: block.to_vec(),
        })
        .expect("allow or block is empty"),
    }
}

fn written(selection: &Selection<&'static str>) -> String {
    let mode = match selection.mode() {
        Mode::Open => "open",
        Mode::Allow => "allow",
        Mode::Block => "block",
    };
    [mode].into_iter().chain(selection.listed().copied()).collect::<Vec<_>>().join(" ")
}

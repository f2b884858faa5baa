//! Registering tools, looking at them, and what each step announces.

use protomcp_toollist::{Change, Command, MAX_LISTED_NAMES, Mode, Policy, Registration, Rejected, Selection, ToolList};

type List = ToolList<&'static str, u8>;

#[test]
fn tools_are_seen_in_bytewise_order() {
    let list = list(&[("b", 1), ("Z", 2), ("a.b", 3), ("a", 4), ("é", 5)]);
    assert_eq!(active(&list), "Z a a.b b é");
    assert_eq!(list.registered().count(), 5);
}

#[test]
fn a_new_list_is_empty_and_open() {
    let list = List::default();
    assert_eq!(active(&list), "");
    assert_eq!(list.selection(), &Selection::open());
    assert!(list.get("a").is_none());
}

#[test]
fn registering_replaces_the_tools_and_says_how() {
    let mut list = list(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    let registration = list.register(vec![("e", 1), ("b", 2), ("c", 1), ("aa", 1)]);
    assert_eq!(written(&registration.visible), "+aa +e -a -d ~b");
    assert_eq!(registration.registered, registration.visible);
    assert_eq!(active(&list), "aa b c e");
    assert_eq!(list.get("b"), Some(&2));
}

#[test]
fn registering_the_same_again_announces_nothing() {
    let mut list = list(&[("a", 1), ("b", 2)]);
    let registration = list.register(vec![("b", 2), ("a", 1)]);
    assert!(registration.visible.is_empty());
    assert!(registration.registered.is_empty());
    assert_eq!(registration.duplicates, [""; 0]);
}

#[test]
fn the_last_of_equal_names_counts_and_is_reported_once() {
    let mut list = List::new();
    let registration = list.register(vec![("b", 1), ("a", 1), ("b", 2), ("c", 1), ("a", 2), ("b", 3)]);
    assert_eq!(registration.duplicates, ["a", "b"]);
    assert_eq!(list.registered().collect::<Vec<_>>(), [(&"a", &2), (&"b", &3), (&"c", &1)]);
    assert_eq!(list.restart(vec![("x", 1), ("x", 7)]).duplicates, ["x"]);
    assert_eq!(list.get("x"), Some(&7));
}

#[test]
fn registering_keeps_the_selection() {
    let mut list = list(&[("a", 1), ("b", 1)]);
    list.apply(&Command::disable(vec!["b"])).unwrap();
    assert_eq!(written(&list.register(vec![("a", 1)]).visible), "");
    let registration = list.register(vec![("a", 1), ("b", 2), ("c", 1)]);
    assert_eq!(written(&registration.visible), "+c");
    assert_eq!(written(&registration.registered), "+b +c");
    assert_eq!(active(&list), "a c");
}

#[test]
fn a_changed_definition_of_a_hidden_tool_is_not_announced() {
    let mut list = list(&[("a", 1), ("b", 1)]);
    list.apply(&Command::disable(vec!["b"])).unwrap();
    let registration = list.register(vec![("a", 1), ("b", 2)]);
    assert!(registration.visible.is_empty());
    assert_eq!(written(&registration.registered), "~b");
}

#[test]
fn a_restart_shows_everything_again() {
    let mut list = list(&[("a", 1), ("b", 1), ("c", 1)]);
    list.apply(&Command::set_allowed(vec!["a", "c"])).unwrap();
    let registration = list.restart(vec![("a", 2), ("b", 1)]);
    assert_eq!(written(&registration.visible), "+b -c ~a");
    assert_eq!(written(&registration.registered), "-c ~a");
    assert_eq!(list.selection().mode(), Mode::Open);
    assert_eq!(active(&list), "a b");
}

#[test]
fn a_hidden_tool_is_an_unknown_tool() {
    let mut list = list(&[("a", 1), ("b", 2)]);
    list.apply(&Command::disable(vec!["a", "ghost"])).unwrap();
    assert_eq!(list.get("a"), None);
    assert_eq!(list.get("b"), Some(&2));
    assert_eq!(list.get("ghost"), None);
    assert_eq!(list.get("c"), None);
}

#[test]
fn names_may_be_listed_before_a_tool_has_them() {
    let mut list = list(&[("a", 1)]);
    assert!(list.apply(&Command::disable(vec!["later"])).unwrap().is_empty());
    list.register(vec![("a", 1), ("later", 1)]);
    assert_eq!(active(&list), "a");
}

#[test]
fn a_step_announces_what_is_seen_and_nothing_else() {
    let cases: [(Command<&str>, &str); 8] = [
        (Command::disable(vec!["b", "b", "ghost"]), "-b"),
        (Command::disable(vec!["b"]), ""),
        (Command::enable_then_disable(vec!["b"], vec!["a"]), "+b -a"),
        (Command::enable_then_disable(vec!["a"], vec!["a"]), ""),
        (Command::set_allowed(vec!["d", "b", "ghost"]), "-c"),
        (Command::enable(vec!["c", "a"]), "+a +c"),
        (Command::set_blocked(vec!["c", "a"]), "-a -c"),
        (Command::set_blocked(vec![]), "+a +c"),
    ];
    let mut list = list(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    for (step, (command, expected)) in cases.iter().enumerate() {
        assert_eq!(written(&list.apply(command).unwrap()), *expected, "step {step}");
    }
}

#[test]
fn a_session_sees_the_same_tools_through_its_own_selection() {
    let mut list = list(&[("a", 1), ("b", 2), ("c", 3)]);
    list.apply(&Command::disable(vec!["a"])).unwrap();
    let mut overlay = list.selection().clone();
    let change = list.apply_to(&mut overlay, &Command::enable_then_disable(vec!["a"], vec!["b"])).unwrap();
    assert_eq!(written(&change), "+a -b");
    assert_eq!(list.view(&overlay).map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!((list.find(&overlay, "a"), list.find(&overlay, "b")), (Some(&1), None));
    assert_eq!(list.find(&overlay, "ghost"), None);
    // The base list has not heard of it.
    assert_eq!(active(&list), "b c");
    assert_eq!(written(&list.difference(list.selection(), &overlay)), "+a -b");
    assert_eq!(written(&list.difference(&overlay, list.selection())), "+b -a");
    assert_eq!(written(&list.apply_to(&mut overlay, &Command::set_allowed(vec!["b"])).unwrap()), "+b -a -c");
}

#[test]
fn a_session_sees_a_registration_through_its_selection() {
    let mut list = list(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    let overlay = Selection::from(Policy::Block(["a", "c", "e"].into()));
    let Registration { registered, .. } = list.register(vec![("a", 2), ("b", 2), ("e", 1), ("f", 1)]);
    assert_eq!(written(&registered), "+e +f -c -d ~a ~b");
    assert_eq!(written(&registered.seen_through(&overlay)), "+f -d ~b");
}

#[test]
fn a_change_is_empty_only_if_all_its_parts_are() {
    assert!(Change::<&str>::default().is_empty());
    for text in ["+a", "-a", "~a"] {
        let mut change = Change::none();
        match text.as_bytes()[0] {
            b'+' => change.added.push("a"),
            b'-' => change.removed.push("a"),
            _ => change.updated.push("a"),
        }
        assert!(!change.is_empty(), "{text}");
    }
}

#[test]
fn a_clone_is_a_separate_list() {
    let mut list = list(&[("a", 1), ("b", 1)]);
    list.apply(&Command::disable(vec!["b"])).unwrap();
    let before = list.clone();
    assert_eq!(before, list);
    list.register(vec![("z", 1)]);
    list.apply(&Command::set_blocked(vec![])).unwrap();
    assert_eq!(active(&before), "a");
    assert_ne!(before, list);
}

#[test]
fn a_clone_copies_no_definition() {
    /// Stands for a definition that cannot be cloned.
    #[derive(PartialEq)]
    struct Definition(u8);

    let mut list = ToolList::new();
    list.register(vec![("a", Definition(1))]);
    let clone = list.clone();
    assert!(std::ptr::eq(list.get("a").unwrap(), clone.get("a").unwrap()));
}

#[test]
fn names_can_be_looked_up_by_what_they_borrow() {
    let mut list = ToolList::new();
    list.register(vec![("a".to_owned(), 1)]);
    assert_eq!(list.get("a"), Some(&1));
    assert!(list.selection().allows("a"));
}

#[test]
fn a_selection_remembers_a_bounded_number_of_names() {
    let names = |range: std::ops::Range<usize>| range.map(|n| format!("t{n}")).collect::<Vec<_>>();
    let all = names(0..MAX_LISTED_NAMES);
    for fill in [Command::disable(all.clone()), Command::set_allowed(all.clone()), Command::set_blocked(all.clone())] {
        let mut list = ToolList::<String, ()>::new();
        list.apply(&fill).unwrap();
        let full = list.clone();
        let (grow, shrink) = match list.selection().mode() {
            Mode::Allow => (Command::enable(names(0..1)), Command::disable(names(0..1))),
            Mode::Open | Mode::Block => (Command::disable(names(0..1)), Command::enable(names(0..1))),
        };
        // A name that is already on the list needs no room, however often it comes.
        list.apply(&Command { enable: repeated(&grow.enable), disable: repeated(&grow.disable), policy: None })
            .unwrap();
        assert_eq!(list, full);
        // One more is refused, and nothing of its command is applied, not even what would have made room.
        let more = Command {
            policy: None,
            enable: [grow.enable.clone(), shrink.enable.clone(), rename(&grow.enable)].concat(),
            disable: [grow.disable.clone(), shrink.disable.clone(), rename(&grow.disable)].concat(),
        };
        assert_eq!(list.apply(&more), Err(Rejected::TooManyNames));
        assert_eq!(list, full);
        // After making room the same name is taken, and counts once although it comes twice.
        list.apply(&shrink).unwrap();
        list.apply(&Command { enable: rename(&grow.enable), disable: rename(&grow.disable), policy: None }).unwrap();
        assert_eq!(list.selection().listed().count(), MAX_LISTED_NAMES);
    }
}

#[test]
fn a_policy_remembers_a_bounded_number_of_names() {
    let names = (0..=MAX_LISTED_NAMES).map(|n| format!("t{n}")).collect::<Vec<_>>();
    let mut list = ToolList::<String, ()>::new();
    list.apply(&Command::disable(vec!["a".to_owned()])).unwrap();
    let before = list.clone();
    assert_eq!(list.apply(&Command::set_allowed(names.clone())), Err(Rejected::TooManyNames));
    assert_eq!(list.apply(&Command::set_blocked(names.clone())), Err(Rejected::TooManyNames));
    let fits = names[1..].to_vec();
    let batch = Command { policy: Some(Policy::Block(fits.into_iter().collect())), enable: vec![], disable: names };
    assert_eq!(list.apply(&batch), Err(Rejected::TooManyNames));
    assert_eq!(list, before);
}

#[test]
fn refusals_say_what_was_wrong() {
    assert_eq!(Rejected::AllowAndBlock.to_string(), "a batch cannot both allow and block; nothing of it was applied");
    assert_eq!(
        Rejected::TooManyNames.to_string(),
        "a selection remembers at most 65536 names; nothing of the command was applied"
    );
}

fn list(tools: &[(&'static str, u8)]) -> List {
    let mut list = List::new();
    list.register(tools.to_vec());
    list
}

fn active(list: &List) -> String {
    list.active().map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

fn written(change: &Change<&'static str>) -> String {
    let part = |sign: &str, names: &[&str]| names.iter().map(|name| format!("{sign}{name}")).collect::<Vec<_>>();
    [part("+", &change.added), part("-", &change.removed), part("~", &change.updated)].concat().join(" ")
}

fn repeated(names: &[String]) -> Vec<String> {
    names.iter().chain(names).cloned().collect()
}

fn rename(names: &[String]) -> Vec<String> {
    repeated(names).iter().map(|name| format!("new-{name}")).collect()
}

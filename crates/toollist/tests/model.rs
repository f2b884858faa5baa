//! Any sequence of messages against a naive model: three sets, a mode, and whole-list comparisons, written straight from
//! docs/envelope.md, "Tool list", without this crate's short cuts.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use protomcp_toollist::{Batch, Change, Command, Selection, ToolList};

/// Few names, so that sequences meet; some are never registered.
type Name = u8;
type Definition = u8;

#[derive(Debug, Clone)]
enum Message {
    Register(Vec<(Name, Definition)>),
    Restart(Vec<(Name, Definition)>),
    Enable(Vec<Name>),
    Disable(Vec<Name>),
    SetAllowed(Vec<Name>),
    SetBlocked(Vec<Name>),
    Result { enable: Vec<Name>, disable: Vec<Name> },
    Batch(Batch<Name>),
}

#[derive(Debug, Clone, Default)]
struct Model {
    mode: ModelMode,
    registered: BTreeMap<Name, Definition>,
    disabled: BTreeSet<Name>,
    allowed: BTreeSet<Name>,
    blocked: BTreeSet<Name>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum ModelMode {
    #[default]
    Open,
    Allowlist,
    Blocklist,
}

impl Model {
    fn active(&self) -> BTreeMap<Name, Definition> {
        let visible = |name: &Name| match self.mode {
            ModelMode::Open => !self.disabled.contains(name),
            ModelMode::Allowlist => self.allowed.contains(name),
            ModelMode::Blocklist => !self.blocked.contains(name),
        };
        self.registered.iter().filter(|(name, _)| visible(name)).map(|(n, d)| (*n, *d)).collect()
    }

    /// False if the message is to be rejected.
    fn apply(&mut self, message: &Message) -> bool {
        match message {
            Message::Register(tools) => self.registered = tools.iter().copied().collect(),
            Message::Restart(tools) => *self = Self { registered: tools.iter().copied().collect(), ..Self::default() },
            Message::Enable(names) => self.enable(names),
            Message::Disable(names) => self.disable(names),
            Message::SetAllowed(names) => self.set_allowed(names),
            Message::SetBlocked(names) => self.set_blocked(names),
            Message::Result { enable, disable } => {
                self.enable(enable);
                self.disable(disable);
            }
            Message::Batch(batch) => {
                if !batch.allow.is_empty() && !batch.block.is_empty() {
                    return false;
                }
                if !batch.allow.is_empty() {
                    self.set_allowed(&batch.allow);
                }
                if !batch.block.is_empty() {
                    self.set_blocked(&batch.block);
                }
                self.enable(&batch.enable);
                self.disable(&batch.disable);
            }
        }
        true
    }

    fn enable(&mut self, names: &[Name]) {
        for name in names {
            match self.mode {
                ModelMode::Open => self.disabled.remove(name),
                ModelMode::Allowlist => self.allowed.insert(*name),
                ModelMode::Blocklist => self.blocked.remove(name),
            };
        }
    }

    fn disable(&mut self, names: &[Name]) {
        for name in names {
            match self.mode {
                ModelMode::Open => self.disabled.insert(*name),
                ModelMode::Allowlist => self.allowed.remove(name),
                ModelMode::Blocklist => self.blocked.insert(*name),
            };
        }
    }

    fn set_allowed(&mut self, names: &[Name]) {
        self.clear();
        self.allowed.extend(names);
        self.mode = if names.is_empty() { ModelMode::Open } else { ModelMode::Allowlist };
    }

    fn set_blocked(&mut self, names: &[Name]) {
        self.clear();
        self.blocked.extend(names);
        self.mode = if names.is_empty() { ModelMode::Open } else { ModelMode::Blocklist };
    }

    fn clear(&mut self) {
        self.disabled.clear();
        self.allowed.clear();
        self.blocked.clear();
    }
}

/// The effect of the message on a list; `None` if it is rejected.
fn apply(list: &mut ToolList<Name, Definition>, message: &Message) -> Option<Change<Name>> {
    match message {
        Message::Register(tools) => Some(list.register(tools.clone()).visible),
        Message::Restart(tools) => Some(list.restart(tools.clone()).visible),
        _ => command(message).map(|command| list.apply(&command).expect("far from the bound")),
    }
}

fn command(message: &Message) -> Option<Command<Name>> {
    match message {
        Message::Register(_) | Message::Restart(_) => None,
        Message::Enable(names) => Some(Command::enable(names.clone())),
        Message::Disable(names) => Some(Command::disable(names.clone())),
        Message::SetAllowed(names) => Some(Command::set_allowed(names.clone())),
        Message::SetBlocked(names) => Some(Command::set_blocked(names.clone())),
        Message::Result { enable, disable } => Some(Command::enable_then_disable(enable.clone(), disable.clone())),
        Message::Batch(batch) => Command::batch(batch.clone()).ok(),
    }
}

fn naive_change(before: &BTreeMap<Name, Definition>, after: &BTreeMap<Name, Definition>) -> Change<Name> {
    Change {
        added: after.keys().filter(|name| !before.contains_key(name)).copied().collect(),
        removed: before.keys().filter(|name| !after.contains_key(name)).copied().collect(),
        updated: after.iter().filter(|(n, d)| before.get(n).is_some_and(|old| old != *d)).map(|(n, _)| *n).collect(),
    }
}

fn names() -> impl Strategy<Value = Vec<Name>> {
    vec(0..8_u8, 0..5)
}

fn tools() -> impl Strategy<Value = Vec<(Name, Definition)>> {
    vec((0..6_u8, 0..3_u8), 0..8)
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        tools().prop_map(Message::Register),
        tools().prop_map(Message::Restart),
        names().prop_map(Message::Enable),
        names().prop_map(Message::Disable),
        names().prop_map(Message::SetAllowed),
        names().prop_map(Message::SetBlocked),
        (names(), names()).prop_map(|(enable, disable)| Message::Result { enable, disable }),
        (names(), names(), names(), names()).prop_map(|(enable, disable, allow, block)| Message::Batch(Batch {
            enable,
            disable,
            allow,
            block
        })),
        (names(), names(), names()).prop_map(|(enable, disable, allow)| Message::Batch(Batch {
            enable,
            disable,
            allow,
            block: vec![]
        })),
        (names(), names(), names()).prop_map(|(enable, disable, block)| Message::Batch(Batch {
            enable,
            disable,
            allow: vec![],
            block
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn every_sequence_agrees_with_the_model(messages in vec(message(), 1..20)) {
        let (mut list, mut model) = (ToolList::new(), Model::default());
        for message in &messages {
            let before = model.active();
            let accepted = model.apply(message);
            let change = apply(&mut list, message);
            prop_assert_eq!(change.is_some(), accepted);
            let after = model.active();
            prop_assert_eq!(change.unwrap_or_default(), naive_change(&before, &after));
            prop_assert_eq!(list.active().map(|(n, d)| (*n, *d)).collect::<Vec<_>>(), after.iter().map(|(n, d)| (*n, *d)).collect::<Vec<_>>());
            for name in 0..10 {
                prop_assert_eq!(list.get(&name), after.get(&name));
            }
        }
    }

    #[test]
    fn the_same_message_twice_changes_nothing_the_second_time(messages in vec(message(), 1..12)) {
        let mut list = ToolList::new();
        for message in &messages {
            apply(&mut list, message);
            let once = list.clone();
            prop_assert!(apply(&mut list, message).unwrap_or_default().is_empty());
            prop_assert_eq!(&list, &once);
        }
    }

    #[test]
    fn a_selection_behaves_like_a_separate_list(tools in tools(), messages in vec(message(), 1..12)) {
        let mut alone = ToolList::new();
        alone.register(tools.clone());
        let shared = alone.clone();
        let mut overlay = Selection::open();
        for command in messages.iter().filter_map(command) {
            let before = overlay.clone();
            let expected = alone.apply(&command).expect("far from the bound");
            let change = shared.apply_to(&mut overlay, &command).expect("far from the bound");
            prop_assert_eq!(&change, &expected);
            prop_assert_eq!(&shared.difference(&before, &overlay), &expected);
            prop_assert!(shared.view(&overlay).eq(alone.active()));
            prop_assert_eq!(&overlay, alone.selection());
        }
    }

    #[test]
    fn a_registration_changes_the_visible_part_of_a_session(
        first in tools(), second in tools(), allowed in names(),
    ) {
        let mut list = ToolList::new();
        list.register(first);
        let mut overlay = Selection::open();
        overlay.apply(&Command::set_allowed(allowed)).expect("far from the bound");
        let old = list.clone();
        let registration = list.register(second);
        let compared = Change::between(old.view(&overlay), list.view(&overlay));
        prop_assert_eq!(registration.registered.seen_through(&overlay), compared);
    }
}

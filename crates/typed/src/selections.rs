//! The tools that sessions see, as a value: a selection for all, and the selections of sessions that have their own.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use protomcp_server::SessionId;
use protomcp_toollist::{Command, Rejected, Selection};

/// The selections of a registry. Cloning copies no names.
#[derive(Debug, Clone)]
pub(crate) struct Selections {
    base: Arc<Selection<String>>,
    sessions: HashMap<SessionId, Arc<Selection<String>>>,
    /// The tools that are defined as hidden.
    hidden: Arc<BTreeSet<String>>,
}

/// The sessions whose list a change of the selection for all has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// All those without their own selection.
    Base,
    /// A session with its own.
    Session(SessionId),
}

impl Default for Selections {
    fn default() -> Self {
        Self { base: Arc::new(Selection::open()), sessions: HashMap::new(), hidden: Arc::default() }
    }
}

impl Selections {
    /// True if every session sees every tool.
    pub(crate) fn is_open(&self) -> bool {
        self.sessions.is_empty() && *self.base == Selection::open()
    }

    /// The selection of a session; `None`: the selection of sessions without their own.
    pub(crate) fn of(&self, session: Option<SessionId>) -> &Selection<String> {
        session.and_then(|session| self.sessions.get(&session)).unwrap_or(&self.base)
    }

    /// Hides the tools that are newly defined as hidden.
    pub(crate) fn define(&mut self, hidden: BTreeSet<String>) -> Result<(), Rejected> {
        let new: Vec<String> = hidden.difference(&self.hidden).cloned().collect();
        if !new.is_empty() {
            self.change_all(&Command::disable(new), &[])?;
        }
        self.hidden = Arc::new(hidden);
        Ok(())
    }

    /// Changes the selection of one session. Returns true if it sees others of these tools than before.
    pub(crate) fn change(
        &mut self,
        session: SessionId,
        command: &Command<String>,
        tools: &[String],
    ) -> Result<bool, Rejected> {
        let mut selection = self.of(Some(session)).clone();
        selection.apply(command)?;
        let has_changed = differ(self.of(Some(session)), &selection, tools);
        if *self.of(Some(session)) != selection {
            self.sessions.insert(session, Arc::new(selection));
        }
        Ok(has_changed)
    }

    /// Changes all selections, and returns the sessions that see others of these tools than before.
    pub(crate) fn change_all(&mut self, command: &Command<String>, tools: &[String]) -> Result<Vec<Changed>, Rejected> {
        let mut changed = Vec::new();
        let mut after = self.clone();
        let base = Arc::make_mut(&mut after.base);
        base.apply(command)?;
        if differ(&self.base, base, tools) {
            changed.push(Changed::Base);
        }
        for (session, selection) in &mut after.sessions {
            let before = Arc::clone(selection);
            let selection = Arc::make_mut(selection);
            selection.apply(command)?;
            if differ(&before, selection, tools) {
                changed.push(Changed::Session(*session));
            }
        }
        *self = after;
        Ok(changed)
    }

    /// True if the session has its own selection.
    pub(crate) fn has_own(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }

    /// The selection of a session, if it has its own.
    pub(crate) fn own(&self, session: SessionId) -> Option<&Selection<String>> {
        self.sessions.get(&session).map(|selection| &**selection)
    }

    /// Gives a session its own selection.
    pub(crate) fn restore(&mut self, session: SessionId, selection: Selection<String>) {
        self.sessions.insert(session, Arc::new(selection));
    }

    /// Drops the selection of a session.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }
}

/// True if the two selections show different ones of these tools.
fn differ(before: &Selection<String>, after: &Selection<String>, tools: &[String]) -> bool {
    tools.iter().any(|tool| before.allows(tool.as_str()) != after.allows(tool.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn seen(selections: &Selections, session: Option<u64>) -> String {
        let selection = selections.of(session.map(SessionId::new));
        ["a", "b", "c"].into_iter().filter(|&tool| selection.allows(tool)).collect()
    }

    #[test]
    fn a_session_has_its_own_selection_once_it_differs() {
        let (mut selections, tools) = (Selections::default(), names(&["a", "b", "c"]));
        let (one, other) = (SessionId::new(1), SessionId::new(2));
        selections.define(BTreeSet::from(["c".to_owned()])).unwrap();
        assert_eq!((seen(&selections, None), seen(&selections, Some(1))), ("ab".into(), "ab".into()));
        let enable = Command::enable(names(&["c"]));
        assert!(selections.change(one, &enable, &tools).unwrap());
        assert!(!selections.change(one, &enable, &tools).unwrap(), "it is shown already");
        assert!(!selections.change(other, &Command::enable(names(&["a", "zz"])), &tools).unwrap());
        assert!(selections.has_own(one) && !selections.has_own(other));
        assert_eq!((seen(&selections, Some(1)), seen(&selections, Some(2))), ("abc".into(), "ab".into()));
        let changed = selections.change_all(&Command::disable(names(&["c"])), &tools).unwrap();
        assert_eq!(changed, [Changed::Session(one)], "others did not see it");
        selections.forget(one);
        assert!(!selections.has_own(one) && !selections.is_open());
    }

    #[test]
    fn a_tool_is_hidden_once_by_its_definition() {
        let mut selections = Selections::default();
        assert!(selections.is_open());
        let hidden = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        selections.define(hidden(&["b"])).unwrap();
        selections.change_all(&Command::enable(names(&["b"])), &[]).unwrap();
        selections.define(hidden(&["b", "c"])).unwrap();
        assert_eq!(seen(&selections, None), "ab", "another hidden tool hides no other again");
    }

    #[test]
    fn a_refused_change_changes_nothing() {
        let (mut selections, tools) = (Selections::default(), names(&["a"]));
        let many = (0..=protomcp_toollist::MAX_LISTED_NAMES).map(|number| number.to_string()).collect();
        let command = Command::disable(many);
        assert_eq!(selections.change_all(&command, &tools), Err(Rejected::TooManyNames));
        assert_eq!(selections.change(SessionId::new(1), &command, &tools), Err(Rejected::TooManyNames));
        assert!(selections.is_open());
    }
}

//! The tools that the client of a session does not see while it has a run of a workflow.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protomcp_server::{Context, SessionId};

use crate::tool_selection::{SelectionError, ToolSelection};
use crate::workflow::runs::Caller;

/// The most sessions whose hidden tools are remembered. One more forgets the tools of another session, whose client
/// sees them again when a later run ends.
const SESSIONS_MAX: usize = 1024;

/// Hides the other tools of a registry.
#[derive(Debug)]
pub(crate) struct Limit {
    tools: ToolSelection,
    /// Names of other tools that stay; `*` stands for any text.
    allowed: Vec<String>,
    hidden: Mutex<HashMap<SessionId, Vec<String>>>,
}

impl Limit {
    pub(crate) fn new(tools: ToolSelection, allowed: Vec<String>) -> Self {
        Self { tools, allowed, hidden: Mutex::default() }
    }

    /// Allows the tools of the workflow itself.
    pub(crate) fn allow(&mut self, own: impl IntoIterator<Item = String>) {
        self.allowed.extend(own);
    }

    /// Hides the other tools from the client of a call.
    pub(crate) async fn apply(&self, context: &Context) {
        if let Some(session) = Caller::of(context).session {
            report(self.hide(session, context).await);
        }
    }

    async fn hide(&self, session: SessionId, context: &Context) -> Result<(), SelectionError> {
        let shown = self.tools.active(context).await?;
        let others: Vec<String> = shown.into_iter().filter(|tool| !self.stays(tool)).collect();
        if others.is_empty() {
            return Ok(());
        }
        self.remember(session, &others);
        self.tools.disable(context, others).await.map(drop)
    }

    /// Shows them again.
    pub(crate) async fn lift(&self, context: &Context) {
        let Some(session) = Caller::of(context).session else { return };
        let hidden = self.hidden().remove(&session);
        if let Some(hidden) = hidden {
            report(self.tools.enable(context, hidden).await.map(drop));
        }
    }

    fn stays(&self, tool: &str) -> bool {
        self.allowed.iter().any(|pattern| matches(pattern, tool))
    }

    fn remember(&self, session: SessionId, others: &[String]) {
        let mut hidden = self.hidden();
        if !hidden.contains_key(&session)
            && hidden.len() >= SESSIONS_MAX
            && let Some(other) = hidden.keys().next().copied()
        {
            hidden.remove(&other);
        }
        hidden.entry(session).or_default().extend_from_slice(others);
    }

    fn hidden(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<String>>> {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A list that does not change fails no step.
fn report(outcome: Result<(), SelectionError>) {
    if let Err(error) = outcome {
        tracing::warn!("a workflow cannot change the tools that its session sees: {error}");
    }
}

/// True if a name matches a pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    name.strip_prefix(start)
        .is_some_and(|name| name.char_indices().any(|(at, _)| matches(rest, &name[at..])) || matches(rest, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("status", "status", true),
            ("status", "status_2", false),
            ("stat*", "status", true),
            ("stat*", "stat", true),
            ("*", "", true),
            ("*_read", "db_read", true),
            ("*_read", "db_read_all", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "aé", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_sessions_that_are_remembered_are_bounded() {
        let limit = Limit::new(ToolSelection::default(), vec!["stat*".into()]);
        assert!(limit.stays("status") && !limit.stays("wipe"));
        let wipe = ["wipe".to_owned()];
        for session in 0..=SESSIONS_MAX {
            limit.remember(SessionId::new(session as u64), &wipe);
        }
        assert_eq!(limit.hidden().len(), SESSIONS_MAX);
        limit.remember(SessionId::new(SESSIONS_MAX as u64), &["other".to_owned()]);
        let last = SessionId::new(SESSIONS_MAX as u64);
        assert_eq!(limit.hidden()[&last], ["wipe", "other"], "what a run has hidden before is kept");
    }
}

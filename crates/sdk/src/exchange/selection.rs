//! The tools that are hidden, from everyone or from the client of one call.

use std::collections::BTreeSet;

use protomcp_envelope::{
    BatchUpdateRequest, DisableToolsRequest, EnableToolsRequest, Envelope, Msg, NO_TOOL, SetAllowedRequest,
};
use protomcp_server::{AskError, Context};
use protomcp_toollist::{Command, Policy};
use protomcp_types::{JsonObject, RequestId, Tool};
use tokio::sync::oneshot;

use crate::exchange::Exchange;
use crate::exchange::questions::Asker;
use crate::step::Step;

/// The names that a selection leaves, when they are there.
pub(crate) type Selecting = (String, oneshot::Receiver<Vec<String>>);

impl Exchange {
    /// Lets the bridge hide and show the tools whose marks have changed since the last list.
    pub(super) fn hide(&mut self, hidden: BTreeSet<String>) -> Vec<Step> {
        let names = |one: &BTreeSet<String>, other: &BTreeSet<String>| one.difference(other).cloned().collect();
        let (disable, enable): (Vec<_>, Vec<_>) = (names(&hidden, &self.hidden), names(&self.hidden, &hidden));
        self.hidden = hidden;
        let message: Msg = match (disable.is_empty(), enable.is_empty()) {
            (true, true) => return Vec::new(),
            (false, true) => DisableToolsRequest { tool_names: disable }.into(),
            (true, false) => EnableToolsRequest { tool_names: enable }.into(),
            (false, false) => BatchUpdateRequest { enable, disable, ..BatchUpdateRequest::default() }.into(),
        };
        vec![Step::send(Envelope::new("", message))]
    }

    /// Changes the tools that the client of a request sees.
    pub(crate) fn select(
        &mut self,
        request: &RequestId,
        change: Command<String>,
    ) -> Result<(Selecting, Vec<Step>), AskError> {
        if !self.questions.has_room(1) {
            return Err(AskError::TooMany);
        }
        let (sender, names) = oneshot::channel();
        let id = self.questions.add(Asker::Tools(sender));
        let mut messages = messages(change);
        let last = messages.pop().map(|last| (id.clone(), last));
        let messages = messages.into_iter().map(|message| (String::new(), message)).chain(last);
        let steps = messages.map(|(id, message)| Step::send(self.during(Some(request), &id, message))).collect();
        Ok(((id, names), steps))
    }

    /// The bridge has answered with the tools that are shown.
    pub(super) fn selected(&mut self, id: &str, tools: Vec<String>) {
        match self.questions.take(id) {
            // A call that has ended does not wait.
            Some(Asker::Tools(sender)) => drop(sender.send(tools)),
            Some(_) => tracing::warn!(id, "the bridge answers a question with a list of tools"),
            // Hidden with the list, which nothing waits for.
            None => {}
        }
    }
}

/// Takes the mark of a hidden tool from its definition. Returns true if it had one.
pub(super) fn take_mark(tool: &mut Tool) -> bool {
    let Some(mut meta) = tool.meta.as_ref().and_then(|meta| JsonObject::from_raw(meta).ok()) else { return false };
    if meta.take(Context::HIDDEN_MARK).is_none() {
        return false;
    }
    tool.meta = (!meta.is_empty()).then(|| meta.to_body().into_raw());
    true
}

/// The messages for a change, in their order.
fn messages(change: Command<String>) -> Vec<Msg> {
    let Command { policy, enable, disable } = change;
    let all = || Msg::from(SetAllowedRequest { tool_names: Vec::new() });
    let (first, allow, block) = match policy {
        None => (None, Vec::new(), Vec::new()),
        Some(Policy::Open) => (Some(all()), Vec::new(), Vec::new()),
        Some(Policy::Block(names)) if names.is_empty() => (Some(all()), Vec::new(), Vec::new()),
        Some(Policy::Block(names)) => (None, Vec::new(), names.into_iter().collect()),
        Some(Policy::Allow(names)) if names.is_empty() => (None, vec![NO_TOOL.to_owned()], Vec::new()),
        Some(Policy::Allow(names)) => (None, names.into_iter().collect(), Vec::new()),
    };
    let batch = BatchUpdateRequest { enable, disable, allow, block };
    first.into_iter().chain([batch.into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_change_is_one_batch_behind_a_new_start() {
        let batch = |enable: &[&str], disable: &[&str], allow: &[&str], block: &[&str]| {
            let (enable, disable, allow, block) = (names(enable), names(disable), names(allow), names(block));
            Msg::from(BatchUpdateRequest { enable, disable, allow, block })
        };
        let all = Msg::from(SetAllowedRequest { tool_names: Vec::new() });
        for (change, expected) in [
            (Command::enable(names(&["a"])), vec![batch(&["a"], &[], &[], &[])]),
            (Command::enable_then_disable(names(&["a"]), names(&["b"])), vec![batch(&["a"], &["b"], &[], &[])]),
            (Command::set_allowed(names(&["a"])), vec![batch(&[], &[], &["a"], &[])]),
            (Command::set_blocked(names(&["a"])), vec![batch(&[], &[], &[], &["a"])]),
            (Command::set_allowed(Vec::new()), vec![all, batch(&[], &[], &[], &[])]),
            (
                Command { policy: Some(Policy::Allow(BTreeSet::new())), ..Command::enable(Vec::new()) },
                vec![batch(&[], &[], &[NO_TOOL], &[])],
            ),
        ] {
            assert_eq!(messages(change), expected);
        }
    }
}

//! The record of a task: everything that is kept of it besides its running call.

use protomcp_types::{JsonBuf, JsonObject, RawJson, Task};
use serde::de::DeserializeOwned;

use crate::records::node::NodeId;
use protomcp_fair::Owner;
use protomcp_session::{SessionId, TaskState, TaskView};

/// The key of the callers that may ask for a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TaskKey {
    /// The requests of one session, of this process.
    Session(NodeId, SessionId),
    /// Requests without a session, of this principal; `None`: the requests of no principal.
    Principal(Option<std::sync::Arc<str>>),
}

/// A task as a [`TaskStore`](crate::TaskStore) keeps it.
#[derive(Debug, Clone)]
pub struct TaskRecord {
    /// The callers that may ask for it.
    pub key: TaskKey,
    /// Whom it counts for.
    pub owner: Owner,
    /// The process that runs its call.
    pub node: NodeId,
    /// Its id, status and outcome, and the time for which it is kept ([`TaskOptions::ttl`](crate::TaskOptions)) from its
    /// insertion.
    pub state: TaskState,
    /// The `inputRequests` of its open questions; `None`: it has none, or a session that asks them.
    pub questions: Option<JsonBuf>,
    /// The bytes of its result that count against a limit; 0 before its end, and for a short text in place of a result.
    pub size: usize,
}

impl TaskRecord {
    /// The id of the task, which cannot be guessed.
    #[must_use]
    pub fn id(&self) -> &str {
        self.state.id()
    }

    /// The task as clients without a session see it.
    #[must_use]
    pub fn view(&self) -> TaskView {
        self.state.view(self.questions.clone())
    }

    /// The task as clients with a session see it.
    #[must_use]
    pub fn task(&self) -> Task {
        self.state.to_task()
    }

    /// The record as JSON, for [`TaskRecord::from_json`].
    #[must_use]
    pub fn to_json(&self) -> JsonBuf {
        let object = JsonBuf::object().text("node", self.node.as_str()).body("state", &self.state.to_json());
        let object = match &self.key {
            TaskKey::Session(node, session) => {
                object.text("sessionNode", node.as_str()).text("session", &session.to_string())
            }
            TaskKey::Principal(principal) => object.text_if("key", principal.as_deref()),
        };
        let object = match &self.owner {
            Owner::Principal(principal) => object.text("principal", principal),
            Owner::Address(network) => object.value("address", &network.address()),
            Owner::Local => object,
        };
        let object = object.value("size", &self.size);
        match &self.questions {
            Some(questions) => object.body("questions", questions).finish(),
            None => object.finish(),
        }
    }

    /// The record that [`TaskRecord::to_json`] has written; `None`: the text is not a record.
    #[must_use]
    pub fn from_json(text: &RawJson) -> Option<Self> {
        let object = JsonObject::from_raw(text).ok()?;
        let text = |name| member::<String>(&object, name);
        let key = match (text("sessionNode"), text("session")) {
            (Some(node), Some(session)) => TaskKey::Session(NodeId::new(node), SessionId::new(session.parse().ok()?)),
            _ => TaskKey::Principal(text("key").map(Into::into)),
        };
        let owner = match (text("principal"), member(&object, "address")) {
            (Some(principal), _) => Owner::Principal(principal.into()),
            (None, Some(address)) => Owner::of_address(address),
            (None, None) => Owner::Local,
        };
        Some(Self {
            key,
            owner,
            node: NodeId::new(text("node")?),
            state: TaskState::from_json(object.member("state")?)?,
            questions: object.member("questions").map(|raw| raw.clone().into()),
            size: member(&object, "size")?,
        })
    }
}

fn member<T: DeserializeOwned>(object: &JsonObject, name: &str) -> Option<T> {
    object.member(name)?.to().ok()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use protomcp_session::{TaskEra, TaskOptions};

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let node = || NodeId::new("a");
        let state = TaskState::new(TaskEra::Stateless, "1", TaskOptions::default(), SystemTime::now());
        let questions = Some(JsonBuf::object().text("who", "?").finish());
        let principal = || Owner::Principal("ann".into());
        for (key, owner, questions, size) in [
            (TaskKey::Session(node(), SessionId::new(u64::MAX)), principal(), None, 7),
            (TaskKey::Principal(None), Owner::of_address([127, 0, 0, 1].into()), questions, 0),
            (TaskKey::Principal(Some("ann".into())), Owner::Local, None, usize::MAX),
        ] {
            let record = TaskRecord { key, owner, node: node(), state: state.clone(), questions, size };
            let written = record.to_json().into_raw();
            let read = TaskRecord::from_json(&written).unwrap_or_else(|| panic!("{written}"));
            assert_eq!(format!("{read:?}"), format!("{record:?}"));
        }
        for text in ["{}", "[]", r#"{"node":"a","size":0,"state":{}}"#] {
            assert!(TaskRecord::from_json(&RawJson::parse(text).unwrap()).is_none(), "{text}");
        }
    }
}

//! A task as JSON, for a store in another process.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protomcp_types::{JsonBuf, JsonObject, RawJson};
use serde::de::DeserializeOwned;

use super::{Phase, TaskOutcome, TaskState};
use crate::request::ServerResult;
use crate::server::encode::plain;
use crate::task_view::TaskOptions;

impl TaskState {
    /// The task as JSON, for [`TaskState::from_json`]. A result that does not come from a tool call is read again as a
    /// [`ServerResult::Body`].
    #[must_use]
    pub fn to_json(&self) -> JsonBuf {
        let object = JsonBuf::object()
            .value("era", &self.era)
            .text("id", &self.id)
            .value("ttlMs", &millis(self.options.ttl))
            .value("pollIntervalMs", &millis(self.options.poll_interval))
            .value("created", &nanos(self.created))
            .value("updated", &nanos(self.updated))
            .text_if("message", self.message.as_deref());
        match &self.phase {
            Phase::Running { questions } => object.value("questions", questions),
            Phase::Ended { status, outcome } => {
                let object = object.value("status", status);
                match outcome {
                    Ok(ServerResult::CallTool(result)) => object.value("result", result),
                    Ok(ServerResult::Body(body)) => object.body("body", body),
                    Ok(other) => object.body("body", &plain(other.clone())),
                    Err(error) => object.value("error", error),
                }
            }
        }
        .finish()
    }

    /// The task that [`TaskState::to_json`] has written; `None`: the text is not a task.
    #[must_use]
    pub fn from_json(text: &RawJson) -> Option<Self> {
        let object = JsonObject::from_raw(text).ok()?;
        let phase = match (member(&object, "questions"), member(&object, "status")) {
            (Some(questions), _) => Phase::Running { questions },
            (None, Some(status)) => Phase::Ended { status, outcome: outcome(&object)? },
            (None, None) => return None,
        };
        let options = TaskOptions {
            ttl: Duration::from_millis(member(&object, "ttlMs")?),
            poll_interval: Duration::from_millis(member(&object, "pollIntervalMs")?),
        };
        let time = |name| UNIX_EPOCH.checked_add(Duration::from_nanos(member(&object, name)?));
        Some(Self {
            era: member(&object, "era")?,
            id: member(&object, "id")?,
            options,
            created: time("created")?,
            updated: time("updated")?,
            message: member(&object, "message"),
            phase,
        })
    }
}

fn outcome(object: &JsonObject) -> Option<TaskOutcome> {
    if let Some(result) = member(object, "result") {
        return Some(Ok(ServerResult::CallTool(result)));
    }
    match object.member("body") {
        Some(body) => Some(Ok(ServerResult::Body(body.clone().into()))),
        None => member(object, "error").map(Err),
    }
}

fn member<T: DeserializeOwned>(object: &JsonObject, name: &str) -> Option<T> {
    object.member(name)?.to().ok()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn nanos(moment: SystemTime) -> u64 {
    u64::try_from(moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

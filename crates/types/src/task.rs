//! Tasks: requests that continue after their first answer (MCP 2025-11-25, basic/utilities/tasks; experimental there,
//! and removed in the next revision).

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::call::CallTool;
use crate::error::ErrorObject;
use crate::json_object::JsonObject;
use crate::list::{ListTasksResult, array};
use crate::method::Method;
use crate::params::Params;
use crate::raw::RawJson;

/// The state of a task at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Chosen by the server.
    pub task_id: String,
    /// The status.
    pub status: TaskStatus,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// The time of creation, as [`timestamp`] writes it.
    pub created_at: String,
    /// The time of the last change.
    pub last_updated_at: String,
    /// Milliseconds after its creation for which it is kept; `None` means for ever.
    pub ttl: Option<u64>,
    /// Milliseconds that a client should wait between polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// The task is running.
    Working,
    /// The task waits for input from the client.
    InputRequired,
    /// The task has a result, possibly one with `isError`.
    Completed,
    /// The task could not be carried out.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

/// Support of a tool for tasks (MCP 2025-11-25, schema, `ToolExecution`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// Calls cannot be tasks.
    #[default]
    Forbidden,
    /// Calls can be tasks, if the client asks for it.
    Optional,
    /// Calls must be tasks.
    Required,
}

/// The answer to a [`CallTool`] that asks for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateTaskResult {
    /// The new task.
    pub task: Task,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl Task {
    /// A task that is created now, and kept for `ttl` milliseconds.
    #[must_use]
    pub fn begin(task_id: impl Into<String>, ttl: Option<u64>, now: SystemTime) -> Self {
        Self {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            created_at: timestamp(now),
            last_updated_at: timestamp(now),
            ttl,
            poll_interval: None,
        }
    }

    /// Sets the status.
    pub fn update(&mut self, status: TaskStatus, message: Option<String>, now: SystemTime) {
        self.status = status;
        self.status_message = message;
        self.last_updated_at = timestamp(now);
    }

    /// The JSON text.
    #[must_use]
    pub fn to_raw(&self) -> RawJson {
        RawJson::of(self).expect("a task has string keys only")
    }

    /// The members, which are the parameters of `notifications/tasks/status`.
    #[must_use]
    pub fn to_members(&self) -> JsonObject {
        JsonObject::of(self).expect("a task is an object")
    }
}

impl TaskStatus {
    /// True if the status is final.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Working | Self::InputRequired => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }
}

impl TaskSupport {
    /// Reads [`Tool::execution`](crate::Tool::execution); an absent or invalid value forbids tasks.
    #[must_use]
    pub fn of(execution: Option<&RawJson>) -> Self {
        let members = execution.and_then(|execution| JsonObject::from_raw(execution).ok());
        members.and_then(|members| members.member("taskSupport")?.to().ok()).unwrap_or_default()
    }

    /// Sets this value in `execution`.
    #[must_use]
    pub fn put(self, execution: Option<&RawJson>) -> RawJson {
        let mut members = execution.and_then(|execution| JsonObject::from_raw(execution).ok()).unwrap_or_default();
        members.insert("taskSupport", RawJson::of(&self).expect("a name is JSON"));
        members.to_body().into_raw()
    }
}

impl From<Task> for CreateTaskResult {
    fn from(task: Task) -> Self {
        Self { task, meta: None }
    }
}

impl ListTasksResult {
    /// The only page, from tasks.
    #[must_use]
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        Self::new(array(tasks.into_iter().map(Task::to_raw)))
    }
}

impl CallTool {
    /// The milliseconds for which the client asks to keep the task, if it asks for a task.
    #[must_use]
    pub fn task_ttl(&self) -> Option<u64> {
        JsonObject::from_raw(self.task.as_ref()?).ok()?.member("ttl")?.to().ok()
    }
}

/// A request about one task.
macro_rules! by_id {
    ($(#[$doc:meta])+ $name:ident = $method:literal, $result:ty) => {
        $(#[$doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            /// The id in the request; such a task may not exist.
            #[serde(rename = "taskId")]
            pub task_id: String,
            /// Metadata, an object.
            #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
            pub meta: Option<RawJson>,
        }

        impl TryFrom<Params> for $name {
            type Error = ErrorObject;

            fn try_from(mut params: Params) -> Result<Self, ErrorObject> {
                Ok(Self { task_id: params.required("taskId")?, meta: params.take("_meta") })
            }
        }

        impl Method for $name {
            const NAME: &'static str = $method;
            type Params = Self;
            type Result = $result;
        }
    };
}

by_id!(
    /// `tasks/get`: the state of a task
    GetTask = "tasks/get",
    Task
);
by_id!(
    /// `tasks/result`: waits for the end of the task and returns the result of the original request.
    GetTaskPayload = "tasks/result",
    RawJson
);
by_id!(
    /// `tasks/cancel`
    CancelTask = "tasks/cancel",
    Task
);

/// A time in the format of MCP: ISO 8601, UTC, to the millisecond. Times before 1970 are written as 1970.
#[must_use]
pub fn timestamp(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Counted in eras of 400 years, each of which has the same number of days, from the first of March of year 0, so
    // that the leap day is the last day of its year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let day = day - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (1_735_689_600_000, "2025-01-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_millis(millis)), text);
        }
        assert_eq!(timestamp(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_task_always_has_a_ttl() {
        let mut task = Task::begin("t", None, UNIX_EPOCH);
        assert_eq!(
            task.to_raw().as_str(),
            r#"{"taskId":"t","status":"working","createdAt":"1970-01-01T00:00:00.000Z","lastUpdatedAt":"1970-01-01T00:00:00.000Z","ttl":null}"#
        );
        task.update(TaskStatus::InputRequired, Some("who?".into()), UNIX_EPOCH + Duration::from_secs(1));
        assert_eq!(task.last_updated_at, "1970-01-01T00:00:01.000Z");
        assert_eq!(task.to_members().member("status").unwrap().as_str(), r#""input_required""#);
        assert_eq!(serde_json::from_str::<Task>(task.to_raw().as_str()).unwrap(), task);
    }

    #[test]
    fn a_tool_says_whether_it_can_be_a_task() {
        for (execution, support) in [
            ("{}", TaskSupport::Forbidden),
            ("5", TaskSupport::Forbidden),
            (r#"{"taskSupport":"sometimes"}"#, TaskSupport::Forbidden),
            (r#"{"taskSupport":"optional"}"#, TaskSupport::Optional),
            (r#"{"x":1,"taskSupport":"required"}"#, TaskSupport::Required),
        ] {
            assert_eq!(TaskSupport::of(Some(&RawJson::parse(execution).unwrap())), support, "{execution}");
        }
        assert_eq!(TaskSupport::of(None), TaskSupport::Forbidden);
        let old = RawJson::parse(r#"{"x":1,"taskSupport":"required"}"#).unwrap();
        assert_eq!(TaskSupport::Optional.put(Some(&old)).as_str(), r#"{"x":1,"taskSupport":"optional"}"#);
        assert_eq!(TaskSupport::Required.put(None).as_str(), r#"{"taskSupport":"required"}"#);
    }

    #[test]
    fn a_call_may_wish_for_a_time() {
        for (task, ttl) in
            [(None, None), (Some("{}"), None), (Some(r#"{"ttl":5}"#), Some(5)), (Some(r#"{"ttl":"x"}"#), None)]
        {
            let mut call = CallTool::new("a");
            call.task = task.map(|text| RawJson::parse(text).unwrap());
            assert_eq!(call.task_ttl(), ttl, "{task:?}");
        }
    }
}

//! Tasks without a session: an extension with its own requests (MCP 2026-07-28, extension
//! `io.modelcontextprotocol/tasks`).

use crate::capability::{ClientCapabilities, tasks_extension};
use crate::error::ErrorObject;
use crate::json_object::JsonObject;
use crate::params::Params;
use crate::raw::{Kind, RawJson};

/// A request about a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskRequest {
    /// `tasks/get`: the state, with the result once there is one.
    Get {
        /// The id of the task.
        task_id: String,
    },
    /// `tasks/update`: responses to input requests.
    Update {
        /// The id of the task.
        task_id: String,
        /// The responses by key, each an object.
        responses: Vec<(String, RawJson)>,
    },
    /// `tasks/cancel`
    Cancel {
        /// The id of the task.
        task_id: String,
    },
}

impl TaskRequest {
    /// `tasks/get`
    pub const GET: &'static str = "tasks/get";
    /// `tasks/update`
    pub const UPDATE: &'static str = "tasks/update";
    /// `tasks/cancel`
    pub const CANCEL: &'static str = "tasks/cancel";

    /// True if a method belongs to the extension.
    #[must_use]
    pub fn is_method(method: &str) -> bool {
        [Self::GET, Self::UPDATE, Self::CANCEL].contains(&method)
    }

    /// Reads the parameters of one of its methods.
    ///
    /// # Errors
    /// −32602 if they do not fit; −32601 for any other method.
    pub fn read(method: &str, params: &Params) -> Result<Self, ErrorObject> {
        let task_id = || params.required("taskId");
        match method {
            Self::GET => Ok(Self::Get { task_id: task_id()? }),
            Self::CANCEL => Ok(Self::Cancel { task_id: task_id()? }),
            Self::UPDATE => {
                let invalid = |what: &str| ErrorObject::invalid_params(format!("invalid params: {what}"));
                let task_id = task_id()?;
                let responses = params.member("inputResponses").ok_or_else(|| invalid("inputResponses is missing"))?;
                let responses =
                    JsonObject::from_raw(responses).map_err(|_| invalid("inputResponses must be an object"))?;
                if let Some((key, _)) = responses.iter().find(|(_, response)| response.kind() != Kind::Object) {
                    return Err(invalid(&format!("inputResponses[{key:?}] must be an object")));
                }
                let responses = responses.iter().map(|(key, response)| (key.to_owned(), response.clone())).collect();
                Ok(Self::Update { task_id, responses })
            }
            _ => Err(ErrorObject::method_not_found(method)),
        }
    }

    /// The id of the task.
    #[must_use]
    pub fn task_id(&self) -> &str {
        match self {
            Self::Get { task_id } | Self::Update { task_id, .. } | Self::Cancel { task_id } => task_id,
        }
    }

    /// The capabilities of a client that supports the extension.
    #[must_use]
    pub fn required() -> ClientCapabilities {
        ClientCapabilities::new().with("extensions", tasks_extension())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::TASKS_EXTENSION;
    use crate::error::code;

    #[test]
    fn requests_name_their_task() {
        let read = |method, text: &'static str| {
            TaskRequest::read(method, &JsonObject::from_raw(&RawJson::parse(text).unwrap()).unwrap().into())
        };
        assert_eq!(read("tasks/get", r#"{"taskId":"a"}"#), Ok(TaskRequest::Get { task_id: "a".into() }));
        assert_eq!(read("tasks/cancel", r#"{"taskId":"a"}"#).unwrap().task_id(), "a");
        let update = read("tasks/update", r#"{"taskId":"a","inputResponses":{"k":{}}}"#).unwrap();
        assert_eq!(
            update,
            TaskRequest::Update { task_id: "a".into(), responses: vec![("k".into(), RawJson::EMPTY_OBJECT)] }
        );
        for (method, bad) in [
            ("tasks/get", "{}"),
            ("tasks/get", r#"{"taskId":1}"#),
            ("tasks/update", r#"{"taskId":"a"}"#),
            ("tasks/update", r#"{"taskId":"a","inputResponses":[]}"#),
            ("tasks/update", r#"{"taskId":"a","inputResponses":{"k":1}}"#),
        ] {
            assert_eq!(read(method, bad).unwrap_err().code, code::INVALID_PARAMS, "{bad}");
        }
        assert!(!TaskRequest::is_method("tasks/list"));
        assert!(TaskRequest::required().has_extension(TASKS_EXTENSION));
    }
}

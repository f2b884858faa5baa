//! The result of a call of a known tool that failed outside the tool.
//!
//! It is a result with `isError`, so that the model sees it, with a machine-readable form in `_meta`. JSON-RPC errors
//! are for calls that never reach a tool, and for failed tasks of 2026-07-28.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use protomcp_schema::{ErrorMeta, INVALID_ARGUMENTS, Mismatch, OUTPUT_SCHEMA_MISMATCH};
use protomcp_server::Limits;
use protomcp_types::{CallToolResult, ErrorObject, RawJson};

use crate::diagnostics::setting::{Setting, SettingNames};
use protomcp_schema::GoDuration;

/// The reason for which a call has no result of its tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    TimedOut {
        tool: String,
        after: Duration,
    },
    /// The process ended while the call was running.
    Crashed {
        tool: String,
        how: String,
    },
    /// A reload in immediate mode.
    Interrupted {
        tool: String,
    },
    /// The process failed too often and is not running.
    Down {
        why: String,
    },
    Overloaded {
        tool: String,
        waiting: usize,
    },
    /// It was displaced by a call of another owner with fewer waiting calls.
    Displaced {
        tool: String,
        waiting: usize,
    },
    /// Its turn did not come.
    Waited {
        tool: String,
        after: Duration,
    },
    TooLarge {
        tool: String,
        why: String,
        /// The setting that allows more, if there is one.
        setting: Option<Setting>,
    },
    Unusable {
        tool: String,
        why: String,
    },
    /// The arguments exceed a frame, and the call was not sent.
    ArgumentsTooLarge {
        tool: String,
        why: String,
    },
    /// The arguments do not match the tool's input schema, and the bridge is set to reject such calls.
    InvalidArguments {
        tool: String,
        why: Mismatch,
    },
    InvalidStructured {
        tool: String,
    },
    BrokenPromise {
        tool: String,
    },
    /// Middleware of the tool process rejected the call.
    Rejected {
        middleware: String,
        reason: String,
    },
    /// Middleware of the tool process could not run.
    Middleware {
        middleware: String,
        why: String,
        /// It may still be running.
        is_running: bool,
    },
    /// The process made a task of the call, and the task failed.
    TaskFailed {
        tool: String,
        message: String,
    },
    /// The process made a task of the call, and cancelled it.
    TaskCancelled {
        tool: String,
    },
    /// A reload has removed the tool while the call waited.
    UnknownTool {
        tool: String,
    },
    ShuttingDown,
}

impl Failure {
    /// The machine-readable code.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::TimedOut { .. } => "TIMEOUT",
            Self::Crashed { .. } => "TOOL_PROCESS_CRASHED",
            Self::Interrupted { .. } => "RELOADED",
            Self::Down { .. } => "TOOL_PROCESS_DOWN",
            Self::Overloaded { .. } | Self::Displaced { .. } => "OVERLOADED",
            Self::Waited { .. } => "QUEUE_TIMEOUT",
            Self::TooLarge { .. } => "RESULT_TOO_LARGE",
            Self::Unusable { .. } => "INVALID_RESPONSE",
            Self::ArgumentsTooLarge { .. } => "ARGUMENTS_TOO_LARGE",
            Self::InvalidArguments { .. } => INVALID_ARGUMENTS,
            Self::InvalidStructured { .. } => "INVALID_STRUCTURED_CONTENT",
            Self::BrokenPromise { .. } => OUTPUT_SCHEMA_MISMATCH,
            Self::Rejected { .. } => "REJECTED",
            Self::Middleware { .. } => "MIDDLEWARE_FAILED",
            Self::TaskFailed { .. } => "TASK_FAILED",
            Self::TaskCancelled { .. } => "TASK_CANCELLED",
            Self::UnknownTool { .. } => "UNKNOWN_TOOL",
            Self::ShuttingDown => "SHUTTING_DOWN",
        }
    }

    /// The next step.
    pub(crate) fn suggestion(&self, names: SettingNames) -> Cow<'static, str> {
        let suggestion = match self {
            Self::TimedOut { .. } => {
                return format!("raise {} if the tool needs longer", names(Setting::CallTimeout)).into();
            }
            Self::TooLarge { setting: Some(setting), .. } => {
                return format!("return less, or raise {}", names(*setting)).into();
            }
            Self::TooLarge { setting: None, .. } => "return less",
            Self::ArgumentsTooLarge { .. } => {
                return format!("send less, or raise {}", names(Setting::MaxFrame)).into();
            }
            Self::Crashed { .. } => "the tool process is being restarted; its last lines are in the log; retry",
            Self::Interrupted { .. } => "try again: the new code is starting",
            Self::Down { .. } => {
                "fix the tool file; a reload starts it again (save it under `pmcp dev`, or send SIGHUP)"
            }
            Self::Overloaded { .. } | Self::Waited { .. } => "try again later",
            Self::Displaced { .. } => "send fewer calls concurrently, and try again later",
            Self::Unusable { .. } => "unexpected message from the SDK; please report it",
            Self::InvalidArguments { .. } => "correct the arguments and retry",
            Self::InvalidStructured { .. } => "return an object as structured content",
            Self::BrokenPromise { .. } => "return structured content that fits the tool's output schema every time",
            Self::Rejected { .. } => "change the call as the reason asks",
            Self::Middleware { .. } => "look at the middleware of the tool file",
            Self::TaskFailed { .. } => "change the call as the message asks",
            Self::TaskCancelled { .. } => "try again if the result is still wanted",
            Self::UnknownTool { .. } => "use a tool of the list",
            Self::ShuttingDown => "retry when the bridge is running again",
        };
        suggestion.into()
    }

    /// The same call may succeed later.
    pub(crate) fn retryable(&self) -> bool {
        match self {
            Self::Crashed { .. }
            | Self::Interrupted { .. }
            | Self::Overloaded { .. }
            | Self::Displaced { .. }
            | Self::Waited { .. }
            | Self::Down { .. }
            | Self::TaskCancelled { .. }
            | Self::ShuttingDown => true,
            Self::TimedOut { .. }
            | Self::TooLarge { .. }
            | Self::Unusable { .. }
            | Self::ArgumentsTooLarge { .. }
            | Self::InvalidArguments { .. }
            | Self::InvalidStructured { .. }
            | Self::Rejected { .. }
            | Self::Middleware { .. }
            | Self::TaskFailed { .. }
            | Self::UnknownTool { .. }
            | Self::BrokenPromise { .. } => false,
        }
    }

    /// The time after which the same call may find room.
    fn retry_after(&self) -> Option<Duration> {
        let is_overload = matches!(self, Self::Overloaded { .. } | Self::Displaced { .. } | Self::Waited { .. });
        is_overload.then_some(Limits::RETRY_AFTER)
    }

    /// True if the process may still be working on the call.
    pub(crate) fn leaves_busy(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Interrupted { .. } | Self::Middleware { is_running: true, .. })
    }

    /// The result for the client. Hosts show its text alone, so limits are named there, too.
    pub(crate) fn into_result(self, names: SettingNames) -> CallToolResult {
        let text = match &self {
            Self::TooLarge { .. } | Self::ArgumentsTooLarge { .. } => format!("{self}; {}", self.suggestion(names)),
            _ => self.to_string(),
        };
        CallToolResult::error(text).with_meta(self.meta(names))
    }

    /// The error of a task without a session, whose data are the same as the `_meta` of a result, or of a call of an unknown
    /// tool.
    pub(crate) fn into_error(self, names: SettingNames) -> ErrorObject {
        match self {
            Self::UnknownTool { tool } => ErrorObject::unknown_tool(&tool),
            failure => ErrorObject::internal(failure.to_string()).with_data(failure.meta(names)),
        }
    }

    pub(crate) fn meta(&self, names: SettingNames) -> RawJson {
        let (message, suggestion) = (self.to_string(), self.suggestion(names));
        let (code, suggestion) = (Some(self.code()), Some(&*suggestion));
        ErrorMeta { code, message: &message, suggestion, retryable: self.retryable(), retry_after: self.retry_after() }
            .to_meta()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { tool, after } => {
                write!(f, "call tool \"{tool}\" timed out after {}", GoDuration(*after))
            }
            Self::Crashed { tool, how } => write!(f, "call tool \"{tool}\": {how}"),
            Self::Interrupted { tool } => write!(f, "call tool \"{tool}\" was interrupted by a reload"),
            Self::Down { why } => write!(f, "the tool process is not running: {why}"),
            Self::Overloaded { tool, waiting } => {
                write!(f, "call tool \"{tool}\": the tool process is overloaded, {waiting} calls are waiting")
            }
            Self::Displaced { tool, waiting } => write!(
                f,
                "call tool \"{tool}\" made room in the full queue for another user; {waiting} of your calls were waiting"
            ),
            Self::Waited { tool, after } => {
                write!(f, "call tool \"{tool}\" timed out after {} in the queue", GoDuration(*after))
            }
            Self::TooLarge { tool, why, .. } | Self::Unusable { tool, why } | Self::ArgumentsTooLarge { tool, why } => {
                write!(f, "call tool \"{tool}\": {why}")
            }
            Self::InvalidArguments { tool, why } => f.write_str(&why.of_arguments(tool)),
            Self::InvalidStructured { tool } => {
                write!(f, "tool \"{tool}\" returned invalid structured content: expected JSON object")
            }
            Self::BrokenPromise { tool } => {
                write!(f, "tool \"{tool}\" returned a result that does not fit its output schema")
            }
            Self::Rejected { middleware, reason } if reason.is_empty() => {
                write!(f, "rejected by middleware \"{middleware}\"")
            }
            Self::Rejected { middleware, reason } => write!(f, "rejected by middleware \"{middleware}\": {reason}"),
            Self::Middleware { middleware, why, .. } => write!(f, "middleware \"{middleware}\" before: {why}"),
            Self::TaskFailed { tool, message } if message.is_empty() => write!(f, "the task of tool \"{tool}\" failed"),
            Self::TaskFailed { tool, message } => write!(f, "the task of tool \"{tool}\" failed: {message}"),
            Self::TaskCancelled { tool } => write!(f, "the task of tool \"{tool}\" was cancelled by the tool process"),
            Self::UnknownTool { tool } => f.write_str(&ErrorObject::unknown_tool(tool).message),
            Self::ShuttingDown => f.write_str("the bridge is shutting down"),
        }
    }
}

//! The failure of a call whose request to the process has failed.

use protomcp_link::CallError;
use protomcp_server::Owner;

use crate::diagnostics::failure::Failure;
use crate::diagnostics::setting::Setting;
use crate::process::tool_process::{StopReason, ToolProcess};

impl ToolProcess {
    /// The failure of a call of this owner.
    pub(crate) async fn call_failure(&self, tool: &str, error: CallError, owner: &Owner) -> Failure {
        let tool = tool.to_owned();
        match error {
            CallError::TimedOut(after) => Failure::TimedOut { tool, after },
            CallError::Interrupted => Failure::Interrupted { tool },
            CallError::Closed(closed) => match self.stop_reason() {
                Some(StopReason::Reload) => Failure::Interrupted { tool },
                Some(StopReason::Shutdown) => Failure::ShuttingDown,
                None => {
                    let known = self.end_for(owner).await;
                    let how = known.unwrap_or_else(|| format!("the tool process broke its link: {closed}"));
                    Failure::Crashed { tool, how }
                }
            },
            CallError::Busy(waiting) => Failure::Overloaded { tool, waiting },
            CallError::TooManyEntries { .. } => Failure::TooLarge { tool, why: error.to_string(), setting: None },
            CallError::AnswerTooLarge { is_of_frame: true, .. } => {
                Failure::TooLarge { tool, why: error.to_string(), setting: Some(Setting::MaxFrame) }
            }
            _ if error.exceeds_result_limit() => {
                Failure::TooLarge { tool, why: error.to_string(), setting: Some(Setting::MaxResult) }
            }
            CallError::RequestTooLarge { .. } => Failure::ArgumentsTooLarge { tool, why: error.to_string() },
            other => Failure::Unusable { tool, why: other.to_string() },
        }
    }
}

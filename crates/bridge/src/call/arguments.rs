//! The check of the arguments of a call, before its turn.

use protomcp_schema::{Mismatch, Validator};
use protomcp_server::Context;
use protomcp_types::RawJson;
use tokio::time::timeout;

use crate::call::Calls;
use crate::catalog::arguments::{Admitted, ArgumentPolicy};
use crate::catalog::tool::Tool;
use crate::diagnostics::failure::Failure;

impl Calls {
    /// The arguments of a call as the process gets them. Large ones are checked on their own thread, in turn with the
    /// arguments of other owners.
    ///
    /// # Errors
    /// If they do not match, or cannot be checked in time, and the policy is to reject them.
    pub(super) async fn check(&self, tool: &Tool, arguments: RawJson, context: &Context) -> Result<Admitted, Failure> {
        let policy =
            self.arguments.unwrap_or_else(|| ArgumentPolicy::announced(self.dispatcher.announced(), tool.input()));
        if !tool.input().takes_long(policy, &arguments) {
            return tool.input().admit(policy, tool.name().as_str(), arguments, || self.metrics.decoded());
        }
        let worker = self.large_work.worker(context.caller().owner.clone());
        let (checked, sent, metrics) = (tool.clone(), arguments.clone(), self.metrics.clone());
        let check = move || checked.input().admit(policy, checked.name().as_str(), sent, || metrics.decoded());
        let time = Validator::CHECK_TIME.min(self.timeout);
        match timeout(time, worker.run(check)).await {
            Ok(admitted) => admitted,
            Err(_) if policy == ArgumentPolicy::Reject => {
                let why = Mismatch::new(format!("they cannot be checked within {time:?}; send less in one call"));
                Err(Failure::InvalidArguments { tool: tool.name().as_str().into(), why })
            }
            Err(_) => {
                tracing::warn!(tool = %tool.name(), "arguments could not be checked within {time:?}");
                Ok(Admitted::unmatched(arguments))
            }
        }
    }
}

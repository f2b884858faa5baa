//! The requests that a client may make.

use std::fmt;
use std::sync::Arc;

use protomcp_types::{
    CallTool, Complete, GetPrompt, ListPrompts, ListResourceTemplates, ListResources, ListTools, Method as _,
    ReadResource, Subscribe, Unsubscribe,
};

use crate::fault::Fault;
use crate::session::inbound::BinaryCall;

/// Decides about each request of a client before it is answered, by the scopes of its token for example.
#[derive(Clone)]
pub struct Permission(Arc<Check>);

type Check = dyn Fn(&str, Option<&str>) -> Result<(), Fault> + Send + Sync;

impl Permission {
    /// Permits a request if `check` does. It gets the method that the request has in MCP, such as `tools/call`, and the
    /// tool, the prompt or the URI that it names; its fault is the answer.
    #[must_use]
    pub fn new(check: impl Fn(&str, Option<&str>) -> Result<(), Fault> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Checks that the client may make this request.
    pub(crate) fn check(&self, call: &BinaryCall) -> Result<(), Fault> {
        match call {
            BinaryCall::ListTools(_) => (self.0)(ListTools::NAME, None),
            BinaryCall::CallTool(request) => (self.0)(CallTool::NAME, Some(&request.name)),
            BinaryCall::ListResources(_) => (self.0)(ListResources::NAME, None),
            BinaryCall::ReadResource(request) => (self.0)(ReadResource::NAME, Some(&request.uri)),
            BinaryCall::ListPrompts(_) => (self.0)(ListPrompts::NAME, None),
            BinaryCall::GetPrompt(request) => (self.0)(GetPrompt::NAME, Some(&request.name)),
            BinaryCall::Complete(_) => (self.0)(Complete::NAME, None),
            BinaryCall::ListTemplates(_) => (self.0)(ListResourceTemplates::NAME, None),
            BinaryCall::Subscribe(request) => (self.0)(Subscribe::NAME, Some(&request.uri)),
            BinaryCall::Unsubscribe(request) => (self.0)(Unsubscribe::NAME, Some(&request.uri)),
        }
    }
}

impl fmt::Debug for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permission(..)")
    }
}

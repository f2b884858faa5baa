//! The registration of a tool process in one handshake.

use protomcp_link::Middleware;
use protomcp_proto::ToolDefinition;
use protomcp_toollist::Command;
use protomcp_types::ToolName;

use crate::catalog::resources_and_prompts::{Kind, Listed};

/// Tools, middleware, and what the process did to the list before it took calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registration {
    /// `None`: a reload was acknowledged without a new list.
    pub(crate) tools: Option<Vec<ToolDefinition>>,
    pub(crate) middleware: Vec<Middleware>,
    /// Tool list control that came right after the handshake: this is how SDKs hide hidden tools.
    pub(crate) early: Vec<Command<ToolName>>,
    /// Its resources, templates and prompts, as far as it has sent them.
    pub(crate) catalog: Vec<Listed>,
    /// Lists that have changed since the process was asked for them.
    pub(crate) renewed: Vec<Kind>,
    /// The process says that it re-reads its files on a reload request.
    pub(crate) in_place: bool,
    /// The process says that its tools always keep their output schemas.
    pub(crate) structured: bool,
}

impl Registration {
    /// A reload registered something else than before. Published SDKs answer a reload request with what
    /// they registered at their start, whatever is in the file by now.
    pub(crate) fn differs_from(&self, before: &Self) -> bool {
        self.tools.as_ref().is_some_and(|tools| Some(tools) != before.tools.as_ref())
            || self.middleware != before.middleware
    }
}

//! The registration of a tool process in one handshake.

use std::sync::Arc;

use protomcp_envelope::ToolDefinition;
use protomcp_link::Middleware;
use protomcp_toollist::Command;
use protomcp_types::ToolName;

use crate::catalog::resources_and_prompts::{Kind, Listed};

/// Tools, middleware, and the list changes before the first call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registration {
    /// `None`: a reload was acknowledged without a new list.
    pub(crate) tools: Option<Arc<[ToolDefinition]>>,
    pub(crate) middleware: Vec<Middleware>,
    /// Tool list control right after the handshake: SDKs hide their hidden tools this way.
    pub(crate) early: Vec<Command<ToolName>>,
    /// Its resources, templates and prompts, if it has sent them.
    pub(crate) catalog: Vec<Listed>,
    /// Lists that have changed since they were requested.
    pub(crate) renewed: Vec<Kind>,
    /// The folders of skills that it names, until they are passed on.
    pub(crate) skill_folders: Vec<String>,
    /// The process announces that it re-reads its files on a reload request.
    pub(crate) in_place: bool,
    /// The process announces that its tools always match their output schemas.
    pub(crate) structured: bool,
}

impl Registration {
    /// True if a reload registered something else. Published SDKs answer a reload request with their first
    /// registration, without reading the file again.
    pub(crate) fn differs_from(&self, before: &Self) -> bool {
        self.tools.as_ref().is_some_and(|tools| Some(tools) != before.tools.as_ref())
            || self.middleware != before.middleware
    }
}

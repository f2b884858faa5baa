//! Lazy discovery: three tools in place of the list.

use std::sync::Arc;

use protomcp_types::{Request, TaskSupport};

use crate::layer::lazy_tools::definitions::KnownDefinitions;
use crate::layer::lazy_tools::request_target::RequestTarget;
use crate::layer::lazy_tools::{ConstantTools, LazyTools, LazyToolsLayer, WithLazyTools};
use crate::serve::Server;
use crate::service::Service;

impl<S: Service> Server<S> {
    /// Shows clients three tools in place of the list: one finds tools by words, one describes them, one calls them
    /// ([`layer::lazy_tools`](crate::layer::lazy_tools)). `None` changes nothing.
    ///
    /// Add layers that depend on the names of tools before this, so that they see the tool that is called, not the one
    /// in front of it. A server that was cloned before still has its list.
    ///
    /// ```
    /// use protomcp_server::layer::lazy_tools::LazyTools;
    /// use protomcp_server::{Handler, Server, ServerInfo};
    ///
    /// struct Everything;
    ///
    /// impl Handler for Everything {
    ///     fn info(&self) -> ServerInfo {
    ///         ServerInfo::new("everything", "1.0")
    ///     }
    /// }
    ///
    /// let server = Server::from_handler(Everything).lazy_tools(LazyTools::default());
    /// ```
    #[must_use]
    pub fn lazy_tools(self, settings: impl Into<Option<LazyTools>>) -> Server<WithLazyTools<Arc<S>>> {
        let settings = settings.into();
        let has_tasks = self.handle().info().capabilities.tasks.is_some_and(|tasks| tasks.has_tool_calls());
        let tasks = if has_tasks { TaskSupport::Optional } else { TaskSupport::Forbidden };
        let behind = KnownDefinitions(self.0.definitions.clone());
        let mut server = self.layer(LazyToolsLayer { settings, tasks, behind });
        if settings.is_some() {
            server.0.targets = RequestTarget::behind_lazy_tools;
            // No client reads these definitions in the list.
            server.0.definitions = None;
            server = server.outgoing_layer(ConstantTools);
        }
        server
    }

    /// The method and the name by which the access to a request is decided.
    #[must_use]
    pub fn target(&self, request: &Request) -> RequestTarget {
        (self.0.targets)(request)
    }
}

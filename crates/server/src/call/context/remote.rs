//! The client of a call that another process serves, and the tools that it sees.

use futures_util::future::BoxFuture;
use protomcp_session::AskError;
use protomcp_toollist::Command;

use crate::call::context::Context;

impl Context {
    /// The member of `_meta` in the definition of a hidden tool, for [`Context::lists_hidden_tools`]; `true`.
    pub const HIDDEN_MARK: &'static str = "protomcp/hidden";

    /// True if another process serves the client of this call ([`Outlet::is_remote`](crate::Outlet::is_remote)). The
    /// tools that the client sees are selected there.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.0.outlet.is_remote()
    }

    /// Changes the tools that the client of a call sees, and returns the names of those that it sees then, sorted.
    /// `None`: the front of the call selects no tools.
    #[must_use]
    pub fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        self.0.outlet.select_tools(change)
    }

    /// True for a list that the front of the call wants for its clients, whose selections it keeps: hidden tools are in
    /// it, with [`Context::HIDDEN_MARK`].
    #[must_use]
    pub fn lists_hidden_tools(&self) -> bool {
        self.0.outlet.lists_hidden_tools()
    }
}

//! The tools that the client of a relayed call sees, which its transport knows.

use futures_util::future::BoxFuture;
use protomcp_session::AskError;
use protomcp_toollist::Command;

use crate::call::context::Context;
use crate::call::relay::ListsHidden;

impl Context {
    /// True if the transport serves the client of this request elsewhere ([`Relay`](crate::Relay)). The tools that the
    /// client sees are selected there.
    #[must_use]
    pub fn is_relayed(&self) -> bool {
        self.0.outlet.is_remote()
    }

    /// Changes the tools that the client of a relayed request sees, and returns the names of those that it sees then.
    /// `None`: the request is not relayed, or its transport selects no tools.
    #[must_use]
    pub fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        self.0.outlet.select_tools(change)
    }

    /// True for a list that the transport wants for its clients, whose selections it keeps: hidden tools are in it, with
    /// [`ListsHidden::MARK`].
    #[must_use]
    pub fn lists_hidden_tools(&self) -> bool {
        self.0.outlet.lists_hidden_tools() || self.extension::<ListsHidden>().is_some()
    }
}

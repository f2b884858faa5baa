//! The tools that the only client of a harness sees.

use protomcp_envelope::{
    ActiveToolsResponse, BatchUpdateRequest, DisableToolsRequest, EnableToolsRequest, Msg, SetAllowedRequest,
    ToolDefinition,
};
use protomcp_toollist::{Batch, Command, ToolList};
use tokio::sync::watch;

/// The registered tools, and the ones among them that are shown.
#[derive(Debug)]
pub(super) struct ShownTools {
    list: ToolList<String, ()>,
    names: watch::Sender<Vec<String>>,
}

impl ShownTools {
    /// The receiver has the names, sorted.
    pub(super) fn new(tools: Vec<ToolDefinition>) -> (Self, watch::Receiver<Vec<String>>) {
        let (names, receiver) = watch::channel(Vec::new());
        let mut shown = Self { list: ToolList::new(), names };
        shown.register(tools);
        (shown, receiver)
    }

    /// The server has sent a list.
    pub(super) fn register(&mut self, tools: Vec<ToolDefinition>) {
        self.list.register(tools.into_iter().map(|tool| (tool.name, ())).collect());
        self.names.send_replace(self.active());
    }

    /// Applies a message that this SDK sends to show and hide tools; `None`: it is another one.
    pub(super) fn control(&mut self, message: &Msg) -> Option<ActiveToolsResponse> {
        let command = match message.clone() {
            Msg::EnableTools(EnableToolsRequest { tool_names }) => Ok(Command::enable(tool_names)),
            Msg::DisableTools(DisableToolsRequest { tool_names }) => Ok(Command::disable(tool_names)),
            Msg::SetAllowed(SetAllowedRequest { tool_names }) => Ok(Command::set_allowed(tool_names)),
            Msg::Batch(BatchUpdateRequest { enable, disable, allow, block }) => {
                Command::batch(Batch { enable, disable, allow, block })
            }
            _ => return None,
        };
        if let Err(rejected) = command.and_then(|command| self.list.apply(&command)) {
            tracing::warn!(%rejected, "tools are not shown or hidden");
        }
        self.names.send_replace(self.active());
        Some(ActiveToolsResponse { tool_names: self.active() })
    }

    fn active(&self) -> Vec<String> {
        self.list.active().map(|(name, ())| name.clone()).collect()
    }
}

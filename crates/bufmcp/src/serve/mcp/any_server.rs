//! The MCP server, of any type.

use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use protomcp_server::{
    CallFacts, CallInfo, ClientInfo, Membership, Outlet, Peer, RunningCall, Server, ServerHandle, ServerRequest,
    Service, SingleAnswer, SingleCaller, SingleReports,
};
use protomcp_session::Extensions;
use protomcp_types::{ClientCapabilities, Implementation, Level, Progress, ProtocolVersion, RawJson};

use crate::serve::call_reports::CallReports;

/// An MCP server of any type.
pub(in crate::serve) trait AnyMcpServer: Send + Sync {
    fn handle(&self) -> &ServerHandle;

    /// Makes a call without a session; its future drives it. `reports`: as in [`AnyMcpServer::call`].
    fn call_once(
        &self,
        request: ServerRequest,
        peer: Peer,
        known: Extensions,
        reports: Option<Arc<CallReports>>,
    ) -> BoxFuture<'static, SingleAnswer>;

    /// Makes a call of a member; its future drives it. `reports`: the way back to its client, if it wants reports.
    fn call(&self, request: ServerRequest, facts: CallFacts, reports: Option<Arc<CallReports>>) -> RunningCall;

    /// Adds a client to the open sessions.
    fn join(&self, peer: Peer, client: ClientInfo) -> Membership;

    /// True if the calls of a member run in the task of their connection.
    fn has_inline_calls(&self) -> bool;

    fn tool_definition(&self, tool: &str) -> Option<RawJson>;
}

impl<S: Service> AnyMcpServer for Server<S> {
    fn handle(&self) -> &ServerHandle {
        Self::handle(self)
    }

    fn call_once(
        &self,
        request: ServerRequest,
        peer: Peer,
        known: Extensions,
        reports: Option<Arc<CallReports>>,
    ) -> BoxFuture<'static, SingleAnswer> {
        let reports = reports.map(|reports| SingleReports {
            progress_token: reports.progress_token(),
            log_level: reports.least,
            on_report: Box::new(move |notification| reports.notified(&notification)),
        });
        Self::call_once(self, request, SingleCaller { client: Arc::clone(&CLIENT), peer, known, reports })
    }

    fn call(&self, request: ServerRequest, facts: CallFacts, reports: Option<Arc<CallReports>>) -> RunningCall {
        match reports {
            Some(reports) => Self::call(self, request, facts, reports),
            None => Self::call(self, request, facts, Arc::new(Silent)),
        }
    }

    fn join(&self, peer: Peer, client: ClientInfo) -> Membership {
        Self::join(self, peer, client)
    }

    fn has_inline_calls(&self) -> bool {
        Self::has_inline_calls(self)
    }

    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        Self::tool_definition(self, tool)
    }
}

/// The client of all requests without a conversation: nothing else is known of it.
static CLIENT: LazyLock<Arc<ClientInfo>> = LazyLock::new(|| {
    Arc::new(ClientInfo {
        version: ProtocolVersion::V2026_07_28,
        implementation: Implementation::new("proto-mcp client", ""),
        capabilities: ClientCapabilities::new(),
    })
});

/// The way back to a client of proto-mcp that wants no reports. There are no messages for questions.
#[derive(Debug)]
struct Silent;

impl Outlet for Silent {
    fn send_progress(&self, _: &CallInfo, _: &Progress) -> bool {
        false
    }

    fn send_log(&self, _: &CallInfo, _: Level, _: Option<&str>, _: &RawJson) {}
}

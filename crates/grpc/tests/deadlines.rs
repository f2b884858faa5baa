//! The deadline of a call, as the service itself keeps it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use prost::Message;
use protomcp_bufmcp::BinaryServer;
use protomcp_bufmcp::message::{CallToolRequest, ListenRequest};
use protomcp_grpc::GrpcService;
use protomcp_http::{Body, BoxBody, Protocol};
use protomcp_server::{Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_testing::in_time;
use protomcp_types::{
    CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, Progress, RawJson, ServerCapabilities, Tool,
    ToolName,
};
use tokio::sync::Semaphore;

/// A tool that reports until it is cancelled.
struct Endless;

/// The calls that have ended.
static ENDED: Semaphore = Semaphore::const_new(0);

struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        ENDED.add_permits(1);
    }
}

fn info() -> ServerInfo {
    ServerInfo::new("tools", "1").with_capabilities(ServerCapabilities::default().with_tools())
}

impl Handler for Endless {
    fn info(&self) -> ServerInfo {
        info()
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let tools = [Tool::new(ToolName::new("endless").unwrap()).to_raw()];
        Ok(ListToolsResult::new(RawJson::of(&tools).unwrap()))
    }

    async fn call_tool(&self, _: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let _ended = Ended;
        for step in 1..i64::MAX {
            context.progress(&Progress::new(step));
            tokio::task::yield_now().await;
        }
        Ok(CallToolResult::text("done"))
    }
}

/// The response to a call with three seconds.
async fn respond(method: &str, request: &impl Message) -> Response<Body> {
    let limits = Limits { cancel_grace: std::time::Duration::ZERO, ..Limits::default() };
    let sessions = ServerHandle::new(info(), limits);
    let service = GrpcService::new(&BinaryServer::new(Server::with_sessions(sessions, Endless)));
    let message = request.encode_to_vec();
    let mut frame = vec![0];
    frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend(message);
    let request = Request::post(format!("/buf.mcp.v1.MCPStreams/{method}"))
        .header("content-type", "application/grpc")
        .header("grpc-timeout", "3S")
        .body(BoxBody::new(Full::new(Bytes::from(frame))))
        .unwrap();
    in_time(service.respond(request)).await.unwrap()
}

/// The status of a response, in its trailers or in its head.
async fn status(response: Response<Body>) -> String {
    if let Some(status) = response.headers().get("grpc-status") {
        return status.to_str().unwrap().to_owned();
    }
    let Ok(body) = in_time(response.into_body().collect()).await.unwrap() else { panic!("the body fails") };
    let status = body.trailers().and_then(|trailers| trailers.get("grpc-status")).expect("a status");
    status.to_str().unwrap().to_owned()
}

/// `DEADLINE_EXCEEDED`.
const LATE: &str = "4";

#[tokio::test]
async fn a_tool_ends_at_its_deadline_without_a_reader() {
    let call = CallToolRequest { name: "endless".to_owned(), wants_progress: true, ..CallToolRequest::default() };
    let response = respond("CallToolStream", &call).await;
    in_time(ENDED.acquire()).await.unwrap().unwrap().forget();
    assert_eq!(status(response).await, LATE);
}

#[tokio::test]
async fn a_client_listens_until_its_deadline() {
    let response = respond("Listen", &ListenRequest::default()).await;
    assert_eq!(status(response).await, LATE);
}

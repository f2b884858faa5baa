//! The texts that a model reads and writes with lazy tools: the texts of the layer itself.

use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};

use protomcp_server::layer::lazy_tools::LazyTools;
use protomcp_server::{Context, Limits, Server, ServerHandle, ServerInfo, ServerRequest, ServerResult, Service};
use protomcp_types::{CallTool, ErrorObject, ListTools, ListToolsResult, RawJson};
use serde_json::{Value, json};

use crate::lists::Tool;

/// The tools that a session uses.
const USED: usize = 3;

/// The words of a search.
const WORDS: usize = 6;

/// The list that a host sees.
pub(crate) fn definitions(tools: &[&Tool]) -> String {
    list(&service(tools))
}

/// The list, a search for each of some tools, and their definitions; with the arguments that the model writes.
pub(crate) fn session(tools: &[&Tool]) -> String {
    let service = service(tools);
    let mut text = list(&service);
    let used = &tools[..tools.len().min(USED)];
    for tool in used {
        let words: Vec<&str> = tool.description.split_whitespace().take(WORDS).collect();
        text += &call(&service, "search_tools", &json!({"query": words.join(" ")}));
    }
    let names: Vec<&str> = used.iter().map(|tool| tool.name.as_str()).collect();
    text + &call(&service, "describe_tools", &json!({"names": names}))
}

/// A list of tools that never changes.
struct Fixed(RawJson);

impl Service for Fixed {
    async fn call(&self, _: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        Ok(ListToolsResult::new(self.0.clone()).into())
    }
}

fn service(tools: &[&Tool]) -> impl Service + use<> {
    let tools: Vec<&Value> = tools.iter().map(|tool| &tool.json).collect();
    let fixed = Fixed(RawJson::of(&tools).expect("tools are JSON"));
    let sessions = ServerHandle::new(ServerInfo::new("fixed", "1"), Limits::default());
    Server::new(sessions, fixed).lazy_tools(LazyTools::default()).service().clone()
}

fn list(service: &impl Service) -> String {
    match answer(service, ServerRequest::ListTools(ListTools { cursor: None, meta: None })) {
        ServerResult::ListTools(page) => format!(r#"{{"tools":{}}}"#, page.tools),
        other => panic!("not a list: {other:?}"),
    }
}

/// The arguments of a call and the text of its result.
fn call(service: &impl Service, tool: &str, arguments: &Value) -> String {
    let raw = RawJson::of(arguments).expect("arguments are JSON");
    let ServerResult::CallTool(result) =
        answer(service, ServerRequest::CallTool(CallTool::new(tool).with_arguments(raw)))
    else {
        panic!("not a result of {tool}");
    };
    assert!(!result.is_error, "{tool} {arguments}: {}", result.content);
    let blocks: Vec<Value> = result.content.to().expect("content is blocks");
    let texts = blocks.iter().map(|block| block["text"].as_str().expect("a block is text"));
    texts.fold(format!("\n{arguments}\n"), |all, text| all + text + "\n")
}

/// The answer of a service that never waits.
fn answer(service: &impl Service, request: ServerRequest) -> ServerResult {
    let mut answering = pin!(service.call(request, Context::detached()));
    match answering.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.expect("the service answers"),
        Poll::Pending => panic!("the service waits"),
    }
}

//! A tool process without an SDK: it implements the tools of the official suite in envelopes.
//!
//! `pmcp` starts it; it connects to the socket of the environment and serves until the bridge hangs up. Each call runs
//! in its own thread, because it may have to wait for an answer of the host. With `PUBLISHED_LINK` in its environment
//! it uses only the envelopes of the published link: it sends no introduction, its requests do not name their call, and
//! it cannot ask the user or report changed prompts.

mod asking;
mod content;
mod link;
mod prompts;
mod resources;
mod task_table;
mod tasks;
mod tools;

use std::io::Read;
use std::os::unix::net::UnixStream;

use prost::Message as _;
use protomcp_envelope::{CallToolResponse, Envelope, Msg, ReloadResponse, SdkInfo, ToolListResponse};

use crate::link::Link;
use crate::task_table::Outcome;

fn main() -> std::io::Result<()> {
    let socket = std::env::var_os("PROTOMCP_SOCKET").expect("pmcp says where to connect");
    let mut stream = UnixStream::connect(socket)?;
    let link = Link::new(stream.try_clone()?, std::env::var_os("PUBLISHED_LINK").is_none());
    if link.is_extended() {
        let features = vec!["elicitation".to_owned()];
        link.send("", "", SdkInfo { name: "none".into(), max_concurrent_calls: 64, features, ..SdkInfo::default() });
    }
    loop {
        let mut length = [0; 4];
        if stream.read_exact(&mut length).is_err() {
            // The bridge has closed the socket.
            return Ok(());
        }
        let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut bytes)?;
        take(&link, Envelope::decode(bytes.as_slice()).expect("the bridge writes valid envelopes"));
    }
}

fn take(link: &Link, envelope: Envelope) {
    let id = envelope.request_id;
    match envelope.msg {
        Some(Msg::ListTools(_)) => {
            link.send(&id, "", ToolListResponse { tools: tools::all(link) });
            link.send("", "", ReloadResponse { success: true, ..ReloadResponse::default() });
        }
        Some(Msg::ListResourcesRequest(_)) => link.send(&id, "", resources::all()),
        Some(Msg::ListResourceTemplatesRequest(_)) => link.send(&id, "", resources::templates()),
        Some(Msg::ReadResourceRequest(request)) => link.send(&id, "", resources::read(&request.uri)),
        Some(Msg::ListPromptsRequest(_)) => link.send(&id, "", prompts::all(link)),
        Some(Msg::GetPromptRequest(request)) => {
            let link = link.clone();
            std::thread::spawn(move || link.send(&id, "", prompts::get(&link, &id, &request)));
        }
        Some(Msg::CompletionRequest(request)) => link.send(&id, "", prompts::complete(&request.argument_value)),
        Some(Msg::CallTool(call)) => {
            let link = link.clone();
            std::thread::spawn(move || {
                let outcome = if tasks::is_one(&call.name) {
                    tasks::call(&link, &id, &call)
                } else {
                    Some(tools::call(&link, &id, &call))
                };
                if let Some(outcome) = outcome {
                    link.send(&id, "", result(outcome));
                }
            });
        }
        Some(Msg::TaskStatus(about)) => link.send(&id, "", link.tasks().status(&about.task_id)),
        Some(Msg::TaskResult(about)) => link.send(&id, "", result(link.tasks().outcome(&about.task_id))),
        Some(Msg::TaskCancel(about)) => {
            // A task has the name of its call.
            link.give_up(&about.task_id);
            link.send(&id, "", link.tasks().cancel(&about.task_id));
        }
        Some(Msg::Cancel(cancel)) => link.give_up(&cancel.request_id),
        Some(answer @ (Msg::SamplingResponse(_) | Msg::ElicitationResponse(_) | Msg::ListRootsResponse(_))) => {
            link.answered(&id, answer);
        }
        _ => {}
    }
}

fn result(outcome: Outcome) -> CallToolResponse {
    let is_error = outcome.is_err();
    let content = outcome.unwrap_or_else(|why| content::said(&why));
    CallToolResponse { is_error, result_json: content.to_string().into_bytes().into(), ..CallToolResponse::default() }
}

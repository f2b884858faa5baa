//! The same machine as the tool process's end, as an SDK would use it.

use protomcp_codec::{Field, Raw};
use protomcp_envelope::{
    ActiveToolsResponse, CancelRequest, EnableToolsRequest, GetActiveToolsRequest, ListToolsRequest,
    RegisterMiddlewareRequest, RegisterMiddlewareResponse, ReloadRequest, SamplingRequest, SamplingResponse,
    StreamHeader,
};
use protomcp_link::{Config, Side};

use super::talk::{SECOND, Talk, call_tool, done, result, tools};

fn tool() -> Talk {
    Talk::on(Side::Tool, Config::default())
}

#[test]
fn the_tool_side_answers_requests_immediately() {
    let mut talk = tool();
    talk.hears("req-0", ListToolsRequest {});
    talk.connection.reply("req-0", tools(&["a"]).into());
    talk.connection.notify(done(true).into());
    talk.hears("req-1", call_tool(""));
    talk.connection.reply("req-1", result("hi").into());
    talk.hears("req-2", ReloadRequest {});
    talk.happened(&["asked list_tools[req-0]", "asked call_tool[req-1]", "asked reload[req-2]"]);
    talk.wrote(&["tool_list[req-0]", "reload_response[]", "call_result[req-1]"]);
}

#[test]
fn a_large_result_goes_out_raw() {
    let mut talk = tool();
    talk.connection.reply_raw(&Raw::new("req-1", Field::ResultJson, "large"));
    talk.connection.reply("req-2", result("next").into());
    talk.wrote(&["raw result_json of 5 bytes[req-1]", "call_result[req-2]"]);
}

#[test]
fn a_cancel_is_reported() {
    let mut talk = tool();
    talk.hears("", CancelRequest { request_id: "req-1".into() });
    talk.happened(&["told cancel"]);
}

#[test]
fn an_answer_without_an_id_belongs_to_the_oldest_request() {
    let mut talk = tool();
    talk.request(EnableToolsRequest::default(), SECOND);
    talk.request(RegisterMiddlewareRequest::default(), SECOND);
    talk.request(SamplingRequest::default(), SECOND);
    talk.request(GetActiveToolsRequest {}, SECOND);
    talk.wrote(&[
        "enable_tools[req-0]",
        "register_middleware[req-1]",
        "sampling_request[req-2]",
        "get_active_tools[req-3]",
    ]);
    talk.hears("", RegisterMiddlewareResponse { success: true });
    talk.hears("", ActiveToolsResponse::default());
    talk.hears("", ActiveToolsResponse::default());
    talk.hears("", ActiveToolsResponse::default());
    talk.hears("", SamplingResponse::default());
    talk.hears("req-2", SamplingResponse::default());
    talk.happened(&[
        "req-1: register_middleware_response",
        "req-0: active_tools",
        "req-3: active_tools",
        "late active_tools[]",
        "late sampling_response[]",
        "req-2: sampling_response",
    ]);
}

#[test]
fn each_tool_list_question_is_recognised() {
    use protomcp_envelope::{BatchUpdateRequest, DisableToolsRequest, SetAllowedRequest, SetBlockedRequest};
    let questions: [protomcp_envelope::Msg; 6] = [
        EnableToolsRequest::default().into(),
        DisableToolsRequest::default().into(),
        SetAllowedRequest::default().into(),
        SetBlockedRequest::default().into(),
        GetActiveToolsRequest {}.into(),
        BatchUpdateRequest::default().into(),
    ];
    for question in questions {
        let mut talk = tool();
        talk.request(question, SECOND);
        talk.hears("", ActiveToolsResponse::default());
        talk.happened(&["req-0: active_tools"]);
    }
}

#[test]
fn an_unanswered_question_times_out_without_a_cancel() {
    let mut talk = tool();
    talk.request(SamplingRequest::default(), SECOND);
    talk.wrote(&["sampling_request[req-0]"]);
    talk.passes(SECOND);
    talk.happened(&["req-0 failed: timed out after 1s"]);
    talk.wrote(&[]);
}

#[test]
fn what_only_a_tool_process_says_is_unexpected_here() {
    let mut talk = tool();
    talk.hears("req-0", StreamHeader::default());
    talk.hears("", done(true));
    talk.happened(&["unexpected stream_header", "unexpected reload_response"]);
}

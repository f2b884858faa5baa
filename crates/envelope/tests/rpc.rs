//! Requests and the answers they accept.

use protomcp_envelope::{
    ActiveToolsResponse, AnyAnswer, BatchUpdateRequest, CallAnswer, CallToolRequest, CallToolResponse,
    CreateTaskResponse, ElicitationRequest, ElicitationResponse, Envelope, ListToolsRequest, Msg, ReloadResponse, Rpc,
    TaskCancelRequest, TaskResultRequest, ToolListResponse, UnexpectedMessage, message_name,
};

/// The name of an answer if `R` accepts it.
fn answer<R: Rpc>(request: R, msg: impl Into<Msg>) -> Result<R::Response, UnexpectedMessage> {
    assert_eq!(message_name(&request.into()), R::NAME, "the name in the pair is the name in the envelope");
    R::Response::try_from(msg.into())
}

#[test]
fn a_request_accepts_the_answer_it_is_owed() {
    assert!(answer(ListToolsRequest {}, ToolListResponse::default()).is_ok());
    assert!(answer(BatchUpdateRequest::default(), ActiveToolsResponse::default()).is_ok());
    assert!(answer(TaskResultRequest::default(), CallToolResponse::default()).is_ok());
    assert!(answer(ElicitationRequest::default(), ElicitationResponse::default()).is_ok());
}

#[test]
fn an_answer_of_another_kind_is_named() {
    let error = answer(ListToolsRequest {}, ReloadResponse::default()).unwrap_err();
    assert_eq!(error, UnexpectedMessage { wanted: "tool_list", got: "reload_response" });
    assert_eq!(error.to_string(), "expected tool_list, got reload_response");
}

#[test]
fn a_call_is_answered_by_a_result_or_a_task() {
    let result = CallToolResponse { is_error: true, ..Default::default() };
    let task = CreateTaskResponse { task_id: "t".into() };
    assert_eq!(answer(CallToolRequest::default(), result.clone()), Ok(CallAnswer::Result(result)));
    assert_eq!(answer(CallToolRequest::default(), task.clone()), Ok(CallAnswer::Task(task)));
    let error = answer(CallToolRequest::default(), ToolListResponse::default()).unwrap_err();
    assert_eq!(error.to_string(), "expected call_result or create_task, got tool_list");
}

#[test]
fn any_answer_acknowledges_the_end_of_a_task() {
    let result = CallToolResponse::default();
    let got = answer(TaskCancelRequest::default(), result.clone());
    assert_eq!(got, Ok(AnyAnswer(Msg::CallResult(result))));
}

#[test]
fn an_envelope_has_the_name_of_what_it_says() {
    assert_eq!(Envelope::new("1", ListToolsRequest {}).name(), "list_tools");
    assert_eq!(Envelope::default().name(), "empty");
}

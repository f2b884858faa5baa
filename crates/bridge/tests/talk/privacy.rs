//! Messages of a tool process for one user never reach another.

use std::time::Duration;

use protomcp_bridge::Command;
use protomcp_envelope::{
    LogMessage, Msg, ReadResourceResponse, ReloadResponse, ResourceDefinition, ResourceListResponse, SamplingRequest,
    SamplingResponse,
};
use protomcp_testing::{JsonPeer, StoppedClock, until};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

const ABLE: &str = r#"{"sampling":{}}"#;

const UNNAMED: &str = "the tool process works for several users, and the question names no call";

fn log(data: u32) -> LogMessage {
    LogMessage { level: "error".into(), data_json: data.to_string().into(), ..LogMessage::default() }
}

async fn logged(host: &mut JsonPeer) -> Value {
    host.expect("notifications/message").await["params"]["data"].take()
}

async fn ends(host: &mut JsonPeer, tool: &mut Tool, id: u64, call: &str) {
    tool.result(call, "done").await;
    assert_eq!(host.text(id).await, "done");
}

#[tokio::test]
async fn a_log_message_reaches_only_the_user_of_its_call() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let (mut ann, mut bob) = (stage.host_as("ann", "{}").await, stage.host_as("bob", "{}").await);
    let first = ann.call("a").await;
    let (of_ann, _) = tool.call().await;
    tool.send("", log(1)).await;
    assert_eq!(logged(&mut ann).await, 1, "the only call that runs");
    let second = bob.call("a").await;
    let (of_bob, _) = tool.call().await;
    tool.send("", log(2)).await;
    tool.send_for(&of_ann, "", log(3)).await;
    tool.send_for(&of_bob, "", log(4)).await;
    assert_eq!((logged(&mut ann).await, logged(&mut bob).await), (json!(3), json!(4)), "2 may be of either");
    ends(&mut ann, &mut tool, first, &of_ann).await;
    ends(&mut bob, &mut tool, second, &of_bob).await;
    tool.send("", log(5)).await;
    tool.send_for(&of_bob, "", log(6)).await;
    assert_eq!(logged(&mut bob).await, 6, "5 may be of either");
    ann.hears_nothing().await;
    // The process has worked for ann, and its messages without a call may still be about her.
    drop(ann);
    stage.hosts(1).await;
    tool.send("", log(7)).await;
    tool.send_for(&of_bob, "", log(8)).await;
    assert_eq!(logged(&mut bob).await, 8);
    bob.hears_nothing().await;
}

#[tokio::test]
async fn a_log_message_without_a_call_reaches_a_lone_user() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let (mut one, mut two) = (stage.host_as("ann", "{}").await, stage.host_as("ann", "{}").await);
    let id = one.call("a").await;
    let (call, _) = tool.call().await;
    ends(&mut one, &mut tool, id, &call).await;
    tool.send("", log(1)).await;
    assert_eq!((logged(&mut one).await, logged(&mut two).await), (json!(1), json!(1)));
    // A request without a session belongs to another user as well.
    let mut bob = stage.stranger_as("bob");
    stage.hosts(3).await;
    tool.send("", log(2)).await;
    tool.is_heard().await;
    let id = one.call("a").await;
    let (call, _) = tool.call().await;
    tool.send("", log(3)).await;
    assert_eq!(logged(&mut one).await, 3);
    ends(&mut one, &mut tool, id, &call).await;
    two.hears_nothing().await;
    bob.hears_nothing().await;
}

#[tokio::test]
async fn messages_of_a_given_up_handler_reach_no_other_user() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let (mut ann, mut bob) = (stage.host_as("ann", "{}").await, stage.host_as("bob", ABLE).await);
    let id = ann.call("a").await;
    let (of_ann, _) = tool.call().await;
    ann.send(json!({"method": "notifications/cancelled", "params": {"requestId": id}})).await;
    assert!(matches!(tool.request().await.msg, Some(Msg::Cancel(_))));
    let id = bob.call("a").await;
    let (of_bob, _) = tool.call().await;
    tool.send("", log(1)).await;
    tool.send("q", sampling()).await;
    let answer: SamplingResponse = tool.answer("q").await;
    assert_eq!(answer.error, UNNAMED);
    tool.result(&of_ann, "too late").await;
    // The late answer has been read once a later question is answered.
    tool.send_for(&of_bob, "q", sampling()).await;
    let question = bob.expect("sampling/createMessage").await;
    bob.reply(&question, json!({"role": "assistant", "content": {"type": "text", "text": "t"}, "model": "m"})).await;
    tool.answer::<SamplingResponse>("q").await;
    tool.send("", log(2)).await;
    assert_eq!(logged(&mut bob).await, 2);
    ends(&mut bob, &mut tool, id, &of_bob).await;
    ann.hears_nothing().await;
}

#[tokio::test]
async fn messages_during_a_read_reach_no_user_of_a_call() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    serve_resource(&mut tool).await;
    let mut bob = stage.host_as("bob", "{}").await;
    let read = bob.request("resources/read", json!({"uri": "mem://a"})).await;
    let request = tool.request().await;
    assert!(matches!(request.msg, Some(Msg::ReadResourceRequest(_))), "{request:?}");
    let mut ann = stage.host_as("ann", ABLE).await;
    let id = ann.call("a").await;
    let (call, _) = tool.call().await;
    tool.send("", log(1)).await;
    tool.send("q", sampling()).await;
    assert_eq!(tool.answer::<SamplingResponse>("q").await.error, UNNAMED);
    tool.send(&request.request_id, ReadResourceResponse::default()).await;
    bob.until(read).await;
    tool.send("", log(2)).await;
    assert_eq!(logged(&mut ann).await, 2, "1 may be of the read");
    ends(&mut ann, &mut tool, id, &call).await;
    bob.hears_nothing().await;
}

#[tokio::test]
async fn messages_after_a_read_timed_out_reach_no_other_user() {
    const TIMEOUT: Duration = Duration::from_secs(200);
    let tools = vec![Tool::definition("a")];
    let (stage, mut tool) = Stage::with(tools, |builder| builder.call_timeout(TIMEOUT)).await;
    serve_resource(&mut tool).await;
    let mut bob = stage.host_as("bob", "{}").await;
    let read = bob.request("resources/read", json!({"uri": "mem://a"})).await;
    let request = tool.request().await;
    let clock = StoppedClock::new();
    clock.advance(TIMEOUT).await;
    let (answer, _) = bob.until(read).await;
    assert_eq!(answer["error"]["message"], "read resource \"mem://a\" timed out after 3m20s");
    let mut ann = stage.host_as("ann", "{}").await;
    let id = ann.call("a").await;
    let (call, _) = tool.call().await;
    tool.send("", log(1)).await;
    // The handler of the read ends now.
    tool.send(&request.request_id, ReadResourceResponse::default()).await;
    tool.is_heard().await;
    tool.send("", log(2)).await;
    assert_eq!(logged(&mut ann).await, 2, "1 may be of the read");
    ends(&mut ann, &mut tool, id, &call).await;
}

fn sampling() -> SamplingRequest {
    let messages = json!([{"role": "user", "content": "what is in account 4711?"}]);
    SamplingRequest { messages_json: messages.to_string().into(), ..SamplingRequest::default() }
}

#[tokio::test]
async fn a_question_that_names_no_call_is_asked_of_a_lone_user_only() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let (mut ann, mut bob) = (stage.host_as("ann", "{}").await, stage.host_as("bob", ABLE).await);
    ann.call("a").await;
    tool.call().await;
    bob.call("a").await;
    tool.call().await;
    // Bob's client is the only one that could answer.
    tool.send("q", sampling()).await;
    let answer: SamplingResponse = tool.answer("q").await;
    assert_eq!(answer.error, UNNAMED);
    bob.hears_nothing().await;
    ann.hears_nothing().await;
}

/// A process that prints a line and exits when the stage asks for it.
async fn printing() -> (Stage, Tool, tempfile::NamedTempFile) {
    let lives = tempfile::NamedTempFile::new().unwrap();
    let script = r#"trap "exit 3" TERM; echo "account 4711" >&2; exec 2>/dev/null; echo up >"$0"; while [ -e "$0" ]; do sleep 0.02; done; exit 3"#;
    let command = Command::new("sh").arg("-c").arg(script).arg(lives.path());
    let (stage, mut tool) = Stage::of_command(&command, |builder| builder).await;
    tool.handshake(vec![Tool::definition("a")]).await;
    until("the process runs", || lives.as_file().metadata().unwrap().len() > 0).await;
    (stage, tool, lives)
}

const CRASHED: &str = "call tool \"a\": the tool process exited with status 3";
const LAST_LINES: &str = "; its last lines:\n  account 4711";

/// Ends the process; returns the texts of these calls.
async fn crash<const N: usize>(
    mut tool: Tool,
    lives: tempfile::NamedTempFile,
    calls: [(&mut JsonPeer, u64); N],
) -> [String; N] {
    for _ in &calls {
        tool.call().await;
    }
    lives.close().unwrap();
    drop(tool);
    let mut texts = Vec::new();
    for (host, id) in calls {
        let (answer, before) = host.until(id).await;
        assert!(!format!("{before:?}").contains("4711"), "{before:?}");
        texts.push(answer["result"]["content"][0]["text"].as_str().unwrap().to_owned());
    }
    texts.try_into().unwrap()
}

#[tokio::test]
async fn a_crash_is_quoted_to_the_failed_call_of_a_lone_user() {
    let (stage, tool, lives) = printing().await;
    let (mut ann, mut bob) = (stage.host_as("ann", "{}").await, stage.host_as("bob", "{}").await);
    let id = ann.call("a").await;
    let texts = crash(tool, lives, [(&mut ann, id)]).await;
    assert_eq!(texts, [format!("{CRASHED}{LAST_LINES}")]);
    let report = bob.expect("notifications/message").await;
    assert_eq!(report["params"]["data"], "the tool process exited with status 3");
}

#[tokio::test]
async fn a_crash_is_quoted_to_no_client_once_two_users_called() {
    let (stage, tool, lives) = printing().await;
    let (mut ann, mut bob) = (stage.host_as("ann", "{}").await, stage.host_as("bob", "{}").await);
    let calls = (ann.call("a").await, bob.call("a").await);
    let texts = crash(tool, lives, [(&mut ann, calls.0), (&mut bob, calls.1)]).await;
    assert_eq!(texts, [CRASHED, CRASHED]);
    // The same if the other call has ended before.
    let (stage, mut tool, lives) = printing().await;
    let (mut ann, mut bob) = (stage.host_as("ann", "{}").await, stage.host_as("bob", "{}").await);
    let id = bob.call("a").await;
    let (call, _) = tool.call().await;
    ends(&mut bob, &mut tool, id, &call).await;
    let id = ann.call("a").await;
    assert_eq!(crash(tool, lives, [(&mut ann, id)]).await, [CRASHED]);
}

#[tokio::test]
async fn a_read_failed_by_a_crash_quotes_it_to_a_lone_user_only() {
    for (others, quoted) in [(false, LAST_LINES), (true, "")] {
        let (stage, mut tool, lives) = printing().await;
        let mut ann = stage.host_as("ann", "{}").await;
        serve_resource(&mut tool).await;
        let mut bob = stage.host_as("bob", "{}").await;
        let read = json!({"uri": "mem://a"});
        for host in if others { vec![&mut bob, &mut ann] } else { vec![&mut ann] } {
            host.request("resources/read", read.clone()).await;
            assert!(matches!(tool.request().await.msg, Some(Msg::ReadResourceRequest(_))));
        }
        lives.close().unwrap();
        drop(tool);
        let (answer, before) = ann.until(2).await;
        assert!(!format!("{before:?}").contains("4711"), "{before:?}");
        let expected = format!("read resource \"mem://a\": the tool process exited with status 3{quoted}");
        assert_eq!(answer["error"]["message"], expected);
    }
}

/// Answers the questions after the handshake with one resource.
async fn serve_resource(tool: &mut Tool) {
    loop {
        let envelope = tool.next().await;
        if let Some(Msg::ListResourcesRequest(_)) = envelope.msg {
            let resources = vec![ResourceDefinition { uri: "mem://a".into(), name: "a".into(), ..Default::default() }];
            return tool.send(&envelope.request_id, ResourceListResponse { resources }).await;
        }
    }
}

#[tokio::test]
async fn the_reason_of_a_failed_reload_is_quoted_to_a_lone_user_only() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut ann = stage.host_as("ann", "{}").await;
    let ours = "reload failed, still serving the previous version: the tool process reported an error";
    for (others, expected) in [(false, format!("{ours}: line 7")), (true, ours.to_owned())] {
        let mut bob = stage.stranger_as("bob");
        if others {
            bob.initialize("2025-11-25", json!({})).await;
        } else {
            drop(bob);
            stage.hosts(1).await;
        }
        stage.reload().await;
        while !matches!(tool.request().await.msg, Some(Msg::Reload(_))) {}
        tool.send("", ReloadResponse { success: false, error: "line 7".into() }).await;
        assert_eq!(ann.expect("notifications/message").await["params"]["data"], expected);
    }
}

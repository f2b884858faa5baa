//! The state of a process goes to the next one before that registers.

use bytes::Bytes;
use protomcp_bridge::ReloadMode;
use protomcp_envelope::{
    BridgeInfo, HandOverResponse, ListToolsRequest, Msg, SdkInfo, TakeOverRequest, TakeOverResponse,
};
use protomcp_testing::{JsonPeer, Log};

use crate::stage::Stage;
use crate::tool::Tool;

/// The most bytes of a state.
const STATE_MAX: usize = 1 << 20;

async fn announces(tool: &mut Tool) {
    let features = vec!["hand-over".to_owned()];
    tool.send("", SdkInfo { name: "test".into(), features, ..SdkInfo::default() }).await;
}

/// A process in service that hands its state over, and a client.
async fn handing_over() -> (Stage, Tool, JsonPeer) {
    let (stage, mut tool) = Stage::silent(|builder| builder.reload_mode(ReloadMode::Swap)).await;
    announces(&mut tool).await;
    tool.handshake_after_info(vec![Tool::definition("a")]).await;
    tool.has_nothing_else().await;
    let host = stage.host("{}").await;
    (stage, tool, host)
}

/// The next process, up to the request for the state of the one before, and the id of that request.
async fn succession(stage: &Stage, old: &mut Tool) -> (Tool, String) {
    stage.reload().await;
    let mut next = stage.process().await;
    announces(&mut next).await;
    next.answer::<BridgeInfo>("").await;
    let request = old.next().await;
    assert!(matches!(request.msg, Some(Msg::HandOver(_))), "{request:?}");
    (next, request.request_id)
}

/// The process registers, and takes the place of the one before.
async fn serves(next: &mut Tool, host: &mut JsonPeer) {
    next.handshake(vec![Tool::definition("b")]).await;
    next.has_nothing_else().await;
    while host.next().await["method"] != "notifications/tools/list_changed" {}
}

#[tokio::test]
async fn the_largest_state_comes_before_the_list() {
    let (stage, mut old, mut host) = handing_over().await;
    let (mut next, request) = succession(&stage, &mut old).await;
    let state = Bytes::from(vec![b'7'; STATE_MAX]);
    old.send(&request, HandOverResponse { state: state.clone(), ..HandOverResponse::default() }).await;
    let given = next.next().await;
    assert_eq!(given.msg, Some(TakeOverRequest { state }.into()));
    next.send(&given.request_id, TakeOverResponse::default()).await;
    serves(&mut next, &mut host).await;
    old.is_left().await;
}

#[tokio::test]
async fn a_process_without_its_state_gets_the_request_for_its_list() {
    let large = HandOverResponse { state: vec![b'7'; STATE_MAX + 1].into(), ..HandOverResponse::default() };
    let refused = HandOverResponse { error: "the disk is full".into(), ..HandOverResponse::default() };
    for (answer, reason) in [
        (Some(large), "1048577 bytes, more than the limit of 1048576"),
        (Some(refused), "the disk is full"),
        (None, "5s"),
    ] {
        let log = Log::capture();
        let (stage, mut old, mut host) = handing_over().await;
        let (mut next, request) = succession(&stage, &mut old).await;
        if let Some(answer) = answer {
            old.send(&request, answer).await;
        }
        serves(&mut next, &mut host).await;
        let text = log.text();
        let line = text.lines().find(|line| line.contains("without the state of the version before"));
        assert!(line.is_some_and(|line| line.contains(reason)), "{reason}: {text}");
    }
}

#[tokio::test]
async fn a_process_that_closes_its_link_over_the_state_is_not_used() {
    let log = Log::capture();
    does_not_take_over(async |next| drop(next)).await;
    let text = log.text();
    assert!(text.contains("while it took over the state of the version before"), "{text}");
}

#[tokio::test]
async fn a_process_that_takes_too_long_over_the_state_is_not_used() {
    let log = Log::capture();
    does_not_take_over(async |mut next| next.is_left().await).await;
    let text = log.text();
    assert!(text.contains("the state of the version before did not end within 5s"), "{text}");
}

/// The process in service goes on, with its state, when the next one does this with it.
async fn does_not_take_over(does: impl AsyncFnOnce(Tool)) {
    let (stage, mut old, mut host) = handing_over().await;
    let (mut next, request) = succession(&stage, &mut old).await;
    old.send(&request, HandOverResponse { state: "7".into(), ..HandOverResponse::default() }).await;
    assert!(matches!(next.next().await.msg, Some(Msg::TakeOver(_))));
    does(next).await;
    let id = host.call("a").await;
    let (call, _) = old.call().await;
    old.result(&call, "it serves on").await;
    assert_eq!(host.until(id).await.0["result"]["content"][0]["text"], "it serves on");
    // The next version gets the state of then.
    let (_next, request) = succession(&stage, &mut old).await;
    old.send(&request, HandOverResponse::default()).await;
}

#[tokio::test]
async fn a_process_without_an_announcement_gets_no_state() {
    let log = Log::capture();
    let (stage, mut old, mut host) = handing_over().await;
    stage.reload().await;
    let mut next = stage.process().await;
    let request = next.next().await;
    assert_eq!(request.msg, Some(ListToolsRequest {}.into()));
    next.registers(&request.request_id, vec![Tool::definition("b")]).await;
    next.has_nothing_else().await;
    while host.next().await["method"] != "notifications/tools/list_changed" {}
    old.is_left().await;
    let text = log.text();
    assert!(text.contains("has no function that takes over the state of the version before"), "{text}");
}

//! A tool process that floods its link, with whatever messages: the host still gets answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prost::encoding::bytes;
use protomcp_conformance::{Peer, Scene, eventually, frame, judged, median, tool};
use protomcp_envelope::{
    CallToolResponse, Envelope, LogMessage, Msg, ProgressNotification, ResourceListChanged, SamplingRequest,
    SetBlockedRequest, ToolListResponse,
};
use serde_json::json;

/// Ten times the time that a ping may take; judged in the long tier.
const PING: Duration = Duration::from_millis(500);
const PINGS: usize = 15;
/// The approximate size of one write.
const BLOCK: usize = 256 << 10;

/// Repeats `bytes` to a block.
fn block(bytes: &[u8]) -> Vec<u8> {
    bytes.repeat(BLOCK.div_ceil(bytes.len()))
}

fn message(id: &str, message: impl Into<Msg>) -> Vec<u8> {
    block(&frame(&Envelope::new(id, message)))
}

/// Lets a process write the same bytes endlessly, and pings at the same time: each ping must be answered.
#[track_caller]
fn check(what: &str, scene: Scene, flood: Vec<u8>) {
    let Scene { host, peer, stage, sandbox } = scene;
    let (done, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let flooding = thread::spawn({
        let (done, written) = (Arc::clone(&done), Arc::clone(&written));
        let mut peer: Peer = peer;
        move || {
            while !done.load(Ordering::Relaxed) {
                peer.bytes(&flood);
                written.fetch_add(1, Ordering::Relaxed);
            }
            peer
        }
    });
    // A socket takes less than two blocks that are not read.
    eventually("the flood to be read", || (written.load(Ordering::Relaxed) >= 2).then_some(()));
    let mut pings: Vec<_> = (0..PINGS)
        .map(|_| {
            let asked = Instant::now();
            host.ask("ping", &json!({}));
            asked.elapsed()
        })
        .collect();
    done.store(true, Ordering::Relaxed);
    // The rest of the last block is read, or its reader ends with the host.
    host.hang_up();
    drop(host);
    let _peer = flooding.join().expect("the flood ends with its reader");
    drop((stage, sandbox));
    let middle = median(&format!("pings during {what}"), &mut pings);
    assert!(middle < judged(PING), "{what}: half of the pings took longer than {middle:?}: {pings:?}");
}

fn scene() -> Scene {
    Scene::open(&[], &["echo"])
}

#[test]
fn a_flood_of_log_messages_keeps_no_ping_waiting() {
    for (level, text) in [("debug", String::new()), ("error", "x".repeat(1000))] {
        let data_json = json!(text).to_string().into();
        let log = LogMessage { level: level.into(), data_json, ..LogMessage::default() };
        let scene = scene();
        scene.host.ask("logging/setLevel", &json!({"level": "debug"}));
        check(&format!("{level} messages"), scene, message("", log));
    }
}

#[test]
fn a_flood_of_progress_keeps_no_ping_waiting() {
    let mut scene = scene();
    let params = json!({"name": "echo", "arguments": {}, "_meta": {"progressToken": 1}});
    scene.host.request("tools/call", &params);
    let (call, _) = scene.peer.call();
    let progress = ProgressNotification { progress_token: call, progress: 1, ..ProgressNotification::default() };
    check("progress", scene, message("", progress));
}

#[test]
fn a_flood_of_messages_that_mean_nothing_keeps_no_ping_waiting() {
    check("frames of length zero", scene(), vec![0; BLOCK]);
    check("answers to no request", scene(), message("unknown", CallToolResponse::default()));
    // Field 299 with three bytes, an undefined member.
    check("unknown messages", scene(), block(&[0, 0, 0, 6, 0xda, 0x12, 3, b'a', b'b', b'c']));
    check("frames that are not envelopes", scene(), block(&[0, 0, 0, 1, 7]));
}

#[test]
fn a_flood_of_lists_keeps_no_ping_waiting() {
    let tools = (0..200).map(|number| tool(&format!("tool{number}"))).collect();
    check("short lists", scene(), message("", ToolListResponse { tools }));
    let tools = vec![tool("x y"); 5_000];
    check("long lists with faults", scene(), message("", ToolListResponse { tools }));
    // A million tools without a name. As a `ToolListResponse` they would take seconds to write.
    let mut tools: Vec<u8> = Vec::new();
    bytes::encode(5, &[0x0a_u8, 0].repeat(1 << 20), &mut tools);
    let length = u32::try_from(tools.len()).expect("a frame is small").to_be_bytes();
    check("refused lists", scene(), [&length[..], &tools].concat());
    check("changes of other lists", scene(), message("", ResourceListChanged {}));
}

#[test]
fn a_flood_of_questions_keeps_no_ping_waiting() {
    check("questions", scene(), message("q", SamplingRequest::default()));
    let tool_names = (0..1000).map(|number| format!("tool{number}")).collect();
    check("changes of the list", scene(), message("q", SetBlockedRequest { tool_names }));
}

//! The memory that a tool process can make `pmcp` use stays within the limits (SECURITY.md, "Bounds").
//!
//! Each attack has its own program, whose peak is read before and after. It sends many times the limits, so that a
//! missing bound shows.

use std::fs;
use std::time::{Duration, Instant};

use prost::encoding::{bytes, string};
use protomcp_conformance::{Message, Scene, frame, judged, median, tool};
use protomcp_envelope::{
    CallToolResponse, DisableToolsRequest, Envelope, LogMessage, Msg, PromptDefinition, PromptListChanged, RawHeader,
    ResourceDefinition, ResourceListChanged, SetBlockedRequest, StreamChunk, StreamHeader, ToolListResponse,
};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
const MAX_FRAME: u64 = 8 * MIB;
const MAX_RESULT: u64 = 16 * MIB;
/// Messages of a process that the bridge has not handled yet.
const EVENTS: u64 = 64 * MIB;
/// Bytes that wait for a process that does not read.
const UNWRITTEN: u64 = 128 * MIB;
/// Ten times the time that a ping may take while a process floods its link; judged in the long tier.
const PING: Duration = Duration::from_millis(500);
/// Many times every limit above that applies to data from the process.
const FLOOD: u64 = 640 * MIB;

/// The peak memory of the program, in bytes.
fn peak(scene: &Scene) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", scene.host.pid())).expect("the program lives");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux shows the peak");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number of kB");
    kib << 10
}

/// Runs an attack, and compares the growth of the peak with the limit. A buffer that grows while it fills takes up to
/// twice the size of its content.
#[track_caller]
fn check(kept: u64, act: impl FnOnce(&mut Scene)) {
    let options = [format!("--max-frame={MAX_FRAME}"), format!("--max-result={MAX_RESULT}")];
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let mut scene = Scene::open(&options, &["echo"]);
    serves(&mut scene);
    let before = peak(&scene);
    act(&mut scene);
    let grown = peak(&scene) - before;
    assert!(grown <= 2 * kept, "{} MiB more, of {} MiB that may be kept", grown / MIB, kept / MIB);
}

fn serves(scene: &mut Scene) {
    let (id, call) = begin(scene);
    scene.peer.result(&call, r#""served""#);
    assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "served");
}

fn begin(scene: &mut Scene) -> (u64, String) {
    let id = scene.host.start_call("echo", &json!({}));
    (id, scene.peer.call().0)
}

fn fails(scene: &Scene, id: u64) {
    let answer: Value = scene.host.answer(id).value;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

/// Enough repetitions of one megabyte for a flood.
fn megabytes() -> impl Iterator<Item = Vec<u8>> {
    (0..FLOOD / MIB).map(|_| vec![b'x'; 1 << 20])
}

/// A frame whose lists are as long as a frame of the limit allows: every entry takes two bytes.
fn list(id: &str, member: u32, field: u32) -> Vec<u8> {
    let entries = usize::try_from(MAX_FRAME / 2).expect("it fits") - 64;
    let mut envelope = Vec::new();
    let entry = [u8::try_from(field << 3 | 2).expect("a small number"), 0];
    bytes::encode(member, &entry.repeat(entries), &mut envelope);
    string::encode(14, &id.to_owned(), &mut envelope);
    let mut frame = u32::try_from(envelope.len()).expect("a frame is small").to_be_bytes().to_vec();
    frame.append(&mut envelope);
    frame
}

fn raw(call: &str, size: u64) -> RawHeader {
    RawHeader { request_id: call.to_owned(), field_name: "result_json".to_owned(), size, ..RawHeader::default() }
}

/// Item 9.
#[test]
fn an_announced_size_costs_no_memory() {
    check(MAX_FRAME, |scene| {
        let (id, call) = begin(scene);
        scene.peer.raw(raw(&call, u64::MAX), b"a few bytes");
        fails(scene, id);
        // The rest cannot be skipped: another process takes over.
        scene.peer = scene.stage.accept();
        scene.peer.handshake(vec![tool("echo")]);
        serves(scene);
    });
}

/// Items 5, 9.
#[test]
fn oversized_payloads_are_skipped() {
    check(MAX_FRAME, |scene| {
        let (id, call) = begin(scene);
        scene.peer.raw(raw(&call, FLOOD), b"");
        megabytes().for_each(|piece| scene.peer.bytes(&piece));
        fails(scene, id);
        let (id, call) = begin(scene);
        let result_json = vec![b'x'; usize::try_from(FLOOD).expect("it fits")].into();
        scene.peer.send(&call, CallToolResponse { result_json, ..CallToolResponse::default() });
        fails(scene, id);
        serves(scene);
    });
}

/// Item 9.
#[test]
fn a_bomb_is_not_inflated_beyond_the_limit() {
    let bomb = zstd::encode_all(&vec![b' '; usize::try_from(FLOOD).expect("it fits")][..], 3).expect("zstd compresses");
    check(MAX_RESULT + MAX_FRAME, |scene| {
        for uncompressed_size in [0, 100, FLOOD, u64::MAX] {
            let (id, call) = begin(scene);
            let header = raw(&call, bomb.len() as u64);
            scene.peer.raw(RawHeader { compression: "zstd".to_owned(), uncompressed_size, ..header }, &bomb);
            fails(scene, id);
        }
        serves(scene);
    });
}

/// Lists of the process, by their number in the envelope and the number of their entries in them.
const LISTS: [(u32, u32); 7] = [(5, 1), (7, 1), (9, 1), (12, 2), (32, 1), (34, 1), (41, 1)];

#[test]
fn lists_of_tiny_entries_are_rejected_while_pings_are_answered() {
    // A frame is read, and counted.
    check(2 * MAX_FRAME, |scene| {
        let log = scene.host.stderr().len();
        let mut pings = Vec::new();
        for (member, field) in LISTS.repeat(3) {
            scene.peer.bytes(&list("", member, field));
            let asked = Instant::now();
            scene.host.ask("ping", &json!({}));
            pings.push(asked.elapsed());
            if [7, 9, 12].contains(&member) {
                // The handler that has sent it does not wait.
                assert_eq!(scene.peer.active_tools().1, ["echo"]);
            }
        }
        assert!(median("pings during refused lists", &mut pings) < judged(PING), "{pings:?}");
        serves(scene);
        let told = scene.host.stderr_with("more than 16384 entries")[log..].to_owned();
        assert_eq!(told.lines().filter(|line| line.contains("a tool_list of 8388")).count(), 1, "{told}");
        assert!(told.len() < 10_000, "{} bytes of log", told.len());
    });
}

#[test]
fn an_answer_of_tiny_entries_fails_its_request_only() {
    check(2 * MAX_FRAME, |scene| {
        scene.peer.resources = vec![ResourceDefinition { uri: "memo://one".into(), ..Default::default() }];
        scene.peer.prompts = vec![PromptDefinition { name: "one".into(), ..Default::default() }];
        scene.peer.send("", ResourceListChanged {});
        scene.peer.send("", PromptListChanged {});
        let told = |list: &str| !scene.host.notifications(&format!("notifications/{list}/list_changed"), 0).is_empty();
        scene.peer.settle(|| told("resources") && told("prompts"));

        let read = scene.host.request("resources/read", &json!({"uri": "memo://one"}));
        let reading = asked(scene, "read_resource_request");
        scene.peer.bytes(&list(&reading, 36, 1));
        let get = scene.host.request("prompts/get", &json!({"name": "one"}));
        let getting = asked(scene, "get_prompt_request");
        scene.peer.bytes(&list(&getting, 43, 2));
        for id in [read, get] {
            let answer = scene.host.answer(id).value;
            assert!(answer["error"]["message"].to_string().contains("more than 16384 entries"), "{answer}");
        }
        let (id, call) = begin(scene);
        scene.peer.bytes(&list(&call, 6, 3));
        fails(scene, id);
        serves(scene);
    });
}

/// The next request that is not a call: its id.
fn asked(scene: &mut Scene, name: &str) -> String {
    let envelope = scene.peer.request();
    assert_eq!(envelope.name(), name);
    envelope.request_id
}

#[test]
fn a_list_with_thousands_of_faults_is_reported_in_a_few_lines() {
    check(MAX_FRAME + EVENTS, |scene| {
        let log = scene.host.stderr().len();
        for round in 0..6 {
            let tool = tool(if round % 2 == 0 { "" } else { "x y" });
            scene.peer.send("", ToolListResponse { tools: vec![tool; 16_000] });
        }
        scene.peer.send("", ToolListResponse { tools: vec![tool("echo")] });
        scene.host.until_names(&["echo"]);
        serves(scene);
        let told = scene.host.stderr_with("there are 15992 more tools without a name").split_off(log);
        assert!(told.len() < 20_000, "{} bytes of log", told.len());
    });
}

/// Item 12.
#[test]
fn chunks_that_never_end_are_kept_up_to_the_limit() {
    check(MAX_RESULT + MAX_FRAME, |scene| {
        let (id, call) = begin(scene);
        let field_name = "result_json".to_owned();
        scene.peer.send(&call, StreamHeader { field_name, ..StreamHeader::default() });
        for data in megabytes() {
            scene.peer.send(&call, StreamChunk { data: data.into(), r#final: false });
        }
        fails(scene, id);
        serves(scene);
    });
}

#[test]
fn unsolicited_answers_are_not_kept() {
    check(MAX_FRAME, |scene| {
        let (id, call) = begin(scene);
        scene.peer.result(&call, r#""once""#);
        scene.host.answer(id);
        for (number, data) in megabytes().enumerate() {
            let id = if number % 2 == 0 { call.clone() } else { format!("req-{}", 1_000_000 + number) };
            scene.peer.send(&id, CallToolResponse { result_json: data.into(), ..CallToolResponse::default() });
        }
        serves(scene);
    });
}

#[test]
fn messages_are_read_no_faster_than_they_are_handled() {
    // The names of hidden tools are kept, up to their number and length; the list of a session without one is shared.
    let names = 65_536 * 1024;
    check(MAX_FRAME + EVENTS + names, |scene| {
        let (id, call) = begin(scene);
        // Ten thousand changes, each with different names.
        let padding = "x".repeat(1000);
        for change in 0..10_000 {
            let tool_names = (0..64).map(|name| format!("{change}.{name}.{padding}")).collect();
            let message: Msg = match change % 3 {
                0 => SetBlockedRequest { tool_names }.into(),
                _ => DisableToolsRequest { tool_names }.into(),
            };
            scene.peer.send("", message);
            if change % 100 == 99 {
                (0..100).for_each(|_| drop(scene.peer.active_tools()));
            }
        }
        scene.peer.result(&call, r#""done""#);
        scene.host.answer(id);
        serves(scene);
    });
}

#[test]
fn a_flood_of_unwanted_log_messages_is_not_kept() {
    check(MAX_FRAME + EVENTS, |scene| {
        for data in megabytes() {
            let level = "debug".to_owned();
            scene.peer.send("", LogMessage { level, data_json: data.into(), ..LogMessage::default() });
        }
        serves(scene);
    });
}

/// Item 2.
#[test]
fn a_frame_in_tiny_pieces_takes_no_more_than_a_whole_one() {
    // Once as it is read, once for the client, and once as it is written.
    check(3 * MAX_FRAME, |scene| {
        let (id, call) = begin(scene);
        let text = "x".repeat(usize::try_from(MAX_FRAME).expect("it fits") - 100);
        let result = CallToolResponse { result_json: json!(text).to_string().into(), ..CallToolResponse::default() };
        for piece in frame(&Envelope::new(call, result)).chunks(500) {
            scene.peer.bytes(piece);
        }
        let answer = scene.host.answer(id).value;
        assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(text.len()));
    });
}

#[test]
fn bytes_for_a_process_that_does_not_read_stay_within_the_limit() {
    const LARGE: u64 = 4 * MIB;
    // Each waiting call keeps its arguments twice: as the host sent them, and as they are written; the line that is
    // being read comes on top.
    check(2 * (UNWRITTEN + LARGE) + LARGE, |scene| {
        let text = "x".repeat(usize::try_from(LARGE).expect("it fits"));
        // Written once: to make JSON of each takes longer than all the rest.
        let params = json!({"name": "echo", "arguments": {"text": text}}).to_string();
        for id in 1000..1000 + 3 * UNWRITTEN / LARGE {
            scene.host.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#));
        }
        // The last of them is either rejected or would be kept with all the others.
        let refused = |message: &Message| message.text.contains("OVERLOADED");
        scene.host.wait_for("a call to be refused", 0, refused);
        scene.host.ask("ping", &json!({}));
    });
}

//! Frames between the bridge and a tool process, whole, in pieces, too large and wrong (docs/envelope.md, "Frames" and
//! "Large results").

use std::thread;
use std::time::Duration;

use bytes::Bytes;
use protomcp_conformance::{Sandbox, Scene, frame, rust_session, session, tool};
use protomcp_envelope::{
    CallToolResponse, Envelope, ProgressNotification, RawHeader, StreamChunk, StreamHeader, ToolDefinition,
};
use serde_json::{Value, json};

/// Items 2, 3.
#[test]
fn a_frame_in_single_bytes_between_empty_frames_is_one_answer() {
    let mut scene = Scene::open(&[], &["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    let mut bytes = vec![0; 8];
    bytes.extend(frame(&Envelope::new(call, text_result("whole"))));
    bytes.extend([0; 4]);
    for byte in bytes {
        scene.peer.bytes(&[byte]);
    }
    assert_eq!(text_of(&scene.host.answer(id).value), "whole");
}

/// Item 4.
#[test]
fn unknown_messages_unknown_fields_and_a_namespace_are_ignored() {
    let mut scene = Scene::open(&[], &["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    // Field 299 with three bytes, an undefined member of the oneof: key (299 << 3) | 2.
    scene.peer.bytes(&[0, 0, 0, 6, 0xda, 0x12, 3, b'a', b'b', b'c']);
    let mut envelope = Envelope::new(call, text_result("known"));
    envelope.namespace = "somewhere".to_owned();
    let mut bytes = frame(&envelope);
    // Field 150 as a varint behind everything that is known: key (150 << 3) | 0.
    bytes.extend([0xb0, 0x09, 7]);
    let length = u32::try_from(bytes.len() - 4).expect("a short frame");
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    scene.peer.bytes(&bytes);
    assert_eq!(text_of(&scene.host.answer(id).value), "known");
}

/// Item 5.
#[test]
fn a_frame_above_the_limit_fails_its_own_call_only() {
    let mut scene = Scene::open(&[], &["large", "small"]);
    let large = scene.host.start_call("large", &json!({}));
    let (large_call, _) = scene.peer.call();
    let small = scene.host.start_call("small", &json!({}));
    let (small_call, _) = scene.peer.call();

    let result_json = Bytes::from(vec![b'x'; 65 << 20]);
    scene.peer.send(&large_call, CallToolResponse { result_json, ..CallToolResponse::default() });
    scene.peer.result(&small_call, r#""small""#);

    assert_eq!(text_of(&scene.host.answer(small).value), "small");
    assert_failed(&scene.host.answer(large).value, "large");
}

/// Items 6, 10.
#[test]
fn a_raw_payload_is_the_result_of_the_call_its_header_names() {
    let mut scene = Scene::open(&[], &["one", "two"]);
    let one = scene.host.start_call("one", &json!({}));
    let (one_call, _) = scene.peer.call();
    let two = scene.host.start_call("two", &json!({}));
    let (two_call, _) = scene.peer.call();

    let payload = r#"[{"type":"text","text":"raw"}]"#.as_bytes();
    scene.peer.raw(header("unknown call", payload.len() as u64), payload);
    scene.peer.raw(header(&one_call, payload.len() as u64), payload);
    scene.peer.result(&two_call, r#""plain""#);

    assert_eq!(text_of(&scene.host.answer(one).value), "raw");
    assert_eq!(text_of(&scene.host.answer(two).value), "plain");
}

/// Item 10.
#[test]
fn a_raw_payload_for_a_cancelled_call_is_read_past() {
    let mut scene = Scene::open(&[], &["one", "two"]);
    let one = scene.host.start_call("one", &json!({}));
    let (one_call, _) = scene.peer.call();
    scene.host.tell("notifications/cancelled", &json!({"requestId": one}));
    let cancel = scene.peer.request();
    assert_eq!((cancel.name(), cancel.request_id.as_str()), ("cancel", ""));

    let payload = r#"[{"type":"text","text":"late"}]"#.as_bytes();
    scene.peer.raw(header(&one_call, payload.len() as u64), payload);
    let two = scene.host.start_call("two", &json!({}));
    let (two_call, _) = scene.peer.call();
    scene.peer.result(&two_call, r#""next""#);

    assert_eq!(text_of(&scene.host.answer(two).value), "next");
    assert!(scene.host.answered(one).is_none(), "a cancelled call is never answered");
}

/// Items 7, 8.
#[test]
fn large_results_of_both_published_sdks_arrive_whole() {
    let (py, _sandbox) = session("run", "py/basics.py", &[]);
    for size in [70_000, 10 << 20] {
        let text = py.text("large", &json!({"size": size}));
        assert_eq!(text.len(), size);
        assert!(text.starts_with("line 0\nline 1\n"));
    }
    let (rs, _sandbox) = rust_session("run", &[]);
    for size in [70_000, 10 << 20] {
        assert_eq!(rs.text("large", &json!({"size": size})).len(), size);
    }
}

/// Item 9.
#[test]
fn a_payload_with_a_false_inflated_size_fails_its_call_only() {
    let bomb = zstd::encode_all(&vec![b' '; 300 << 20][..], 3).expect("zstd compresses");
    let honest = zstd::encode_all(&br#"[{"type":"text","text":"honest"}]"#[..], 3).expect("zstd compresses");
    let lies: &[(&str, &[u8], u64)] = &[
        ("a bomb that claims to be small", &bomb, 100),
        ("a bomb that says what it is", &bomb, 300 << 20),
        ("a bomb that says nothing", &bomb, 0),
        ("an absurd claim", &honest, u64::MAX),
        ("no zstd at all", b"this was never compressed", 25),
    ];
    let mut scene = Scene::open(&[], &["echo"]);
    for (lie, payload, uncompressed_size) in lies {
        let id = scene.host.start_call("echo", &json!({}));
        let (call, _) = scene.peer.call();
        let compression = "zstd".to_owned();
        let header =
            RawHeader { compression, uncompressed_size: *uncompressed_size, ..header(&call, payload.len() as u64) };
        scene.peer.raw(header, payload);
        assert_failed(&scene.host.answer(id).value, lie);
    }
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    scene.peer.result(&call, r#""in sync""#);
    assert_eq!(text_of(&scene.host.answer(id).value), "in sync");
    let peak = peak_memory(scene.host.pid());
    assert!(peak < 800 << 10, "peak memory of {peak} kB for results that were all refused");
}

/// Item 9.
#[test]
fn a_payload_of_absurd_size_fails_its_call_and_restarts() {
    let mut scene = Scene::open(&[], &["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    scene.peer.raw(header(&call, u64::MAX), b"a few bytes");
    assert_failed(&scene.host.answer(id).value, "a payload of 16 EiB");

    let mut peer = scene.stage.accept();
    peer.handshake(vec![tool("echo")]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = peer.call();
    peer.result(&call, r#""again""#);
    assert_eq!(text_of(&scene.host.answer(id).value), "again");
}

/// Item 11.
#[test]
fn an_unknown_compression_fails_its_call_only() {
    let mut scene = Scene::open(&[], &["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    scene.peer.raw(RawHeader { compression: "brotli".to_owned(), ..header(&call, 4) }, b"\0\0\0\0");
    let answer = scene.host.answer(id).value;
    assert_failed(&answer, "an unknown compression");
    assert!(answer.to_string().contains("brotli"), "the error names the compression: {answer}");

    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    scene.peer.result(&call, r#""in sync""#);
    assert_eq!(text_of(&scene.host.answer(id).value), "in sync");
}

/// Item 12.
#[test]
fn chunked_results_are_put_together_however_they_interleave() {
    let mut scene = Scene::open(&[], &["one", "two"]);
    let one = scene.host.start_call("one", &json!({}));
    let (one_call, _) = scene.peer.call();
    let two = scene.host.start_call("two", &json!({}));
    let (two_call, _) = scene.peer.call();

    scene.peer.send("unknown call", chunk("lost", true));
    scene.peer.send(&one_call, stream("result_json", 14));
    scene.peer.send(&two_call, stream("result_json", 0));
    scene.peer.send(&one_call, chunk(r#""first, "#, false));
    scene.peer.send(&two_call, chunk(r#""other, "#, false));
    scene.peer.send("", ProgressNotification::default());
    scene.peer.send(&two_call, chunk("", false));
    scene.peer.send(&one_call, chunk(r#"then""#, true));
    scene.peer.send(&two_call, chunk(r#"later""#, true));

    assert_eq!(text_of(&scene.host.answer(one).value), "first, then");
    assert_eq!(text_of(&scene.host.answer(two).value), "other, later");
}

/// Item 12.
#[test]
fn a_process_that_exits_in_a_chunked_result_fails_the_call() {
    let mut scene = Scene::open(&[], &["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    scene.peer.send(&call, stream("result_json", 100));
    scene.peer.send(&call, chunk("half", false));
    drop(scene.peer);
    assert_failed(&scene.host.answer(id).value, "a process that left");
}

/// Item 13.
#[test]
fn the_chunk_threshold_reaches_the_tool_process() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "basics.py"]).env("PROTOMCP_CHUNK_THRESHOLD", "1024").start();
    host.initialize();
    assert_eq!(host.text("environment", &json!({"name": "PROTOMCP_CHUNK_THRESHOLD"})), "1024");
    assert_eq!(host.text("large", &json!({"size": 10_000})).len(), 10_000);
}

/// Item 2.
#[test]
fn a_tool_list_in_many_small_reads_is_taken_whole() {
    let schema = format!(r#"{{"type":"object","description":"{}"}}"#, "x".repeat(2_000));
    let tools = (0..200)
        .map(|n| ToolDefinition { input_schema_json: schema.clone().into(), ..tool(&format!("tool{n:03}")) })
        .collect();
    let scene = Scene::with_tools("run", "./relay", &[], tools);
    assert_eq!(scene.host.names().len(), 200);
}

/// Items 2, 7.
#[test]
fn a_large_result_that_arrives_in_small_pieces_is_one_answer() {
    let mut scene = Scene::open(&[], &["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    let text = "0123456789".repeat(10_000);
    // Sizes that divide neither the frame nor a buffer; each piece is on its way before the next one is written.
    let bytes = frame(&Envelope::new(call, text_result(&text)));
    for (number, piece) in bytes.chunks(997).enumerate() {
        scene.peer.bytes(piece);
        if number % 4 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    assert_eq!(text_of(&scene.host.answer(id).value), text);
}

fn text_result(text: &str) -> CallToolResponse {
    let result_json = Value::from(text).to_string().into_bytes().into();
    CallToolResponse { result_json, ..CallToolResponse::default() }
}

fn header(id: &str, size: u64) -> RawHeader {
    RawHeader { request_id: id.to_owned(), field_name: "result_json".to_owned(), size, ..RawHeader::default() }
}

fn stream(field: &str, total_size: u64) -> StreamHeader {
    StreamHeader { field_name: field.to_owned(), total_size, chunk_size: 8 }
}

fn chunk(text: &str, last: bool) -> StreamChunk {
    StreamChunk { data: text.to_owned().into_bytes().into(), r#final: last }
}

#[track_caller]
fn text_of(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("a text was expected: {response}"))
}

/// A call that reached its tool fails with an error result, never with a JSON-RPC error, and with a readable text.
#[track_caller]
fn assert_failed(response: &Value, what: &str) {
    assert_eq!(response["result"]["isError"], true, "{what} should fail the call with a result: {response}");
    assert!(!text_of(response).is_empty(), "{what} should be explained");
}

/// The peak memory of a process, in kB.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux shows the peak");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number of kB")
}

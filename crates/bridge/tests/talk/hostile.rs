//! A tool process that violates the protocol in every way. The call concerned fails with a reason, other calls
//! continue, and memory stays bounded.

use std::time::Duration;

use bytes::Bytes;
use protomcp_codec::{Encoder, Field, Limits, Raw};
use protomcp_envelope::{
    ActiveToolsResponse, CallToolResponse, DisableToolsRequest, EnableToolsRequest, Envelope, LogMessage, Msg,
    ProgressNotification, RawHeader, SamplingResponse, StreamChunk, StreamHeader, TaskStatusResponse,
};
use protomcp_testing::JsonPeer;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

fn code(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["_meta"]["protomcp/error"]["error_code"].as_str().unwrap()
}

/// Two calls; the first is the one concerned.
async fn two_calls(host: &mut JsonPeer, tool: &mut Tool) -> [(u64, String); 2] {
    let mut calls = Vec::new();
    for _ in 0..2 {
        let id = host.call("a").await;
        calls.push((id, tool.call().await.0));
    }
    calls.try_into().unwrap()
}

async fn goes_on(host: &mut JsonPeer, tool: &mut Tool, other: (u64, String)) {
    tool.result(&other.1, "fine").await;
    assert_eq!(host.text(other.0).await, "fine");
    let id = host.call("a").await;
    let (call, _) = tool.call().await;
    tool.result(&call, "next").await;
    assert_eq!(host.text(id).await, "next");
}

#[tokio::test]
async fn a_bomb_fails_its_own_call() {
    // Runs of one byte, 128 KiB from four bytes each: 64 MiB from two kilobytes.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for last in (0..512).map(|n| u32::from(n == 511)) {
        let block = (128 << 10) << 3 | 1 << 1 | last;
        bomb.extend_from_slice(&block.to_le_bytes()[..3]);
        bomb.push(b' ');
    }
    let (stage, mut tool) = Stage::with(vec![Tool::definition("a")], |builder| builder.max_result(1 << 20)).await;
    let mut host = stage.host("{}").await;
    for uncompressed_size in [0, 1000, u64::MAX] {
        let [wronged, other] = two_calls(&mut host, &mut tool).await;
        let header = RawHeader {
            request_id: wronged.1,
            field_name: "result_json".into(),
            size: bomb.len() as u64,
            compression: "zstd".into(),
            uncompressed_size,
            ..RawHeader::default()
        };
        let mut bytes = Vec::new();
        Encoder::new(Limits::default()).encode_envelope(&Envelope::new("", header), &mut bytes).unwrap();
        bytes.extend_from_slice(&bomb);
        tool.bytes(&bytes).await;
        let answer = host.answer(wronged.0).await;
        assert!(["RESULT_TOO_LARGE", "INVALID_RESPONSE"].contains(&code(&answer)), "{answer}");
        goes_on(&mut host, &mut tool, other).await;
    }
}

#[tokio::test]
async fn a_flood_of_chunks_fails_its_own_call() {
    let (stage, mut tool) = Stage::with(vec![Tool::definition("a")], |builder| builder.max_result(1 << 20)).await;
    let mut host = stage.host("{}").await;
    let [wronged, other] = two_calls(&mut host, &mut tool).await;
    tool.send(&wronged.1, StreamHeader { field_name: "result_json".into(), ..StreamHeader::default() }).await;
    for _ in 0..200 {
        tool.send(&wronged.1, StreamChunk { data: vec![b'x'; 64 << 10].into(), r#final: false }).await;
    }
    let answer = host.answer(wronged.0).await;
    assert_eq!(code(&answer), "RESULT_TOO_LARGE");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.ends_with("1048576; return less, or raise the maximum result size"), "{answer}");
    goes_on(&mut host, &mut tool, other).await;
}

#[tokio::test]
async fn an_answer_beyond_the_frame_names_the_limit_of_frames() {
    let (stage, mut tool) = Stage::with(vec![Tool::definition("a")], |builder| builder.max_frame(1 << 16)).await;
    let mut host = stage.host("{}").await;
    let [wronged, other] = two_calls(&mut host, &mut tool).await;
    let result_json = vec![b' '; 1 << 17].into();
    tool.send(&wronged.1, CallToolResponse { result_json, ..CallToolResponse::default() }).await;
    let answer = host.answer(wronged.0).await;
    assert_eq!(code(&answer), "RESULT_TOO_LARGE");
    assert!(answer.to_string().contains("return less, or raise the maximum frame size"), "{answer}");
    goes_on(&mut host, &mut tool, other).await;
}

#[tokio::test]
async fn unsolicited_and_repeated_answers_change_nothing() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host("{}").await;
    let [first, other] = two_calls(&mut host, &mut tool).await;
    let raw = Raw::new("req-77777", Field::ResultJson, Bytes::from(vec![b'x'; 100_000]));
    for number in 0..2000 {
        tool.result(&format!("req-{}", 1000 + number), "unsolicited").await;
        tool.send("", TaskStatusResponse::default()).await;
        tool.send("x", SamplingResponse::default()).await;
    }
    let mut bytes = Vec::new();
    Encoder::new(Limits::default()).encode_raw(&raw, &mut bytes).unwrap();
    tool.bytes(&bytes).await;
    tool.result(&first.1, "once").await;
    tool.result(&first.1, "twice").await;
    assert_eq!(host.text(first.0).await, "once");
    goes_on(&mut host, &mut tool, other).await;
    host.hears_nothing().await;
}

#[tokio::test]
async fn floods_of_progress_and_log_messages_delay_no_answer() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host("{}").await;
    let params = json!({"name": "a", "_meta": {"progressToken": 1}});
    let id = host.request("tools/call", params).await;
    let (call, request) = tool.call().await;
    let reading = tokio::spawn(async move {
        let (answer, before) = host.until(id).await;
        (host, answer, before.len())
    });
    for number in 0..5000 {
        let data_json = number.to_string().into();
        tool.send("", LogMessage { level: "error".into(), data_json, ..LogMessage::default() }).await;
        let progress_token = request.progress_token.clone();
        tool.send("", ProgressNotification { progress_token, progress: number, ..ProgressNotification::default() })
            .await;
    }
    tool.result(&call, "done").await;
    let (_host, answer, told) = reading.await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    assert!((1..=10_000).contains(&told), "{told}");
}

#[tokio::test]
async fn ten_thousand_list_changes_are_a_few_notifications() {
    const CHANGES: usize = 10_000;
    let (stage, mut tool) = Stage::new(&["a", "b"]).await;
    let (mut host, mut other) = (stage.host("{}").await, stage.host("{}").await);
    let id = host.call("a").await;
    let (call, _) = tool.call().await;
    let (mut answered, mut sent) = (0, 0);
    while answered < CHANGES {
        // The process reads now and then.
        for _ in 0..(CHANGES - sent).min(500) {
            let tool_names = vec!["b".to_owned()];
            if sent % 2 == 0 {
                tool.send("", DisableToolsRequest { tool_names }).await;
            } else {
                tool.send("", EnableToolsRequest { tool_names }).await;
            }
            sent += 1;
        }
        while answered < sent {
            let envelope = tool.request().await;
            let Some(Msg::ActiveTools(ActiveToolsResponse { tool_names })) = envelope.msg else {
                panic!("{envelope:?}")
            };
            assert_eq!(tool_names.len(), 1 + answered % 2, "after change {answered}");
            answered += 1;
        }
    }
    tool.result(&call, "done").await;
    let (answer, told) = host.until(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    assert!(told.len() < CHANGES / 4, "changes in quick succession are told together: {}", told.len());
    let id = other.call("a").await;
    let (call, _) = tool.call().await;
    tool.result(&call, "served").await;
    assert_eq!(other.text(id).await, "served", "and nothing was told to the host whose list it is not");
}

#[tokio::test]
async fn calls_fail_while_the_process_does_not_read_and_only_then() {
    let (stage, mut tool) =
        Stage::with(vec![Tool::definition("a")], |builder| builder.call_timeout(Duration::from_secs(120))).await;
    let mut host = stage.host("{}").await;
    // More than the limits hold: the link queues 128 MiB for a process that does not read.
    let large = "x".repeat(8 << 20);
    let mut overloaded = 0;
    let mut ids = Vec::new();
    for _ in 0..20 {
        let id = host.next_id();
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a","arguments":"#);
        for part in [&head, r#"{"text":""#, &large, "\"}}}\n"] {
            host.send_bytes(part.as_bytes()).await;
        }
        ids.push(id);
    }
    let refused = loop {
        let message = host.next().await;
        if message["id"].is_u64() {
            assert_eq!(code(&message), "OVERLOADED");
            break message["id"].as_u64().unwrap();
        }
    };
    overloaded += 1;
    // It reads again: all accepted calls are served.
    let mut answered = vec![refused];
    while answered.len() < ids.len() {
        tokio::select! {
            biased;
            message = host.next() => {
                if message["result"]["isError"] == true {
                    assert_eq!(code(&message), "OVERLOADED");
                    overloaded += 1;
                }
                answered.push(message["id"].as_u64().unwrap());
            }
            (call, _) = tool.call() => tool.result(&call, "late but served").await,
        }
    }
    assert!((1..10).contains(&overloaded), "{overloaded} of 20");
    answered.sort_unstable();
    assert_eq!(answered, ids);
}

#[tokio::test]
async fn frames_cut_at_every_byte_are_read_as_if_they_were_whole() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host("{}").await;
    let id = host.call("a").await;
    let (call, _) = tool.call().await;
    let mut whole = vec![0, 0, 0, 0];
    let result = CallToolResponse { result_json: r#""byte by byte""#.into(), ..CallToolResponse::default() };
    Encoder::new(Limits::default()).encode_envelope(&Envelope::new(call, result), &mut whole).unwrap();
    for byte in whole {
        tool.bytes(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(host.text(id).await, "byte by byte");
}

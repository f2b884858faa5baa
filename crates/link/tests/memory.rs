//! The memory cost of large answers, as the system counts it. One test, because the count is per process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream as Blocking;

use protomcp_codec::{Encoder, Limits};
use protomcp_envelope::{CallAnswer, CallToolRequest, Envelope, Msg, RawHeader, ReloadResponse, ToolListResponse};
use protomcp_link::{Config, Event, Options, drive};
use protomcp_testing::{patience, until};
use tokio::net::UnixStream;

const MIB: usize = 1 << 20;
const PAYLOAD: usize = 96 * MIB;

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

fn says(io: &mut Blocking, id: &str, message: impl Into<Msg>) {
    let mut bytes = Vec::new();
    Encoder::new(Limits::default()).encode_envelope(&Envelope::new(id, message), &mut bytes).unwrap();
    io.write_all(&bytes).unwrap();
}

/// Registers, then answers each of `calls` calls with a large payload, of which it never has more than a little.
fn process(mut io: Blocking, calls: usize) {
    let mut request = [0; 4096];
    assert!(io.read(&mut request).unwrap() > 0);
    says(&mut io, "req-0", ToolListResponse::default());
    says(&mut io, "", ReloadResponse { success: true, ..Default::default() });
    let block = vec![b'x'; MIB];
    for call in 1..=calls {
        assert!(io.read(&mut request).unwrap() > 0);
        let header = RawHeader {
            request_id: format!("req-{call}"),
            field_name: "result_json".into(),
            size: PAYLOAD as u64,
            ..Default::default()
        };
        says(&mut io, "", header);
        for _ in 0..PAYLOAD / MIB {
            io.write_all(&block).unwrap();
        }
    }
    assert_eq!(io.read(&mut request).unwrap(), 0, "the link is closed");
}

#[tokio::test]
async fn a_large_answer_is_in_memory_once_and_gone_when_it_is_dropped() {
    let (ours, theirs) = Blocking::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let (link, mut events) = drive(UnixStream::from_std(ours).unwrap(), Config::default());
    let peer = std::thread::spawn(move || process(theirs, 3));
    assert!(matches!(events.recv().await, Some(Event::Ready(_))));
    let before = status("VmRSS:");
    for _ in 0..3 {
        let call = link.call_tool(CallToolRequest::default(), patience(), Options::default());
        let CallAnswer::Result(result) = call.await.unwrap() else { panic!() };
        assert_eq!(result.result_json.len(), PAYLOAD);
    }
    let peak = status("VmHWM:").saturating_sub(before);
    assert!(peak < PAYLOAD + PAYLOAD / 4, "{} MiB at most", peak / MIB);
    // The thread that assembled the answer may let go of it a moment later.
    until("the memory is free", || status("VmRSS:").saturating_sub(before) < 8 * MIB).await;
    link.close();
    assert!(matches!(events.recv().await, Some(Event::Closed(_))));
    peer.join().unwrap();
}

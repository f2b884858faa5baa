//! Any stream of a client: each request that the session passes on gets exactly one answer, also one that is cancelled,
//! and no report after it; a client hears of resources only if it has declared it; requests in flight and reports stay
//! bounded; and both ends take any message without a panic.
//!
//! The first bytes of the input choose the settings; the others are the stream.

#![no_main]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use protomcp_bufmcp::message::{CallLog, CallProgress, Payload};
use protomcp_bufmcp::{
    BinaryCall, BinaryClientConfig, BinaryClientSession, BinaryInbound, BinarySession, CallReport, Changes, Decoder, Fault,
    FrameLimits, Initialization, SessionConfig, Streaming, Tokens,
};
use protomcp_session::Limits;

fuzz_target!(|input: &[u8]| {
    let [flags, step, stream @ ..] = input else { return };
    let mut config = SessionConfig::new("fuzz", "1.0");
    config.limits.max_in_flight = 4;
    if flags & 1 == 1 {
        config.initialization = Initialization::Optional;
    }
    if flags & 2 == 2 {
        config.tokens = Some(Arc::new(Tokens::new().with("a", "b")));
    }
    if flags & 8 == 8 {
        config.features.streaming = Streaming::ProgressAndLogs;
    }
    if flags & 32 == 32 {
        config.features.resources = Some(Changes::Announced);
        config.features.subscriptions = true;
    }
    let mut now = Instant::now();
    let mut session = BinarySession::new(Arc::new(config), None);
    let mut client = BinaryClientSession::new(BinaryClientConfig::new("fuzz", "1.0"), now);
    let (mut decoder, mut buffer) = (Decoder::new(FrameLimits::default()), BytesMut::from(stream));
    let mut open: Vec<u64> = Vec::new();
    while let Ok(Some(frame)) = decoder.decode(&mut buffer) {
        client.receive(now, frame.clone());
        match session.receive(now, frame) {
            Some(BinaryInbound::Request(request)) => {
                assert!(!open.contains(&request.id));
                open.push(request.id);
                let room = if matches!(request.call, BinaryCall::CallTool(_)) { 0 } else { Limits::CONTROL_ROOM };
                assert!(open.len() <= 4 + room);
            }
            Some(BinaryInbound::Cancelled(id)) => {
                assert_eq!(flags & 8, 8);
                let place = open.iter().position(|open| *open == id).expect("a request without an answer");
                open.remove(place);
                answers(&mut session, &[id], 1);
                session.reply(now, id, Err(Fault::new(-32603, "again")));
                assert!(session.poll_transmit().is_none());
            }
            _ => {}
        }
        if flags & 16 == 16 {
            report(&mut session, &open, *step);
        }
        session.resource_updated("a:b");
        answers(&mut session, &open, 0);
        now += Duration::from_millis(u64::from(*step) * 100);
        let late = session.handle_timeout(now);
        open.retain(|id| !late.contains(id));
        answers(&mut session, &late, late.len());
        if flags & 4 == 4
            && let Some(id) = open.pop()
        {
            session.reply(now, id, Err(Fault::new(-32603, "no")));
            answers(&mut session, &[id], 1);
            session.reply(now, id, Err(Fault::new(-32603, "again")));
            assert!(session.poll_transmit().is_none());
        }
    }
    while client.poll_event().is_some() {}
    session.close_input(now);
    let left = session.handle_timeout(now + Duration::from_secs(5));
    assert!(left.len() == open.len() || session.is_closed());
});

/// Reports on each request, and on one that is not open, without reading any of it.
fn report(session: &mut BinarySession, open: &[u64], step: u8) {
    let stranger = (1..).find(|id| !open.contains(id)).expect("some id is free");
    let progress = || CallReport::Progress(CallProgress { progress: step.into(), ..CallProgress::default() });
    let log = || CallReport::Log(CallLog { logger: "x".repeat(usize::from(step)), ..CallLog::default() });
    for id in open {
        let taken = session.report(*id, progress()).expect("it is small");
        assert!(!(taken && session.report(*id, progress()).expect("it is small")), "progress has to grow");
        session.report(*id, log()).expect("it is small");
    }
    assert!(!session.report(stranger, progress()).expect("it is small"));
    assert!(!session.report(stranger, log()).expect("it is small"));
    assert!(session.unsent() < 64 << 20);
}

/// Reads the frames of the session. At least `least` of them are answers to requests with these ids.
fn answers(session: &mut BinarySession, ids: &[u64], least: usize) {
    let mut decoder = Decoder::new(FrameLimits::default());
    let mut found = 0;
    while let Some(frame) = session.poll_transmit() {
        let mut buffer = BytesMut::from(&frame[..]);
        let message = decoder.decode(&mut buffer).expect("within the limits").expect("whole").expect("a message");
        assert!(buffer.is_empty() && message.payload.is_some());
        let declared = session.agreement().map(|agreed| agreed.declared).unwrap_or_default();
        let is_update = matches!(message.payload, Some(Payload::ResourceUpdated(_)));
        assert!(!is_update || declared.subscriptions, "an update for a client that has not declared it");
        let is_report = matches!(message.payload, Some(Payload::CallProgress(_) | Payload::CallLog(_)));
        assert!(!is_report || ids.contains(&message.id), "a report of no open request");
        found += usize::from(!is_report && ids.contains(&message.id));
    }
    assert!(found >= least);
}

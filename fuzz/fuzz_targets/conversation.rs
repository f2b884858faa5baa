//! Any stream of a client: each request that the session passes on gets exactly one answer, requests in flight stay
//! bounded, and both ends take any message without a panic.
//!
//! The first bytes of the input choose the settings; the others are the stream.

#![no_main]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use protomcp_bufmcp::{
    BinaryClientConfig, BinaryClientSession, BinaryInbound, BinarySession, Decoder, Fault, FrameLimits, Initialization,
    SessionConfig, Tokens,
};

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
    let mut now = Instant::now();
    let mut session = BinarySession::new(Arc::new(config), None);
    let mut client = BinaryClientSession::new(BinaryClientConfig::new("fuzz", "1.0"), now);
    let (mut decoder, mut buffer) = (Decoder::new(FrameLimits::default()), BytesMut::from(stream));
    let mut open: Vec<u64> = Vec::new();
    while let Ok(Some(frame)) = decoder.decode(&mut buffer) {
        client.receive(now, frame.clone());
        if let Some(BinaryInbound::Request(request)) = session.receive(now, frame) {
            assert!(!open.contains(&request.id));
            open.push(request.id);
        }
        assert!(open.len() <= 4);
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

/// Reads the frames of the session. At least `least` of them are for requests with these ids.
fn answers(session: &mut BinarySession, ids: &[u64], least: usize) {
    let mut decoder = Decoder::new(FrameLimits::default());
    let mut found = 0;
    while let Some(frame) = session.poll_transmit() {
        let mut buffer = BytesMut::from(&frame[..]);
        let message = decoder.decode(&mut buffer).expect("within the limits").expect("whole").expect("a message");
        assert!(buffer.is_empty() && message.payload.is_some());
        found += usize::from(ids.contains(&message.id));
    }
    assert!(found >= least);
}

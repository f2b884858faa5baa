//! Whole conversations: the bytes of the process go in, the bytes of the bridge come out.

use std::time::{Duration, Instant};

use bytes::BytesMut;
use protomcp_codec::Limits;
use protomcp_envelope::{Envelope, Msg};
use protomcp_link::{CallId, CallIds, Config, Connection, Event, Side};
use serde_json::{Value, json};

use super::form::Form;
use super::{bytes, name, read, vectors};

/// The frame of a step.
fn frame(step: &Value) -> Value {
    match &step["envelope"] {
        Value::Null => json!({"raw": step["raw"], "payload": step["payload"]}),
        envelope => json!({"envelope": envelope}),
    }
}

/// Lets the bridge do what leads to this step. Acknowledgements of middleware it sends by itself.
fn act(bridge: &mut Connection, ids: &CallIds, now: Instant, step: Envelope) {
    let Envelope { context, for_call, .. } = step.clone();
    match step.msg.unwrap() {
        Msg::ListTools(_) => {
            bridge.begin(now);
        }
        Msg::Reload(_) => bridge.reload(now),
        Msg::Cancel(cancel) => match CallId::from_wire(&cancel.request_id) {
            Some(call) if cancel.request_id == "req-1" => bridge.cancel(call),
            _ => bridge.notify(cancel.into()),
        },
        Msg::RegisterMiddlewareResponse(_) => {}
        Msg::Ping(_) => {
            bridge.keep_alive(now);
            bridge.handle_timeout(now + Duration::from_secs(30));
        }
        message @ (Msg::BridgeInfo(_)
        | Msg::ActiveTools(_)
        | Msg::SamplingResponse(_)
        | Msg::ListRootsResponse(_)
        | Msg::ElicitationResponse(_)) => bridge.reply(&step.request_id, message),
        request => {
            let envelope = Envelope { context, for_call, ..Envelope::new("", request) };
            bridge.call_with(now, ids.next(), envelope, Duration::from_secs(60));
        }
    }
}

#[test]
fn the_bridge_says_its_part_of_each_conversation() {
    let form = Form::new();
    for vector in vectors("conversations.json") {
        let (now, ids) = (Instant::now(), CallIds::default());
        let mut bridge = Connection::new(Side::Bridge, Config::default(), ids.clone());
        let (mut ready, mut unexpected) = (0, Vec::new());
        for (number, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
            let place = format!("{}: step {number}", name(&vector));
            let (frames, end) = read(&form, &bytes(step), &Limits::default(), usize::MAX);
            assert_eq!((frames, end), (vec![frame(step)], "between"), "{place}");
            if step["from"] == "bridge" {
                act(&mut bridge, &ids, now, form.envelope("Envelope", &step["envelope"]));
                let mut written = Vec::new();
                bridge.poll_transmit(&mut written);
                let (frames, _) = read(&form, &written, &Limits::default(), usize::MAX);
                assert_eq!(frames, [frame(step)], "{place}");
            } else {
                bridge.handle_bytes(now, &mut BytesMut::from(&bytes(step)[..])).unwrap();
            }
            while let Some(event) = bridge.poll_event() {
                match event {
                    Event::Ready(_) => ready += 1,
                    Event::Answer { outcome, .. } => drop(outcome.unwrap().finish(&Limits::default()).unwrap()),
                    Event::Request { .. } | Event::Notification { .. } | Event::Progress { .. } => {}
                    other => unexpected.push(other),
                }
            }
        }
        assert!(ready >= 1 && unexpected.is_empty(), "{}: {unexpected:?}", name(&vector));
    }
}

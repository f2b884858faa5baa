//! The weight of waiting events, and the point at which the owner falls behind.

use std::task::Waker;

use protomcp_envelope::{Msg, StreamChunk};

use super::*;
use crate::event::{Handshake, Phase, QuestionFields};

/// An event of exactly this many bytes.
fn notified(bytes: usize) -> Event {
    let empty = Event::Notification { message: Msg::StreamChunk(StreamChunk::default()), for_call: String::new() };
    let (head, mut data) = (size(&empty), bytes);
    loop {
        let chunk = StreamChunk { data: vec![0; data].into(), r#final: false };
        let event = Event::Notification { message: Msg::StreamChunk(chunk), for_call: String::new() };
        match size(&event).checked_sub(bytes) {
            Some(0) => return event,
            Some(more) => data -= more,
            None => panic!("{bytes} bytes cannot be made with a head of {head}"),
        }
    }
}

fn keeps_up(event_sender: &mut EventSender) -> bool {
    event_sender.poll_keeps_up(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn an_event_weighs_what_it_keeps_alive() {
    let message = || Msg::StreamChunk(StreamChunk { data: vec![0; 100].into(), r#final: false });
    let weight = message().encoded_len();
    assert!(weight > 100);
    let tool = || ToolDefinition {
        name: "a".to_owned(),
        description: "b".repeat(20),
        input_schema_json: "c".repeat(300).into(),
        output_schema_json: "d".repeat(4000).into(),
        ..ToolDefinition::default()
    };
    let request = |id: &str, for_call: &str, key: &str| Event::Request {
        id: id.to_owned(),
        message: message(),
        for_call: for_call.to_owned(),
        question: QuestionFields { key: key.to_owned(), more: true },
    };
    let each = size_of::<ToolDefinition>() + 4321;
    let handshake = |tools| Event::Ready(Handshake { tools, middleware: Vec::new(), phase: Phase::Start });
    for (event, expected) in [
        (request("abc", "0123456", "01234"), weight + 15),
        (Event::Notification { message: message(), for_call: "0123456".to_owned() }, weight + 7),
        (Event::Listed(vec![tool(), tool()]), 2 * each),
        (handshake(Some(vec![tool()])), each),
        (handshake(None), 0),
    ] {
        assert_eq!(size(&event), expected, "{event:?}");
    }
}

#[test]
fn the_owner_is_waited_for_beyond_a_number_of_bytes() {
    for (bytes, keeps) in [(EVENT_BYTES, true), (EVENT_BYTES + 1, false)] {
        let (mut event_sender, mut owner) = EventSender::new();
        event_sender.push(notified(bytes));
        assert_eq!(keeps_up(&mut event_sender), keeps, "{bytes}");
        assert!(owner.try_recv().is_ok());
        assert!(keeps_up(&mut event_sender), "it has taken all");
    }
}

#[test]
fn what_has_waited_counts_when_it_goes_on() {
    let (mut event_sender, mut owner) = EventSender::new();
    for _ in 0..EVENTS {
        event_sender.push(notified(40));
    }
    event_sender.push(notified(EVENT_BYTES / 2));
    event_sender.push(notified(EVENT_BYTES / 2 + 1));
    assert!(!keeps_up(&mut event_sender), "the queue is full");
    for _ in 0..EVENTS {
        assert!(owner.try_recv().is_ok());
    }
    assert!(!keeps_up(&mut event_sender), "the two that have waited are too much");
    assert!(owner.try_recv().is_ok() && owner.try_recv().is_ok());
    assert!(keeps_up(&mut event_sender));
    assert!(owner.try_recv().is_err(), "nothing came twice");
}

#[test]
fn an_empty_name_weighs_what_it_takes() {
    use protomcp_envelope::{BatchUpdateRequest, EnableToolsRequest, SdkInfo};
    let names = || vec![String::new(); 1000];
    let messages: [Msg; 4] = [
        EnableToolsRequest { tool_names: names() }.into(),
        BatchUpdateRequest { disable: names(), ..Default::default() }.into(),
        SdkInfo { features: names(), ..Default::default() }.into(),
        SdkInfo { skill_folders: names(), ..Default::default() }.into(),
    ];
    for message in messages {
        let event =
            Event::Request { id: String::new(), message, for_call: String::new(), question: QuestionFields::default() };
        assert!(size(&event) >= 1000 * 2 * size_of::<String>(), "{}", size(&event));
    }
}

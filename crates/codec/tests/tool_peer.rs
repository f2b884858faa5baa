//! The example tool process behaves like one.

// Its `main` only reads the environment and connects.
#[allow(dead_code)]
#[path = "../examples/tool_peer/main.rs"]
mod example;

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    thread::{self, JoinHandle},
};

use bytes::{Bytes, BytesMut};
use protomcp_codec::{Decoder, Encoder, Frame, Limits, Raw};
use protomcp_envelope::{
    BridgeInfo, CallToolRequest, CallToolResponse, Envelope, ListToolsRequest, Msg, ReloadRequest, message_name,
};

/// The bridge's end of a link to the example.
struct Bridge {
    stream: UnixStream,
    decoder: Decoder,
    src: BytesMut,
    peer: JoinHandle<bool>,
}

impl Bridge {
    fn start() -> Self {
        let (stream, far) = UnixStream::pair().unwrap();
        let peer = thread::spawn(move || example::serve(far).is_ok());
        Self { stream, decoder: Decoder::new(Limits::default()), src: BytesMut::new(), peer }
    }

    /// The same, past the introduction.
    fn ready() -> Self {
        let mut bridge = Self::start();
        bridge.next();
        bridge
    }

    fn send(&mut self, messages: &[(&str, Msg)]) {
        let mut bytes = Vec::new();
        for (id, msg) in messages {
            Encoder::new(Limits::default()).encode_envelope(&Envelope::new(*id, msg.clone()), &mut bytes).unwrap();
        }
        self.stream.write_all(&bytes).unwrap();
    }

    fn frame(&mut self) -> Frame {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.src).unwrap() {
                return frame;
            }
            let mut chunk = [0; 4096];
            let size = self.stream.read(&mut chunk).unwrap();
            assert!(size > 0, "the tool process hung up");
            self.src.extend_from_slice(&chunk[..size]);
        }
    }

    fn next(&mut self) -> (String, Msg) {
        match self.frame() {
            Frame::Envelope(envelope) => (envelope.request_id, envelope.msg.unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// The names of the next messages, with their request ids.
    fn names(&mut self, count: usize) -> Vec<(&'static str, String)> {
        let mut name = || self.next();
        (0..count).map(|_| name()).map(|(id, msg)| (message_name(&msg), id)).collect()
    }

    fn raw(&mut self) -> Raw {
        match self.frame() {
            Frame::Raw(raw) => raw,
            other => panic!("{other:?}"),
        }
    }

    fn result(&mut self, id: &str) -> CallToolResponse {
        let (got, msg) = self.next();
        assert_eq!(got, id);
        msg.try_into().unwrap()
    }

    fn call(&mut self, name: &str, arguments: &str) -> CallToolResponse {
        self.send(&[("c", call(name, arguments))]);
        self.result("c")
    }
}

fn call(name: &str, arguments: &str) -> Msg {
    let arguments_json = Bytes::from(arguments.to_owned());
    CallToolRequest { name: name.into(), arguments_json, ..Default::default() }.into()
}

fn text(text: &str) -> Bytes {
    format!(r#"[{{"type":"text","text":{text}}}]"#).into()
}

#[test]
fn it_introduces_itself_and_exits_with_the_bridge() {
    let mut bridge = Bridge::start();
    assert_eq!(bridge.names(1), [("sdk_info", String::new())]);
    drop(bridge.stream);
    assert!(bridge.peer.join().unwrap());
}

#[test]
fn the_handshake_is_the_list_then_the_signal() {
    let mut bridge = Bridge::ready();
    bridge.send(&[("r1", ListToolsRequest {}.into())]);
    assert_eq!(bridge.names(2), [("tool_list", "r1".into()), ("reload_response", String::new())]);
}

#[test]
fn a_reload_is_a_handshake_whose_signal_is_the_answer() {
    let mut bridge = Bridge::ready();
    bridge.send(&[("r1", ReloadRequest {}.into())]);
    assert_eq!(bridge.names(2), [("tool_list", String::new()), ("reload_response", "r1".into())]);
}

#[test]
fn echo_gives_back_the_text_escapes_and_all() {
    let mut bridge = Bridge::ready();
    for said in [r#""""#, r#""hi""#, r#""a \"quoted\" \\ é \u00e9 {[,:]}""#] {
        let result = bridge.call("echo", &format!(r#" {{ "n" : [1, {{"text": 2}}], "text" : {said} , "x": null}} "#));
        assert_eq!((result.is_error, result.result_json), (false, text(said)));
    }
    for arguments in ["{}", r#"{"text":1}"#, r#"{"tex":"x"}"#] {
        assert!(bridge.call("echo", arguments).is_error, "{arguments}");
    }
}

#[test]
fn add_adds() {
    let mut bridge = Bridge::ready();
    let large = format!(r#"{{"a":{},"b":{}}}"#, i64::MAX, i64::MAX);
    assert_eq!(bridge.call("add", r#"{"a":2,"b":-3}"#).result_json, text(r#""-1""#));
    assert_eq!(bridge.call("add", &large).result_json, text(r#""18446744073709551614""#));
    assert!(bridge.call("add", r#"{"a":2}"#).is_error);
}

#[test]
fn a_tool_that_is_not_there_is_an_error() {
    assert!(Bridge::ready().call("nothing", "{}").is_error);
}

#[test]
fn slow_calls_block_no_others() {
    let mut bridge = Bridge::ready();
    bridge.send(&[
        ("slow", call("sleep_ms", r#"{"ms":1000}"#)),
        ("fast", call("sleep_ms", r#"{"ms":0}"#)),
        ("now", call("echo", r#"{"text":"x"}"#)),
    ]);
    let order = bridge.names(3).into_iter().map(|(_, id)| id).collect::<Vec<_>>();
    assert_eq!(order[2], "slow", "{order:?}");
}

#[test]
fn progress_is_sent_to_those_who_asked() {
    let mut bridge = Bridge::ready();
    let mut asked: CallToolRequest = call("sleep_ms", r#"{"ms":4}"#).try_into().unwrap();
    asked.progress_token = "t".into();
    bridge.send(&[("c", asked.into())]);
    for progress in 0..=4 {
        let (id, Msg::Progress(got)) = bridge.next() else { panic!("no progress") };
        assert_eq!((id.as_str(), got.progress_token.as_str(), got.progress, got.total), ("", "t", progress, 4));
    }
    assert_eq!(bridge.result("c").result_json, text(r#""slept 4 ms""#));
    assert_eq!(bridge.call("sleep_ms", r#"{"ms":4}"#).result_json, text(r#""slept 4 ms""#), "no progress first");
}

#[test]
fn large_results_travel_raw_and_errors_do_not_lose_theirs() {
    let mut bridge = Bridge::ready();
    bridge.send(&[("c", call("large", r#"{"size":100000}"#))]);
    let raw = bridge.raw();
    assert_eq!((raw.header.request_id.as_str(), raw.header.followed_by_result), ("c", false));
    #[cfg(feature = "zstd")]
    assert_eq!(raw.inflate(&Limits::default()), Ok(text(&format!("{:?}", "x".repeat(100_000)))));

    let long = "x".repeat(100_000);
    let result = bridge.call(&long, "{}");
    assert!(result.is_error && result.result_json.len() > long.len());
}

#[test]
fn an_able_bridge_gets_a_large_error_raw() {
    let mut bridge = Bridge::ready();
    let features = vec!["raw-with-result".to_owned()];
    bridge.send(&[("", BridgeInfo { features, ..Default::default() }.into())]);
    bridge.send(&[("c", call(&"x".repeat(100_000), "{}"))]);
    assert!(bridge.raw().header.followed_by_result);
    assert!(bridge.result("c").is_error);
}

#[test]
fn what_it_cannot_read_is_answered_and_the_next_call_works() {
    let mut bridge = Bridge::ready();
    // A call whose tool name is not text, with the request id `bad`.
    bridge.stream.write_all(&[0, 0, 0, 10, 0x1a, 3, 0x0a, 1, 0xff, 0x72, 3, b'b', b'a', b'd']).unwrap();
    assert!(bridge.result("bad").is_error);
    assert_eq!(bridge.call("echo", r#"{"text":"x"}"#).result_json, text(r#""x""#));
}

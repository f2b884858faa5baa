//! Reports of calls that run, and cancellation.

use std::time::Duration;

use prost::Message as _;
use protomcp_bufmcp::message::{
    CallLog, CallProgress, CancelCall, ClientCapabilities, ListResourcesRequest, LogLevel, McpMessage, Payload,
};
use protomcp_bufmcp::{BinaryInbound, CallReport, Fault, FrameLimits, FrameTooLarge, SessionConfig, Streaming};

use super::table::{Table, call, config, done, initialize, opened, tools};

/// A server that streams.
fn with_streaming() -> SessionConfig {
    let mut config = config();
    config.features.streaming = Streaming::ProgressAndLogs;
    config
}

/// A first message that sets `supports_streaming`.
fn declaring() -> Payload {
    initialize(|request| {
        request.capabilities = Some(ClientCapabilities { supports_streaming: true, ..ClientCapabilities::default() });
    })
}

/// A conversation in which both sides have set `supports_streaming`.
fn streaming() -> Table {
    streaming_with(with_streaming())
}

fn streaming_with(config: SessionConfig) -> Table {
    let mut table = Table::new(config);
    assert!(table.send(1, declaring()).is_some());
    table.answers();
    table
}

fn progress(value: f64) -> CallReport {
    CallReport::Progress(CallProgress { progress: value, ..CallProgress::default() })
}

fn log(logger: &str) -> CallReport {
    CallReport::Log(CallLog { level: LogLevel::Info as i32, logger: logger.to_owned(), data: None })
}

fn cancel() -> Payload {
    Payload::CancelCall(CancelCall {})
}

impl Table {
    fn report(&mut self, id: u64, report: CallReport) -> bool {
        self.session.report(id, report).unwrap()
    }

    fn reply(&mut self, id: u64) {
        self.session.reply(self.now, id, Ok(done()));
    }

    /// The frames for the client: their ids, and `a` for answers, `l` for log messages, and progress.
    fn seen(&mut self) -> String {
        let word = |McpMessage { id, payload }| match payload.unwrap() {
            Payload::CallProgress(report) => format!("{id}:{}", report.progress),
            Payload::CallLog(log) => format!("{id}:l{}", log.logger),
            _ => format!("{id}:a"),
        };
        self.answers().into_iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn a_client_of_version_1_0_sees_no_byte_of_streaming() {
    let without = opened(config(), initialize(|_| {})).unwrap();
    let with = opened(with_streaming(), initialize(|_| {})).unwrap();
    assert_eq!(with.encode_to_vec(), without.encode_to_vec());
    let mut table = Table::open(with_streaming());
    table.request(2, call(|call| (call.wants_progress, call.log_level) = (true, 1)));
    assert!(!table.report(2, progress(1.0)) && !table.report(2, log("")) && !table.report(0, log("")));
    let CallReport::Progress(report) = progress(1.0) else { unreachable!() };
    for payload in [cancel(), Payload::CallProgress(report), Payload::CallLog(CallLog::default())] {
        assert!(table.send(3, payload).is_none());
        assert_eq!(table.refusal(), (3, -32601));
    }
    table.reply(2);
    assert_eq!(table.seen(), "2:a");
}

#[test]
fn both_sides_have_to_set_supports_streaming() {
    for (streaming, streams, logs) in [
        (Streaming::Unsupported, false, false),
        (Streaming::Progress, true, false),
        (Streaming::ProgressAndLogs, true, true),
    ] {
        let mut config = config();
        config.features.streaming = streaming;
        let capabilities = opened(config, declaring()).unwrap().capabilities.unwrap();
        assert_eq!((capabilities.supports_streaming, capabilities.supports_logging), (streams, logs), "{streaming:?}");
    }
}

#[test]
fn reports_have_the_id_of_a_call_without_an_answer() {
    let mut table = streaming();
    assert!(!table.report(2, progress(1.0)), "before the call");
    table.request(2, call(|_| {}));
    table.request(3, tools());
    assert!(table.report(2, progress(1.0)) && table.report(2, log("x")));
    assert!(!table.report(3, log("")) && !table.report(4, log("")), "of another request, and of none");
    assert!(!table.report(0, progress(1.0)) && table.report(0, log("y")), "a log message may belong to no call");
    table.reply(2);
    assert!(!table.report(2, progress(2.0)) && !table.report(2, log("")), "after the answer");
    assert_eq!(table.seen(), "2:1 2:lx 2:a 0:ly");
    // The id belongs to another call now.
    table.request(2, call(|_| {}));
    assert!(table.report(2, progress(0.5)));
    assert_eq!(table.seen(), "2:0.5");
}

#[test]
fn progress_grows_strictly() {
    let mut table = streaming();
    table.request(2, call(|_| {}));
    let steps = [1.0, 1.0, 0.0, -1.0, f64::NAN, f64::INFINITY, 1.5, 2.0];
    let taken = steps.map(|step| table.report(2, progress(step)));
    assert_eq!(taken, [true, false, false, false, false, false, true, true]);
    assert_eq!(table.seen(), "2:1 2:1.5 2:2");
}

#[test]
fn answers_pass_the_reports_of_other_calls() {
    let mut table = streaming();
    for id in [2, 3, 4] {
        table.request(id, call(|_| {}));
        assert!(table.report(id, progress(1.0)) && table.report(id, log("x")));
    }
    table.reply(3);
    table.session.reply(table.now, 4, Err(Fault::new(-32603, "no")));
    assert_eq!(table.seen(), "3:1 3:lx 3:a 4:1 4:lx 4:a 2:1 2:lx");
    // A call whose time is over has what was reported, too.
    assert!(table.report(2, log("y")));
    table.now += Duration::from_secs(30);
    assert_eq!(table.session.handle_timeout(table.now), [2]);
    assert_eq!(table.seen(), "2:ly 2:a");
}

#[test]
fn a_cancelled_request_has_one_answer() {
    let mut table = streaming();
    table.request(2, call(|_| {}));
    table.request(3, tools());
    assert!(table.report(2, log("x")));
    assert_eq!(table.send(2, cancel()), Some(BinaryInbound::Cancelled(2)));
    let (id, error) = table.failure();
    assert_eq!((id, error.code), (2, -32800), "its reports are gone");
    assert_eq!(table.send(3, cancel()), Some(BinaryInbound::Cancelled(3)));
    assert_eq!(table.refusal(), (3, -32800));
    // Twice, an id of no request, and an answer that comes nevertheless.
    for id in [2, 3, 99, 0] {
        assert_eq!(table.send(id, cancel()), None);
        table.reply(id);
        assert!(!table.report(id, progress(1.0)));
    }
    // The answer and the cancellation cross.
    table.request(2, call(|_| {}));
    table.reply(2);
    assert_eq!(table.send(2, cancel()), None);
    assert_eq!(table.seen(), "2:a");
    assert_eq!(table.session.poll_timeout(), None);
}

#[test]
fn reports_that_the_client_does_not_read_are_bounded() {
    let mut table = streaming();
    table.request(2, call(|_| {}));
    table.request(3, call(|_| {}));
    let taken = (0..2_000_u32).filter(|_| table.report(2, log(""))).count();
    assert_eq!(taken, 1_024);
    for step in 0..2_000_u32 {
        assert!(table.report(3, progress(step.into())), "the newest progress replaces the last one");
    }
    let unsent = table.session.unsent();
    table.reply(2);
    assert!(table.session.unsent() > unsent && !table.report(3, log("")), "they count until they are sent");
    let seen = table.seen();
    assert_eq!((seen.matches(":l").count(), seen.matches("3:").count()), (1_024, 1), "{seen}");
    assert!(seen.ends_with("2:a 3:1999") && table.session.unsent() == 0);
    let large = || log(&"x".repeat(1 << 20));
    assert_eq!((0..40).filter(|_| table.report(3, large())).count(), 15, "16 MiB with what is around the texts");
    // One report that is larger than a frame may be is an error.
    let frames = FrameLimits { max_frame: 1_000, ..FrameLimits::default() };
    let mut table = streaming_with(SessionConfig { frames, ..with_streaming() });
    table.request(2, call(|_| {}));
    assert!(table.session.report(2, large()).is_err() && table.report(2, progress(1.0)));
}

#[test]
fn reports_of_answered_calls_keep_no_request_out() {
    let mut table = streaming();
    table.request(2, call(|_| {}));
    assert!((0..1_000).all(|_| table.report(2, log(""))));
    table.reply(2);
    assert!(table.session.has_room(), "one answer waits, and the reports in front of it");
    for id in 3..66 {
        table.request(id, call(|_| {}));
        table.reply(id);
    }
    assert!(!table.session.has_room(), "64 answers wait");
    assert_eq!(table.seen().matches(":l").count(), 1_000);
    assert!(table.session.has_room());
}

#[test]
fn a_server_without_logging_sends_no_log_message() {
    let mut config = config();
    config.features.streaming = Streaming::Progress;
    let mut table = streaming_with(config);
    table.request(2, call(|call| call.log_level = LogLevel::Debug as i32));
    assert!(!table.report(2, log("")) && !table.report(0, log("")) && table.report(2, progress(1.0)));
    assert_eq!(table.seen(), "2:1");
}

/// The id of log messages that belong to no call.
#[test]
fn a_call_with_the_id_0_is_refused() {
    let mut table = streaming();
    assert_eq!(table.send(0, call(|_| {})), None);
    let (id, error) = table.failure();
    assert_eq!((id, error.code), (0, -32600));
    table.request(0, tools());
    // Without reports it is an id like any other.
    Table::open(with_streaming()).request(0, call(|_| {}));
}

#[test]
fn a_conversation_that_is_over_has_no_reports() {
    let mut table = streaming();
    table.request(2, call(|_| {}));
    table.session.too_large(FrameTooLarge { size: 2, limit: 1, setting: None });
    assert!(table.session.is_closed());
    assert!(!table.report(2, progress(1.0)) && !table.report(2, log("")) && !table.report(0, log("")));
    assert_eq!(table.refusal(), (0, -32013));
}

/// Over any order of operations: no message of an extension without its declaration.
#[test]
fn a_session_without_flags_sends_only_version_1_0() {
    for seed in 0..200_u64 {
        let mut table = Table::open(with_streaming());
        let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for _ in 0..40 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let id = (dice >> 40) % 4;
            match (dice >> 33) % 7 {
                0 => drop(table.send(id, call(|call| call.wants_progress = true))),
                1 => drop(table.send(id, Payload::ListResourcesRequest(ListResourcesRequest::default()))),
                2 => drop(table.send(id, cancel())),
                3 => assert!(!table.report(id, progress(1.0))),
                4 => assert!(!table.report(id, log("x"))),
                5 => table.reply(id),
                _ => {
                    table.now += Duration::from_secs(10);
                    table.session.handle_timeout(table.now);
                }
            }
            for frame in std::iter::from_fn(|| table.session.poll_transmit()) {
                let number = protomcp_bufmcp::RawMessage::split(&frame[4..].to_vec().into()).unwrap().payload;
                assert!(number <= 12, "{number}");
            }
        }
    }
}

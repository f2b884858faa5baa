//! Tables of frames with their times, and the outcome of the handshake.

use super::*;

#[derive(Clone, Copy)]
enum Frame {
    List,
    Register,
    Done(bool),
}
use Frame::{Done, List, Register};

/// Sends frames at the given milliseconds and describes the end of the handshake, looking at most 60 s ahead.
fn check(phase: Phase, frames: &[(u64, Frame)]) -> String {
    let start = Instant::now();
    let mut handshake = Handshaker::new(&Config::default());
    handshake.begin(start, phase);
    let mut frames = frames.iter().copied().peekable();
    loop {
        let deadline = handshake.deadline().map(|at| u64::try_from((at - start).as_millis()).unwrap());
        let (at, outcome) = match (frames.peek().copied(), deadline) {
            (Some((at, frame)), deadline) if deadline.is_none_or(|deadline| at < deadline) => {
                frames.next();
                let now = start + Duration::from_millis(at);
                let outcome = match frame {
                    List => {
                        let tool = ToolDefinition { name: format!("t{at}"), ..Default::default() };
                        assert_eq!(handshake.tool_list(now, vec![tool]), None);
                        None
                    }
                    Register => {
                        let middleware = Middleware { name: format!("m{at}"), priority: 1 };
                        assert_eq!(handshake.register(now, middleware), Registration::Noted);
                        None
                    }
                    Done(success) => handshake.reload_response(now, ReloadResponse { success, error: "why".into() }),
                };
                (at, outcome)
            }
            (_, Some(deadline)) => (deadline, handshake.elapsed(start + Duration::from_millis(deadline))),
            (None, None) | (Some(_), None) => return "never".into(),
        };
        let Some(outcome) = outcome else { continue };
        assert!(!handshake.is_open());
        assert_eq!(handshake.deadline(), None);
        return match outcome {
            Outcome::Ready(ready) => {
                let tools = ready.tools.map_or("-".into(), |tools| tools[0].name.clone());
                let middleware: Vec<_> = ready.middleware.into_iter().map(|m| m.name).collect();
                format!("{at}: ready {tools} [{}]", middleware.join(" "))
            }
            Outcome::Failed(error) => format!("{at}: failed, {error}"),
            Outcome::ReloadFailed(error) => format!("{at}: reload failed, {error}"),
        };
    }
}

#[test]
fn a_start_is_ready_at_the_signal_or_after_silence() {
    let table: &[(&[(u64, Frame)], &str)] = &[
        (&[(5, List), (6, Done(true))], "6: ready t5 []"),
        (&[(5, List), (6, Register), (9, Done(true))], "9: ready t5 [m6]"),
        (&[(5, List)], "505: ready t5 []"),
        (&[(5, List), (400, Register), (800, Register)], "1300: ready t5 [m400 m800]"),
        (&[(5, Done(true)), (6, List), (7, Done(true))], "7: ready t6 []"),
        (&[(5, List), (6, Done(false))], "6: failed, it reported: why"),
        (&[], "30000: failed, it did not send its tool list within 30s"),
    ];
    for (frames, expected) in table {
        assert_eq!(check(Phase::Start, frames), *expected);
    }
}

#[test]
fn a_reload_is_read_in_both_orders() {
    let table: &[(&[(u64, Frame)], &str)] = &[
        (&[(1, Done(true)), (2, List), (3, Register), (4, Done(true))], "4: ready t2 [m3]"),
        (&[(1, List), (2, Register), (3, Done(true))], "3: ready t1 [m2]"),
        (&[(1, Done(true)), (2, List)], "502: ready t2 []"),
        (&[(1, Done(true))], "501: ready - []"),
        (&[(1, Done(false))], "1: reload failed, it reported: why"),
        (&[(1, Done(true)), (2, List), (3, Done(false))], "3: reload failed, it reported: why"),
        (&[], "3000: reload failed, it did not answer within 3s"),
    ];
    for (frames, expected) in table {
        assert_eq!(check(Phase::Reload, frames), *expected);
    }
}

#[test]
fn what_comes_outside_a_handshake_is_given_back() {
    let now = Instant::now();
    let mut handshake = Handshaker::new(&Config::default());
    assert_eq!(handshake.tool_list(now, Vec::new()), Some(Vec::new()));
    let late = Middleware { name: "late".into(), priority: 0 };
    assert_eq!(handshake.register(now, late.clone()), Registration::Late(late));
    assert_eq!(handshake.reload_response(now, ReloadResponse { success: false, error: String::new() }), None);
    assert_eq!(handshake.elapsed(now + Duration::from_secs(90)), None);
}

#[test]
fn endless_registering_ends_at_the_timeout() {
    // A frame every 400 ms never leaves the silence that ends a handshake.
    for frame in [Register, List] {
        let endless: Vec<_> = [(0, List)].into_iter().chain((0..200).map(|n| (n * 400, frame))).collect();
        let ended = check(Phase::Start, &endless);
        assert!(ended.starts_with("30000: ready"), "{ended}");
        let ended = check(Phase::Reload, &endless);
        assert!(ended.starts_with("30000: ready"), "{ended}");
    }
}

#[test]
fn too_many_or_too_long_named_middleware_is_refused() {
    let now = Instant::now();
    let mut handshake = Handshaker::new(&Config { max_middleware: 2, ..Config::default() });
    let named = |name: &str| Middleware { name: name.into(), priority: 0 };
    handshake.begin(now, Phase::Start);
    handshake.tool_list(now, Vec::new());
    assert_eq!(handshake.register(now, named(&"n".repeat(MIDDLEWARE_NAME_MAX + 1))), Registration::Refused);
    assert_eq!(handshake.register(now, named(&"n".repeat(MIDDLEWARE_NAME_MAX))), Registration::Noted);
    assert_eq!(handshake.register(now, named("b")), Registration::Noted);
    assert_eq!(handshake.register(now, named("c")), Registration::Refused);

    handshake.reload_response(now, ReloadResponse { success: true, error: String::new() });
    assert_eq!(handshake.register(now, named("late")), Registration::Refused, "late ones count");

    handshake.begin(now, Phase::Reload);
    assert_eq!(handshake.register(now, named("c")), Registration::Noted, "a new handshake begins with none");
    handshake.tool_list(now, Vec::new());
    handshake.reload_response(now, ReloadResponse { success: true, error: String::new() });
    assert_eq!(handshake.register(now, named("late")), Registration::Late(named("late")));
    assert_eq!(handshake.register(now, named("later")), Registration::Refused);
}

#[test]
fn waiting_for_ever_has_no_deadline() {
    let now = Instant::now();
    let forever = Duration::MAX;
    let config = Config {
        handshake_timeout: forever,
        reload_timeout: forever,
        handshake_quiet: Duration::from_millis(500),
        ..Config::default()
    };
    for phase in [Phase::Start, Phase::Reload] {
        let mut handshake = Handshaker::new(&config);
        handshake.begin(now, phase);
        assert_eq!(handshake.deadline(), None);
        handshake.tool_list(now, Vec::new());
        assert_eq!(handshake.deadline(), Some(now + Duration::from_millis(500)));
    }
}

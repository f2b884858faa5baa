//! Any order of calls, answers, losses and times: each call has exactly one end.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use proptest::prelude::*;
use protomcp_session::{AnswerFacts, CallId, ClientEvent, CloseReason, Mode, NoAnswer, TaskWish};
use protomcp_types::{Incoming, RawJson};

use super::wire::{DISCOVERED, INITIALIZED, Wire};

#[derive(Debug, Clone)]
enum Move {
    Call {
        is_task: bool,
    },
    Cancel(u64),
    /// Answers an exchange with one of the texts, or refuses it with one of the reasons.
    Answer(u64, usize),
    Refuse(u64, usize),
    /// An answer that cannot be read.
    Malformed(u64),
    Inputs(u64, bool),
    Wait(u64),
    Suspend,
    Resume,
}

const RESULTS: [&str; 9] = [
    "{}",
    "5",
    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#,
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s"}}"#,
    r#"{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"roots/list"}}}"#,
    r#"{"resultType":"task","taskId":"t","status":"working","task":{"taskId":"t","status":"working"}}"#,
    r#"{"taskId":"t","status":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#,
    r#"{"taskId":"t","status":"completed","result":{}}"#,
    r#"{"taskId":"t","status":"cancelled"}"#,
];

const REASONS: [Option<NoAnswer>; 5] = [
    None,
    Some(NoAnswer::SessionLost),
    Some(NoAnswer::Connection),
    Some(NoAnswer::Status(404)),
    Some(NoAnswer::Status(503)),
];

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => any::<bool>().prop_map(|is_task| Move::Call { is_task }),
        1 => (1..20u64).prop_map(Move::Cancel),
        8 => (1..40u64, 0..RESULTS.len()).prop_map(|(id, result)| Move::Answer(id, result)),
        2 => (1..40u64, 0..REASONS.len()).prop_map(|(id, why)| Move::Refuse(id, why)),
        1 => (1..40u64).prop_map(Move::Malformed),
        3 => (1..20u64, any::<bool>()).prop_map(|(call, is_ok)| Move::Inputs(call, is_ok)),
        2 => (0..70u64).prop_map(Move::Wait),
        1 => Just(Move::Suspend),
        1 => Just(Move::Resume),
    ]
}

fn play(wire: &mut Wire, step: &Move) {
    let now = wire.now;
    match step {
        Move::Call { is_task } => {
            wire.call_with("a", |call| call.task = is_task.then(TaskWish::default));
        }
        Move::Cancel(call) => wire.connection.cancel(CallId::new(*call)),
        Move::Answer(id, result) => wire.server(&format!(r#""id":{id},"result":{}"#, RESULTS[*result])),
        Move::Refuse(id, why) => {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#);
            let Ok(Incoming::One(message)) = Incoming::parse(&text.into()) else { panic!() };
            wire.connection.receive(now, message, AnswerFacts { no_answer: REASONS[*why], status: None });
        }
        Move::Malformed(id) => wire.malformed(&format!(r#""id":{id}"#)),
        Move::Inputs(call, is_ok) => {
            let answers = BTreeMap::from([("a".to_owned(), RawJson::EMPTY_OBJECT)]);
            let answers = if *is_ok { Ok(answers) } else { Err(protomcp_types::ErrorObject::internal("no")) };
            wire.connection.answer_inputs(now, CallId::new(*call), answers);
        }
        Move::Wait(seconds) => wire.wait(*seconds),
        Move::Suspend => wire.connection.suspend(&CloseReason::ByServer(None)),
        Move::Resume => wire.connection.resume(now),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn each_call_ends_exactly_once(
        mode in prop_oneof![Just(Mode::Auto), Just(Mode::Stateful), Just(Mode::Stateless)],
        is_open: bool,
        steps in proptest::collection::vec(moves(), 1..60),
    ) {
        let mut wire = Wire::new(|config| config.mode = mode);
        if is_open {
            wire.server(if mode == Mode::Stateful { INITIALIZED } else { DISCOVERED });
        }
        let mut cancelled = Vec::new();
        let mut answers: HashMap<CallId, u32> = HashMap::new();
        let mut collect = |wire: &mut Wire, cancelled: &[CallId]| {
            while let Some(event) = wire.connection.poll_event() {
                match event {
                    ClientEvent::Answer { call, .. } => {
                        assert!(!cancelled.contains(&call), "a cancelled call is answered");
                        *answers.entry(call).or_default() += 1;
                    }
                    ClientEvent::Progress { call, .. } | ClientEvent::Input { call, .. } | ClientEvent::Task { call, .. } => {
                        assert!(!answers.contains_key(&call) && !cancelled.contains(&call), "after the end");
                    }
                    _ => {}
                }
            }
            while wire.connection.poll_transmit().is_some() {}
        };
        for step in &steps {
            play(&mut wire, step);
            collect(&mut wire, &cancelled);
            if let Move::Cancel(call) = step && *call <= wire.calls {
                cancelled.push(CallId::new(*call));
            }
            if let Some(deadline) = wire.connection.deadline() {
                wire.connection.time(wire.now);
                prop_assert!(deadline > wire.now || wire.connection.deadline().is_none_or(|next| next > wire.now));
            }
        }
        wire.wait(Duration::from_secs(48 * 3600).as_secs());
        prop_assert_eq!(wire.connection.pending(), 0, "the time of every call is over");
        wire.connection.close(CloseReason::Requested);
        collect(&mut wire, &cancelled);
        prop_assert_eq!(wire.connection.pending(), 0);
        prop_assert_eq!(wire.connection.deadline(), None);
        for call in (1..=wire.calls).map(CallId::new) {
            let ended = answers.get(&call).copied().unwrap_or_default();
            let was_cancelled = cancelled.contains(&call);
            prop_assert!(ended == 1 || (was_cancelled && ended == 0), "{:?} ended {} times", call, ended);
        }
    }
}

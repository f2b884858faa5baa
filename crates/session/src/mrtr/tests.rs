//! Steps of a call and of its task, one after the other.

use std::time::{Duration, UNIX_EPOCH};

use protomcp_types::{
    CallTool, CallToolResult, ClientCapabilities, Elicit, Implementation, JsonObject, Method, ProtocolVersion,
};

use super::*;
use crate::task_view::TaskDetail;

type Call = RoundTrips<&'static str, CallOutcome>;

fn client(elicits: bool) -> Arc<ClientInfo> {
    let none = ClientCapabilities::new();
    let capabilities = if elicits { none.with("elicitation", RawJson::EMPTY_OBJECT) } else { none };
    let implementation = Implementation::new("test", "");
    Arc::new(ClientInfo { version: ProtocolVersion::NEWEST_STATEFUL, implementation, capabilities })
}

fn call_of(client: Arc<ClientInfo>, given: &[(&str, RawJson)]) -> Call {
    let binding = RequestBinding::new(CallTool::NAME, JsonObject::new(), None);
    RoundTrips::new("first", client, binding, answers(given), 3)
}

fn call() -> Call {
    call_of(client(true), &[])
}

fn answers(answers: &[(&str, RawJson)]) -> BTreeMap<String, RawJson> {
    answers.iter().map(|(key, answer)| ((*key).to_owned(), answer.clone())).collect()
}

fn accept() -> RawJson {
    RawJson::parse(r#"{"action":"accept"}"#).expect("JSON")
}

fn question(key: &str) -> InputRequest {
    InputRequest::of::<Elicit>(key.to_owned(), &Elicit::form("?", RawJson::EMPTY_OBJECT))
}

fn at(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(second)
}

fn done() -> CallOutcome {
    Some(Ok(CallToolResult::text("done").into()))
}

fn failed(text: &str) -> CallOutcome {
    Some(Ok(CallToolResult::error(text).into()))
}

impl Call {
    fn asks(&mut self, keys: &[&str]) -> Asked<&'static str> {
        let inputs = keys.iter().map(|key| question(key)).collect();
        self.ask(inputs, Instant::now() + Duration::from_secs(9), at(1)).expect("the client can be asked")
    }

    fn keys(&self) -> Vec<String> {
        self.questions.requests().keys().map(str::to_owned).collect()
    }

    fn ends(&mut self, outcome: CallOutcome) -> Finished<&'static str, CallOutcome> {
        self.finish(outcome, |outcome| outcome)
    }

    /// Becomes a task.
    fn detached(mut self) -> Self {
        assert_eq!(self.want_task(), Some("first"));
        assert!(self.detach("7", TaskOptions::default(), at(0)).is_some_and(|detached| detached.outcome.is_none()));
        self
    }

    fn detail(&self) -> TaskDetail {
        self.view().expect("the call is a task").detail
    }
}

#[test]
fn an_attached_call_replies_to_its_request() {
    let mut call = call();
    assert!(matches!(call.ends(done()), Finished::Reply("first", Some(Ok(_)))));
    assert!(call.target().is_none() && call.binding().is_some());
    assert!(matches!(call.ask(vec![question("")], Instant::now(), at(1)), Err(AskError::Gone)));
}

#[test]
fn keys_follow_from_kind_and_place_and_are_unique() {
    let mut call = call();
    call.asks(&["", "who"]);
    call.asks(&["who"]);
    assert_eq!(call.keys(), ["elicitation-1", "who", "who'"]);
    assert!(matches!(call.ask(vec![question("")], Instant::now(), at(1)), Err(AskError::TooMany)));
}

#[test]
fn an_answer_that_came_along_is_used_if_it_can_be_read() {
    let mut call = call_of(client(true), &[("who", accept()), ("bad", RawJson::EMPTY_OBJECT)]);
    let asked = call.asks(&["who"]);
    assert_eq!((asked.inputs[0].answer.as_ref(), asked.target), (Some(&accept()), None));
    let asked = call.asks(&["bad"]);
    assert_eq!((asked.inputs[0].answer.as_ref(), asked.target), (None, Some("first")));
}

#[test]
fn a_parked_call_continues_with_the_next_request() {
    let mut call = call();
    assert!(call.parks_until().is_none());
    call.asks(&["a", "b"]);
    assert!(call.parks_until().is_some());
    assert_eq!(call.park().keys().count(), 2);
    assert!(call.target().is_none() && call.parks_until().is_none() && call.want_task().is_none());
    assert_eq!(call.asks(&["c"]).target, None, "it waits for another request");
    let resumed = call.resume("second", client(true), answers(&[("a", accept()), ("z", accept())]));
    assert!(matches!(resumed, Resumed::Asking(given) if given == [(1, accept())]));
    assert_eq!((call.target(), call.keys()), (Some(&"second"), vec!["b".to_owned(), "c".to_owned()]));
    assert!(call.withdraw(2, at(1)) && !call.withdraw(2, at(1)));
    call.park();
    let resumed = call.resume("third", client(true), answers(&[("c", accept())]));
    assert!(matches!(resumed, Resumed::Running(given) if given == [(3, accept())]));
    assert!(matches!(call.ends(done()), Finished::Reply("third", _)));
}

#[test]
fn a_call_that_ends_while_parked_waits_for_its_client() {
    let mut call = call();
    call.asks(&["a"]);
    call.park();
    assert!(matches!(call.ends(done()), Finished::Kept));
    assert!(matches!(call.resume("second", client(true), answers(&[])), Resumed::Ended(Some(Ok(_)))));
}

#[test]
fn a_call_that_detaches_is_not_parked() {
    let mut call = call();
    call.asks(&["a"]);
    assert_eq!((call.want_task(), call.want_task()), (Some("first"), None));
    assert!(call.is_task() && call.target().is_none() && call.parks_until().is_none());
    assert!(call.stay(|outcome| outcome).is_none());
    assert!(!call.is_task() && call.parks_until().is_some(), "it could not become a task");
    assert_eq!(call.target(), Some(&"first"));
}

#[test]
fn a_call_that_ends_while_it_detaches_ends_either_way() {
    let ended = || {
        let mut call = call();
        call.want_task();
        assert!(matches!(call.ends(done()), Finished::Kept));
        call
    };
    assert!(matches!(ended().stay(|outcome| outcome), Some(Some(Ok(_)))));
    let mut task = ended();
    let detached = task.detach("7", TaskOptions::default(), at(0)).expect("it has asked for it");
    task.end_task(detached.outcome.expect("it has ended"), at(1));
    assert!(matches!(task.detail(), TaskDetail::Completed(_)) && task.binding().is_none());
}

#[test]
fn a_task_asks_through_itself_and_uses_no_key_twice() {
    let mut task = call().detached();
    assert_eq!(task.asks(&["a"]).target, None);
    assert!(matches!(task.detail(), TaskDetail::Asking(_)));
    assert_eq!(task.answer(answers(&[("a", accept())]), at(5)), [(1, accept())]);
    assert!(matches!(task.detail(), TaskDetail::Working));
    assert_eq!(task.view().map(|view| view.updated), Some(at(5)));
    task.asks(&["a"]);
    assert_eq!(task.keys(), ["a'"]);
    assert!(matches!(task.ends(done()), Finished::Task(Some(Ok(_)))) && task.binding().is_none());
}

#[test]
fn a_cancelled_task_takes_nothing_more() {
    let mut task = call().detached();
    task.asks(&["a"]);
    assert!(task.cancel(at(2)) && !task.cancel(at(3)));
    assert!(matches!(task.ask(vec![question("")], Instant::now(), at(4)), Err(AskError::Gone)));
    assert!(!task.set_message("late", at(4)));
    assert!(matches!(task.ends(done()), Finished::Kept));
    assert!(matches!(task.detail(), TaskDetail::Cancelled));
}

#[test]
fn a_task_that_is_dropped_is_cancelled_with_its_message() {
    let mut task = call().detached();
    assert!(task.set_message("half", at(1)));
    let Finished::Task(outcome) = task.ends(None) else { panic!("it is a task") };
    task.end_task(outcome, at(2));
    let view = task.view().expect("the call is a task");
    assert!(matches!(view.detail, TaskDetail::Cancelled) && view.message.as_deref() == Some("half"));
}

#[test]
fn a_message_before_the_task_is_its_first() {
    let mut call = call();
    assert!(!call.set_message("ignored", at(0)));
    call.want_task();
    assert!(!call.set_message("early", at(0)));
    call.detach("7", TaskOptions::default(), at(0));
    assert_eq!(call.view().and_then(|view| view.message).as_deref(), Some("early"));
}

#[test]
fn a_failure_after_a_refusal_names_the_missing_capability() {
    let refusal = AskError::NotSupported(Elicit::NAME).to_string();
    for (outcome, is_named) in [(failed(&refusal), true), (failed("no luck"), false), (done(), false)] {
        let mut call = call_of(client(false), &[]);
        assert!(call.ask(vec![question("")], Instant::now(), at(1)).is_err());
        let Finished::Reply(_, Some(outcome)) = call.ends(outcome) else { panic!("its request waits") };
        assert_eq!(outcome.is_err(), is_named);
    }
}

#[test]
fn a_failed_handler_gets_the_input_that_it_requires() {
    for (outcome, is_asked) in [(failed("first ask"), true), (done(), false)] {
        let mut call = call();
        call.require(InputRequired::default());
        let Finished::Reply(_, Some(Ok(result))) = call.ends(outcome) else { panic!("its request waits") };
        assert_eq!(matches!(result, ServerResult::InputRequired(_)), is_asked);
    }
}

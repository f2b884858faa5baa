//! Messages of a client over several connections arrive in any order, twice, or too late.
//!
//! Requests, their duplicates, cancellations, answers to questions, cuts and returns come in random order; a model
//! computes how each request must end. The meaning of a message does not depend on the messages that overtook it: a
//! cancellation is for a running request, an answer is for an open question, once, and a message that comes too early
//! or too late has no effect.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use http::{Request, Response};
use http_body::Body as _;
use proptest::prelude::*;
use protomcp_http::Body;
use protomcp_testing::in_time;
use serde_json::{Value, json};

use super::client::{Event, call, done, full, initialize};
use super::handler::Stage;

/// The next message. The number is the id of a request.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A call that asks its client a question, also while an earlier one with this id runs.
    Call(u64),
    /// A call that is answered immediately.
    Echo(u64),
    Cancel(u64),
    /// The answer to the last question that the client has read, also if it has answered it.
    Answer(u64),
    /// An answer to a question that was never asked.
    Stray(u64),
    /// The client reads this many pieces and disconnects; this many more were in flight.
    Cut(u64, usize, usize),
    /// The client resumes after the last event that it has read, also if it is still connected.
    Return(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = || 1..4_u64;
    let step = prop_oneof![
        4 => id().prop_map(Step::Call),
        1 => id().prop_map(Step::Echo),
        2 => id().prop_map(Step::Cancel),
        4 => id().prop_map(Step::Answer),
        1 => (90..99_u64).prop_map(Step::Stray),
        2 => (id(), 0..3_usize, 0..3_usize).prop_map(|(id, pieces, lost)| Step::Cut(id, pieces, lost)),
        2 => id().prop_map(Step::Return),
    ];
    prop::collection::vec(step, 0..60)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Runs,
    /// The answer names this many roots.
    Answered(usize),
    Cancelled,
}

/// One life of a request, and the events of it that its client has read.
struct Run {
    id: u64,
    outcome: Outcome,
    body: Option<Body>,
    /// The beginning of an event.
    left: String,
    events: Vec<Event>,
}

impl Run {
    fn connect(&mut self, response: Response<Body>) {
        self.left.clear();
        self.body = Some(response.into_body());
    }

    /// Reads this many pieces, as far as they have arrived.
    async fn read(&mut self, pieces: usize) {
        for _ in 0..pieces {
            let Some(body) = &mut self.body else { return };
            let piece = poll_fn(|cx| match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Ready(frame) => Poll::Ready(Some(frame)),
                Poll::Pending => Poll::Ready(None),
            });
            match piece.await {
                None => return,
                Some(None) => self.body = None,
                Some(Some(frame)) => {
                    let data = frame.unwrap().into_data().unwrap();
                    self.left.push_str(std::str::from_utf8(&data).unwrap());
                    while let Some(end) = self.left.find("\n\n") {
                        let block: String = self.left.drain(..end + 2).collect();
                        self.events.extend(Event::parse(&block));
                    }
                }
            }
        }
    }

    fn messages(&self) -> impl Iterator<Item = Value> {
        let with_message = self.events.iter().filter(|event| !event.data.is_empty());
        with_message.map(|event| serde_json::from_str(&event.data).unwrap())
    }

    fn question(&self) -> Option<Value> {
        self.messages().filter(|message| message["method"] == "roots/list").last().map(|mut asked| asked["id"].take())
    }

    fn check(&self) {
        let ids: Vec<_> = self.events.iter().filter_map(|event| event.id.clone()).collect();
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), distinct.len(), "an event has come twice: {ids:?}");
        let answers: Vec<_> = self
            .messages()
            .filter(|message| message.get("method").is_none())
            .map(|answer| answer.to_string())
            .collect();
        let expected = match self.outcome {
            Outcome::Runs => panic!("request {} was not ended", self.id),
            Outcome::Answered(roots) => vec![done(self.id, &format!("{roots} roots"))],
            Outcome::Cancelled => Vec::new(),
        };
        let expected: Vec<_> =
            expected.iter().map(|answer| serde_json::from_str::<Value>(answer).unwrap().to_string()).collect();
        assert_eq!(answers, expected, "request {}", self.id);
    }
}

struct World {
    stage: Stage,
    session: String,
    runs: BTreeMap<u64, Run>,
    over: Vec<Run>,
    roots: usize,
}

impl World {
    async fn new() -> Self {
        let mut world = Self {
            stage: Stage::local().await,
            session: String::new(),
            runs: BTreeMap::new(),
            over: Vec::new(),
            roots: 0,
        };
        let hello = world.send("POST", &initialize("2025-11-25", r#"{"roots":{}}"#), None).await;
        world.session = hello.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        world.tell(r#"{"method":"notifications/initialized"}"#).await;
        world
    }

    async fn send(&self, method: &str, message: &str, last: Option<&str>) -> Response<Body> {
        let mut request = Request::builder()
            .method(method)
            .uri("http://localhost/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in [("mcp-session-id", Some(self.session.as_str())), ("last-event-id", last)] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                request = request.header(name, value);
            }
        }
        let body = axum::body::Body::from(full(message));
        let answer = in_time(self.stage.service.handle(request.body(body).unwrap())).await;
        let answer = answer.unwrap_or_else(|_| panic!("no answer to {message}"));
        // Lets every task run until it waits.
        for _ in 0..32 {
            tokio::task::yield_now().await;
        }
        answer
    }

    async fn tell(&self, message: &str) {
        assert_eq!(self.send("POST", message, None).await.status(), 202, "{message}");
    }

    fn is_running(&self, id: u64) -> bool {
        self.runs.get(&id).is_some_and(|run| run.outcome == Outcome::Runs)
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Call(id) => self.call(id).await,
            Step::Echo(id) => {
                let answer = self.send("POST", &call(id, "echo x"), None).await;
                assert_eq!(answer.status(), if self.is_running(id) { 400 } else { 200 }, "{id}");
            }
            Step::Cancel(id) => {
                let params = json!({"requestId": id});
                self.tell(&format!(r#"{{"method":"notifications/cancelled","params":{params}}}"#)).await;
                if self.is_running(id) {
                    self.runs.get_mut(&id).unwrap().outcome = Outcome::Cancelled;
                }
            }
            Step::Answer(id) => self.answer(id).await,
            Step::Stray(number) => self.tell(&format!(r#"{{"id":{number},"result":{{"roots":[]}}}}"#)).await,
            Step::Cut(id, pieces, lost) => {
                if let Some(run) = self.runs.get_mut(&id) {
                    run.read(pieces).await;
                    let read = run.events.len();
                    run.read(lost).await;
                    run.events.truncate(read);
                    run.body = None;
                }
            }
            Step::Return(id) => {
                if let Some(run) = self.runs.remove(&id) {
                    let run = self.come_back(run).await;
                    self.runs.insert(id, run);
                }
            }
        }
    }

    async fn call(&mut self, id: u64) {
        let response = self.send("POST", &call(id, "roots"), None).await;
        if self.is_running(id) {
            assert_eq!(response.status(), 400, "{id} is in use");
            return;
        }
        assert_eq!(response.status(), 200, "{id}");
        let mut run = Run { id, outcome: Outcome::Runs, body: None, left: String::new(), events: Vec::new() };
        run.connect(response);
        // A client that has read nothing has nothing to come back to.
        run.read(1).await;
        assert_eq!(run.events.len(), 1, "the opening");
        self.over.extend(self.runs.insert(id, run));
    }

    async fn answer(&mut self, id: u64) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.read(usize::MAX).await;
        let Some(question) = run.question() else { return };
        self.roots += 1;
        let roots = vec![json!({"uri": "file:///x"}); self.roots];
        let answer = json!({"id": question, "jsonrpc": "2.0", "result": {"roots": roots}});
        self.tell(&answer.to_string()).await;
        let run = self.runs.get_mut(&id).unwrap();
        if run.outcome == Outcome::Runs {
            run.outcome = Outcome::Answered(self.roots);
        }
    }

    async fn come_back(&self, mut run: Run) -> Run {
        let last = run.events.iter().rev().find_map(|event| event.id.clone()).unwrap();
        let response = self.send("GET", "", Some(&last)).await;
        match response.status().as_u16() {
            200 => run.connect(response),
            // Nothing may be left of a cancelled call.
            400 => assert_eq!(run.outcome, Outcome::Cancelled, "{} is lost", run.id),
            status => panic!("{status}"),
        }
        run
    }

    /// The client reads everything that it is owed, and answers the open questions.
    async fn settle(mut self) {
        for id in self.runs.keys().copied().collect::<Vec<_>>() {
            self.step(Step::Return(id)).await;
            if self.is_running(id) {
                self.step(Step::Answer(id)).await;
            }
        }
        for run in std::mem::take(&mut self.runs).into_values().chain(std::mem::take(&mut self.over)) {
            let mut run = self.come_back(run).await;
            run.read(usize::MAX).await;
            assert!(run.body.is_none(), "the response of {} does not end", run.id);
            run.check();
        }
    }
}

fn run(steps: Vec<Step>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let mut world = World::new().await;
        for step in steps {
            world.step(step).await;
        }
        world.settle().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn each_request_ends_once_in_any_order_of_messages(steps in steps()) {
        run(steps);
    }
}

#[test]
fn early_and_late_messages_do_nothing() {
    use Step::{Answer, Call, Cancel, Cut, Echo, Return, Stray};
    for steps in [
        // The cancellation overtakes its request.
        vec![Cancel(1), Call(1), Answer(1)],
        // It overtakes the answer, and the other way round.
        vec![Call(1), Cancel(1), Answer(1), Call(1), Answer(1)],
        vec![Call(1), Answer(1), Cancel(1)],
        // A request comes twice: during the first, and after its end.
        vec![Call(1), Call(1), Echo(1), Answer(1), Call(1), Answer(1)],
        // The answer comes while the client is away, and again when it is back.
        vec![Call(1), Answer(1), Cut(1, 0, 2), Return(1)],
        vec![Call(1), Cut(1, 9, 0), Answer(1), Answer(1), Return(1), Answer(1)],
        // Two calls are answered in reverse order; one is cancelled while the client is away.
        vec![Call(1), Call(2), Call(3), Cut(2, 0, 1), Stray(95), Answer(3), Answer(1), Return(2), Cancel(2), Answer(2)],
        // A second stream replaces the first.
        vec![Call(1), Return(1), Return(1), Cut(1, 0, 1), Return(1), Answer(1)],
    ] {
        run(steps);
    }
}

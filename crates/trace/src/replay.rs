//! A recorded conversation, held again with a server of today.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Value, json};

use crate::compare::{Comparison, Difference, short};
use crate::message::{answer, notification, request, title};
use crate::recording::{Entry, Party, Recording, Wire};
use crate::redacted::REDACTED;

/// The most messages of a server that are kept for comparison.
const MAX_KEPT: usize = 100_000;

/// Notifications whose number and words depend on time, and are not compared.
const UNSTEADY: [&str; 2] = ["notifications/message", "notifications/cancelled"];

/// The next step of a [`Replay`].
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send this message to the server.
    Send(Value),
    /// Wait for a message of the server: this one of the trace.
    Wait(String),
    /// The trace has ended.
    Done,
}

/// A trace in the hands of a client: it says what to send next, and compares what arrives.
#[derive(Debug)]
pub struct Replay {
    entries: Vec<(Party, Value)>,
    /// The numbers of their lines.
    lines: Vec<usize>,
    /// The next entry.
    position: usize,
    comparison: Comparison,
    /// JSON pointers into messages that are not compared.
    ignored: Vec<String>,
    /// Answers outside the trace, so that the server goes on.
    replies: VecDeque<Value>,
    /// Answers of the server that were not compared yet, by their ids as JSON.
    answers: HashMap<String, Value>,
    /// Requests of the server that were not compared yet, by their methods.
    questions: HashMap<String, VecDeque<Value>>,
    /// The ids of questions of today, by the ids of the trace.
    ids: HashMap<String, Value>,
    /// The notifications of the server, by their methods.
    notifications: BTreeMap<String, Vec<Value>>,
    differences: Vec<Difference>,
}

impl Replay {
    /// A replay of this trace, which has one session ([`Recording::sessions`]). `ignored` are JSON pointers into messages, such as `/result/structuredContent/time`, whose
    /// values are not compared.
    #[must_use]
    pub fn new(trace: &Recording, comparison: Comparison, ignored: Vec<String>) -> Self {
        let spoken = || trace.entries.iter().filter(|entry| entry.from.wire() == Wire::Client);
        Self {
            entries: spoken().map(|entry| (entry.from, entry.message.clone())).collect(),
            lines: spoken().map(Entry::number).collect(),
            position: 0,
            comparison,
            ignored,
            replies: VecDeque::new(),
            answers: HashMap::new(),
            questions: HashMap::new(),
            ids: HashMap::new(),
            notifications: BTreeMap::new(),
            differences: Vec::new(),
        }
    }

    /// The next step.
    pub fn step(&mut self) -> Step {
        if let Some(reply) = self.replies.pop_front() {
            return Step::Send(reply);
        }
        while let Some((from, message)) = self.entries.get(self.position).cloned() {
            let step = match from {
                Party::Client => self.send(message),
                Party::Server => self.expect(&message),
                Party::Bridge | Party::Tool => None,
            };
            match step {
                Some(Step::Wait(what)) => return Step::Wait(what),
                Some(step) => {
                    self.position += 1;
                    return step;
                }
                None => self.position += 1,
            }
        }
        match self.missing_notification() {
            Some(method) => Step::Wait(method),
            None => Step::Done,
        }
    }

    /// The number of messages of the trace that were sent, compared or left out. While the same one is waited for it stays.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Takes a message of the server.
    pub fn receive(&mut self, message: Value) {
        if let Some((method, id)) = request(&message).map(|(method, id)| (method.to_owned(), id.clone())) {
            let later = &self.entries[self.position.min(self.entries.len())..];
            let is_recorded = |(from, entry): &&(Party, Value)| {
                *from == Party::Server && request(entry).is_some_and(|(known, _)| known == method)
            };
            let known = self.questions.get(&method).map_or(0, VecDeque::len);
            if later.iter().filter(is_recorded).count() > known {
                self.questions.entry(method).or_default().push_back(message);
            } else if method == "ping" {
                self.replies.push_back(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
            } else {
                let error = json!({"code": -32601, "message": "the trace has no such request"});
                self.replies.push_back(json!({"jsonrpc": "2.0", "id": id, "error": error}));
                self.differ(self.position, &message, "the server asks for it, and did not".into());
            }
        } else if let Some(id) = answer(&message) {
            if self.answers.len() < MAX_KEPT {
                self.answers.insert(id.to_string(), message);
            }
        } else if let Some(method) = notification(&message) {
            let all = self.notifications.entry(method.to_owned()).or_default();
            if all.len() < MAX_KEPT {
                all.push(message);
            }
        }
    }

    /// Ends the replay because the expected message did not come.
    pub fn give_up(&mut self, why: &str) {
        if let Some((_, message)) = self.entries.get(self.position).cloned() {
            let asked = self.request_of(&message).unwrap_or(message);
            self.differ(self.position, &asked, why.to_owned());
        }
        self.position = self.entries.len();
    }

    /// The differences so far, and the differences of the notifications, in the order of the trace.
    #[must_use]
    pub fn into_differences(mut self) -> Vec<Difference> {
        if self.comparison == Comparison::Strict {
            for (method, recorded) in self.recorded_notifications() {
                let now = folded(self.notifications.get(&method).cloned().unwrap_or_default());
                for (index, (position, message)) in recorded.iter().enumerate() {
                    match now.get(index) {
                        Some(found) => self.compare(*position, message, message, found),
                        None => self.differ(*position, message, "it did not come".into()),
                    }
                }
                if let (Some((position, message)), true) = (recorded.last(), now.len() > recorded.len()) {
                    let more = now.len() - recorded.len();
                    self.differ(
                        *position,
                        message,
                        format!("{more} more came, such as {}", short(&now[recorded.len()])),
                    );
                }
            }
        }
        self.differences.sort_by_key(|difference| difference.line);
        self.differences
    }

    /// A message of the client, with the id that the server's question has today.
    fn send(&self, mut message: Value) -> Option<Step> {
        let Some(id) = answer(&message) else { return Some(Step::Send(message)) };
        // Without the question there is nothing to answer; the difference is known.
        message["id"] = self.ids.get(&id.to_string())?.clone();
        Some(Step::Send(message))
    }

    /// A message of the server: waits for it and compares it. Notifications are compared at the end.
    fn expect(&mut self, expected: &Value) -> Option<Step> {
        if let Some((method, id)) = request(expected) {
            let Some(found) = self.questions.get_mut(method).and_then(VecDeque::pop_front) else {
                return Some(Step::Wait(title(expected)));
            };
            self.ids.insert(id.to_string(), found["id"].clone());
            self.compare(self.position, expected, expected, &found);
        } else if let Some(id) = answer(expected).filter(|id| !id.is_null()) {
            // An error without an id answers no request of its sender, such as a batch that was refused.
            let asked = self.request_of(expected).unwrap_or_default();
            let Some(found) = self.answers.remove(&id.to_string()) else {
                return Some(Step::Wait(format!("the answer to {}", title(&asked))));
            };
            self.compare(self.position, &asked, expected, &found);
        }
        None
    }

    /// The client's request before this answer.
    fn request_of(&self, expected: &Value) -> Option<Value> {
        let id = answer(expected)?;
        let before = self.entries[..self.position].iter().rev();
        let asks = |(from, message): &&(Party, Value)| {
            *from == Party::Client && request(message).is_some_and(|(_, known)| known == id)
        };
        before.into_iter().find(asks).map(|(_, message)| message.clone())
    }

    fn compare(&mut self, position: usize, titled: &Value, expected: &Value, found: &Value) {
        let steady = |message: &Value| {
            let mut message = message.clone();
            if let Some(members) = message.as_object_mut() {
                members.remove("id");
            }
            // A newer program may behave the same.
            for pointer in self.ignored.iter().map(String::as_str).chain(["/result/serverInfo"]) {
                remove(&mut message, pointer);
            }
            message
        };
        let sent = titled["params"].to_string();
        for mut what in self.comparison.differences(&steady(expected), &steady(found)) {
            if sent.contains(REDACTED) {
                what += "; the request had a secret, and was sent with `[redacted]`: put a value there";
            }
            self.differ(position, titled, what);
        }
    }

    fn differ(&mut self, position: usize, titled: &Value, what: String) {
        // The end of the trace has the line of its last message.
        let line = self.lines.get(position).or(self.lines.last()).copied().unwrap_or_default();
        self.differences.push(Difference { line, title: title(titled), what });
    }

    /// The notifications of the trace, by their methods.
    fn recorded_notifications(&self) -> BTreeMap<String, Vec<(usize, Value)>> {
        let mut all: BTreeMap<String, Vec<(usize, Value)>> = BTreeMap::new();
        for (position, (from, message)) in self.entries.iter().enumerate() {
            if let (Party::Server, Some(method)) = (from, notification(message))
                && !UNSTEADY.contains(&method)
            {
                let known = all.entry(method.to_owned()).or_default();
                if known.last().is_none_or(|(_, last)| last != message) {
                    known.push((position, message.clone()));
                }
            }
        }
        all
    }

    /// A notification that has not come yet, where it matters.
    fn missing_notification(&self) -> Option<String> {
        if self.comparison == Comparison::Shape {
            return None;
        }
        let missing = |(method, recorded): (String, Vec<(usize, Value)>)| {
            let now = self.notifications.get(&method).cloned().unwrap_or_default();
            (folded(now).len() < recorded.len()).then_some(method)
        };
        self.recorded_notifications().into_iter().find_map(missing)
    }
}

/// Without repetitions: a change that is announced twice is one change.
fn folded(mut messages: Vec<Value>) -> Vec<Value> {
    messages.dedup();
    messages
}

/// Takes a value out of a message.
fn remove(message: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    let name = name.replace("~1", "/").replace("~0", "~");
    match message.pointer_mut(parent) {
        Some(Value::Object(members)) => _ = members.remove(&name),
        Some(Value::Array(values)) => {
            if let Some(value) = name.parse::<usize>().ok().and_then(|index| values.get_mut(index)) {
                *value = Value::Null;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(lines: &[(Party, Value)]) -> Recording {
        let mut trace = Recording::new("test");
        lines.iter().for_each(|(from, message)| trace.push(0, *from, message.clone()));
        trace
    }

    fn call(id: u64) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "add"}})
    }

    fn text(id: u64, text: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})
    }

    #[test]
    fn calls_that_overlapped_overlap_again() {
        use Party::{Client, Server};
        let lines = [(Client, call(1)), (Client, call(2)), (Server, text(2, "b")), (Server, text(1, "a"))];
        let mut replay = Replay::new(&trace(&lines), Comparison::Strict, Vec::new());
        assert_eq!(replay.step(), Step::Send(call(1)));
        assert_eq!(replay.step(), Step::Send(call(2)));
        assert_eq!(replay.step(), Step::Wait("the answer to tools/call add".into()));
        replay.receive(text(1, "a"));
        replay.receive(text(2, "c"));
        assert_eq!(replay.step(), Step::Done);
        let differences: Vec<_> = replay.into_differences().iter().map(ToString::to_string).collect();
        assert_eq!(differences, ["line 4, tools/call add: /result/content/0/text is \"c\", and was \"b\""]);
    }

    #[test]
    fn an_error_without_an_id_is_not_waited_for() {
        use Party::{Client, Server};
        let refused = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no batches"}});
        let lines = [(Client, call(1)), (Server, refused), (Client, call(2)), (Server, text(2, "a"))];
        let mut replay = Replay::new(&trace(&lines), Comparison::Strict, Vec::new());
        assert_eq!(replay.step(), Step::Send(call(1)));
        assert_eq!(replay.step(), Step::Send(call(2)));
        replay.receive(text(2, "a"));
        assert_eq!(replay.step(), Step::Done);
        assert_eq!(replay.into_differences(), []);
    }

    #[test]
    fn a_difference_after_a_redacted_request_says_so() {
        use Party::{Client, Server};
        let mut asked = call(1);
        asked["params"]["arguments"] = json!({"pin": REDACTED});
        let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "pin is not an integer"}});
        let mut replay =
            Replay::new(&trace(&[(Client, asked), (Server, text(1, "in"))]), Comparison::Shape, Vec::new());
        replay.step();
        replay.receive(error);
        replay.step();
        let differences = replay.into_differences();
        assert!(differences.iter().all(|found| found.what.contains("put a value there")), "{differences:?}");
        assert!(!differences.is_empty());
    }

    #[test]
    fn questions_are_answered_with_the_ids_of_today() {
        use Party::{Client, Server};
        let question = |id: &str| json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": {}});
        let reply = |id: &str| json!({"jsonrpc": "2.0", "id": id, "result": {"text": "hi"}});
        let lines = [(Client, call(1)), (Server, question("old")), (Client, reply("old")), (Server, text(1, "a"))];
        let mut replay = Replay::new(&trace(&lines), Comparison::Strict, Vec::new());
        assert_eq!(replay.step(), Step::Send(call(1)));
        replay.receive(question("new"));
        assert_eq!(replay.step(), Step::Send(reply("new")));
        replay.receive(question("more"));
        replay.receive(json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}));
        let Step::Send(refused) = replay.step() else { panic!("it is answered") };
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("more"), &json!(-32601)));
        assert_eq!(replay.step(), Step::Send(json!({"jsonrpc": "2.0", "id": 9, "result": {}})));
        replay.receive(text(1, "a"));
        assert_eq!(replay.step(), Step::Done);
        assert_eq!(replay.into_differences().len(), 1);
    }

    #[test]
    fn notifications_are_compared_without_repetitions() {
        use Party::{Client, Server};
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}});
        let lines = [(Client, call(1)), (Server, changed.clone()), (Server, log), (Server, text(1, "a"))];
        let mut replay = Replay::new(&trace(&lines), Comparison::Strict, Vec::new());
        replay.step();
        replay.receive(text(1, "a"));
        assert_eq!(replay.step(), Step::Wait("notifications/tools/list_changed".into()));
        replay.receive(changed.clone());
        replay.receive(changed);
        assert_eq!(replay.step(), Step::Done);
        assert_eq!(replay.into_differences(), []);
        let mut replay = Replay::new(&trace(&lines), Comparison::Shape, Vec::new());
        replay.step();
        replay.receive(text(1, "b"));
        assert_eq!(replay.step(), Step::Done, "the shape is enough");
    }

    #[test]
    fn what_is_ignored_may_differ() {
        use Party::{Client, Server};
        let answer =
            |time: u64| json!({"jsonrpc": "2.0", "id": 1, "result": {"time": time, "serverInfo": {"version": time}}});
        let lines = [(Client, call(1)), (Server, answer(1))];
        for (ignored, count) in [(vec![], 1), (vec!["/result/time".to_owned()], 0)] {
            let mut replay = Replay::new(&trace(&lines), Comparison::Strict, ignored);
            replay.step();
            replay.receive(answer(2));
            replay.step();
            assert_eq!(replay.into_differences().len(), count);
        }
        let mut replay = Replay::new(&trace(&lines), Comparison::Strict, Vec::new());
        replay.step();
        replay.give_up("no answer within 1s");
        assert_eq!(replay.into_differences()[0].to_string(), "line 3, tools/call add: no answer within 1s");
    }
}

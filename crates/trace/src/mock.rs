//! Answers from a trace, in place of its server.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::answers::Answers;
use crate::compare::{Comparison, short};
use crate::message::{notification, request, title};
use crate::recording::{Entry, Party, Recording};

/// Requests whose answer does not depend on their parameters.
const OPENING: [&str; 2] = ["initialize", "server/discover"];

/// The most recorded requests that an error names.
const MAX_NAMED: usize = 3;

/// Answers hosts as the recorded server did.
///
/// A request gets the answer of the recorded one with the same method and parameters; `_meta` does not matter. If it
/// was recorded several times, its answers come in turn, and the last one stays. Notifications that came before an
/// answer come again, the notifications of progress with the token of today. Questions of the server are not asked.
#[derive(Debug)]
pub struct Mock {
    recorded: Vec<Recorded>,
    /// The notifications of the server, with their positions in the sessions one after the other.
    notifications: Vec<(usize, Value)>,
    /// The answers given so far, by the index of the first that fits.
    given: HashMap<usize, usize>,
}

/// A request of the trace.
#[derive(Debug)]
struct Recorded {
    request: Value,
    /// Without the id.
    answer: Map<String, Value>,
    /// The positions between the request and its answer, in the sessions one after the other.
    between: Range<usize>,
}

impl Mock {
    /// A server from the sessions of this trace. Requests without an answer are left out.
    #[must_use]
    pub fn new(trace: &Recording) -> Self {
        let mut mock = Self { recorded: Vec::new(), notifications: Vec::new(), given: HashMap::new() };
        let mut offset = 0;
        for session in trace.sessions() {
            mock.learn(&session.entries, offset);
            offset += session.entries.len();
        }
        mock
    }

    /// Takes the messages of a session, whose positions begin at `offset`.
    fn learn(&mut self, entries: &[Entry], offset: usize) {
        let answers = Answers::of(entries);
        for (position, entry) in entries.iter().enumerate() {
            if entry.from == Party::Server && notification(&entry.message).is_some() {
                self.notifications.push((offset + position, entry.message.clone()));
            }
            let Some((_, id)) = request(&entry.message).filter(|_| entry.from == Party::Client) else { continue };
            let Some(end) = answers.after(position, Party::Server, id) else { continue };
            let found = entries.get(end).and_then(|entry| entry.message.as_object().cloned());
            let Some(mut found) = found else { continue };
            found.remove("id");
            let between = offset + position..offset + end;
            self.recorded.push(Recorded { request: entry.message.clone(), answer: found, between });
        }
    }

    /// The number of requests that it can answer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.recorded.len()
    }

    /// True if it can answer nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recorded.is_empty()
    }

    /// The messages for the host in return for one of the host's; none for a notification.
    pub fn answer(&mut self, message: &Value) -> Vec<Value> {
        let Some((method, id)) = request(message) else { return Vec::new() };
        let fits = |recorded: &&(usize, &Recorded)| {
            let (_, Recorded { request, .. }) = recorded;
            request["method"] == method && (OPENING.contains(&method) || are_equal(request, message))
        };
        let all: Vec<(usize, &Recorded)> = self.recorded.iter().enumerate().collect();
        let fitting: Vec<&(usize, &Recorded)> = all.iter().filter(fits).collect();
        let Some((first, _)) = fitting.first() else {
            return vec![self.refusal(method, id, message)];
        };
        let given = self.given.entry(*first).or_default();
        let (_, recorded) = fitting[(*given).min(fitting.len() - 1)];
        *given += 1;
        let token = &message["params"]["_meta"]["progressToken"];
        let Range { start, end } = recorded.between;
        let first = self.notifications.partition_point(|(position, _)| *position < start);
        let between = self.notifications.iter().skip(first).take_while(|(position, _)| *position < end);
        let mut all: Vec<Value> = between.filter_map(|(_, one)| with_token(one, token)).collect();
        let mut found = recorded.answer.clone();
        found.insert("id".into(), id.clone());
        all.push(Value::Object(found));
        all
    }

    fn refusal(&self, method: &str, id: &Value, message: &Value) -> Value {
        if method == "ping" {
            return json!({"jsonrpc": "2.0", "id": id, "result": {}});
        }
        let wanted = title(message);
        let same: Vec<&Recorded> = self.recorded.iter().filter(|one| title(&one.request) == wanted).collect();
        let error = if same.is_empty() {
            let code = if self.recorded.iter().any(|one| one.request["method"] == method) { -32602 } else { -32601 };
            json!({"code": code, "message": format!("the trace has no {wanted}")})
        } else {
            let known = same.iter().take(MAX_NAMED).map(|one| short(&parameters(&one.request)));
            let known = known.collect::<Vec<_>>().join(", ");
            json!({"code": -32602, "message": format!("the trace has no {wanted} with these parameters, but with {known}")})
        };
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// The parameters without `_meta`. Absent arguments are empty ones.
fn parameters(request: &Value) -> Value {
    let mut params = request["params"].as_object().cloned().unwrap_or_default();
    params.remove("_meta");
    if params.get("arguments").is_some_and(|arguments| arguments.is_null() || *arguments == json!({})) {
        params.remove("arguments");
    }
    Value::Object(params)
}

fn are_equal(recorded: &Value, message: &Value) -> bool {
    Comparison::Strict.differences(&parameters(recorded), &parameters(message)).is_empty()
}

/// The notification for a request with this token. Progress without a token goes nowhere.
fn with_token(notification: &Value, token: &Value) -> Option<Value> {
    let mut notification = notification.clone();
    if notification["method"] == "notifications/progress" {
        if token.is_null() {
            return None;
        }
        notification["params"]["progressToken"] = token.clone();
    }
    Some(notification)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mock() -> Mock {
        use Party::{Client, Server};
        let call = |id: u64, a: u64| json!({"id": id, "method": "tools/call", "params": {"name": "add", "arguments": {"a": a}, "_meta": {"progressToken": 1}}});
        let mut trace = Recording::new("test");
        for (from, message) in [
            (Client, json!({"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "x"}}})),
            (Server, json!({"id": 0, "result": {"protocolVersion": "2025-11-25"}})),
            (Client, json!({"id": 1, "method": "tools/list"})),
            (Server, json!({"id": 1, "result": {"tools": [1]}})),
            (Client, call(2, 1)),
            (Server, json!({"method": "notifications/progress", "params": {"progressToken": 1, "progress": 5}})),
            (Server, json!({"id": 2, "result": "one"})),
            (Client, json!({"id": 3, "method": "tools/list", "params": {}})),
            (Server, json!({"id": 3, "result": {"tools": [1, 2]}})),
            (Client, call(4, 2)),
        ] {
            trace.push(0, from, message);
        }
        Mock::new(&trace)
    }

    #[test]
    fn answers_come_in_turn_and_the_last_one_stays() {
        let mut mock = mock();
        assert_eq!((mock.len(), mock.is_empty()), (4, false));
        let opened = mock.answer(&json!({"id": "a", "method": "initialize", "params": {"clientInfo": {"name": "y"}}}));
        assert_eq!(opened, [json!({"id": "a", "result": {"protocolVersion": "2025-11-25"}})]);
        assert_eq!(mock.answer(&json!({"method": "notifications/initialized"})), Vec::<Value>::new());
        for tools in [json!([1]), json!([1, 2]), json!([1, 2])] {
            let list = mock.answer(&json!({"id": 7, "method": "tools/list", "params": {"_meta": {"x": 1}}}));
            assert_eq!(list, [json!({"id": 7, "result": {"tools": tools}})]);
        }
    }

    #[test]
    fn progress_has_the_token_of_today() {
        let call = |meta: Value| json!({"id": 7, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}, "_meta": meta}});
        let progress = json!({"method": "notifications/progress", "params": {"progressToken": "t", "progress": 5}});
        let result = json!({"id": 7, "result": "one"});
        assert_eq!(mock().answer(&call(json!({"progressToken": "t"}))), [progress, result.clone()]);
        assert_eq!(mock().answer(&call(json!({}))), [result]);
    }

    #[test]
    fn what_was_not_recorded_is_refused() {
        for (method, params, code, part) in [
            ("tools/call", json!({"name": "add", "arguments": {"a": 3}}), -32602, "with these parameters, but with {"),
            ("tools/call", json!({"name": "sub"}), -32602, "the trace has no tools/call sub"),
            ("prompts/list", json!({}), -32601, "the trace has no prompts/list"),
        ] {
            let refused = &mock().answer(&json!({"id": 1, "method": method, "params": params}))[0]["error"];
            assert!(refused["code"] == code && refused["message"].as_str().unwrap().contains(part), "{refused}");
        }
        assert_eq!(mock().answer(&json!({"id": 1, "method": "ping"}))[0]["result"], json!({}));
    }
}

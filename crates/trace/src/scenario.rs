//! A trace as a scenario: the same requests in their order, with the recorded answers as expectations.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::answers::Answers;
use crate::message::{notification, request};
use crate::recording::{Entry, Party, Recording};
use crate::redacted::REDACTED;

/// The most steps. A scenario can have no more.
const MAX_STEPS: usize = 10_000;
/// The beginning of a variable, which a scenario has as the value of a variable.
const BRACES: &str = "{{";

/// The most pages of a list.
const MAX_PAGES: usize = 1000;

/// The members of a step, in the order in which a person writes them.
type Step = Vec<(&'static str, Value)>;

/// The text of a scenario in YAML that a server with the behaviour of this trace passes. `title` names the trace.
///
/// Calls, lists, resources and prompts become steps, session after session, with the questions of the server and their answers. The expected texts
/// leave out what was redacted. Requests that open or watch the session, and those without an answer, are left out.
#[must_use]
pub fn scenario(trace: &Recording, title: &str) -> String {
    let mut steps: Vec<Step> = trace.sessions().iter().flat_map(|session| steps(&session.entries)).collect();
    steps.truncate(MAX_STEPS);
    let mut text = format!("# Made of {} by `pmcp scenario`.\n", title.replace(char::is_control, " "));
    let uses_braces = steps.iter().flatten().any(|(_, value)| has_braces(value));
    if uses_braces {
        text.push_str("variables: {braces: \"{{\"}\n");
    }
    text.push_str("steps:\n");
    for step in steps {
        for (index, (name, value)) in step.into_iter().enumerate() {
            let mark = if index == 0 { "  - " } else { "    " };
            let _always = writeln!(text, "{mark}{name}: {}", yaml(&guarded(value)));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// The steps of one session.
fn steps(entries: &[Entry]) -> Vec<Step> {
    let mut conversation = Conversation::of(entries);
    // The last one first: a question belongs to the request that began last.
    let mut steps: Vec<Step> = (0..entries.len()).rev().filter_map(|position| conversation.step(position)).collect();
    steps.reverse();
    steps
}

struct Conversation<'a> {
    entries: &'a [Entry],
    answers: Answers,
    /// The positions of the requests of the client.
    requests: Vec<usize>,
    /// The positions of requests for a later page, by their cursors.
    pages: HashMap<&'a str, Vec<usize>>,
    /// The positions of requests of the server that are not a part of a step yet.
    questions: BTreeSet<usize>,
    /// The positions of notifications of the server that are not a part of a step yet.
    notifications: BTreeSet<usize>,
}

impl<'a> Conversation<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        let answers = Answers::of(entries);
        let (mut requests, mut pages) = (Vec::new(), HashMap::<&str, Vec<usize>>::new());
        let (mut questions, mut notifications) = (BTreeSet::new(), BTreeSet::new());
        for (position, entry) in entries.iter().enumerate() {
            let is_request = request(&entry.message).is_some();
            match entry.from {
                Party::Client if is_request => {
                    requests.push(position);
                    if let Some(cursor) = entry.message["params"]["cursor"].as_str() {
                        pages.entry(cursor).or_default().push(position);
                    }
                }
                Party::Server if is_request => _ = questions.insert(position),
                Party::Server if notification(&entry.message).is_some() => _ = notifications.insert(position),
                Party::Client | Party::Server | Party::Bridge | Party::Tool => {}
            }
        }
        Self { entries, answers, requests, pages, questions, notifications }
    }

    /// The step of the request at this position, if it is one.
    fn step(&mut self, position: usize) -> Option<Step> {
        let entry = self.entries.get(position).filter(|entry| entry.from == Party::Client)?;
        let (method, _) = request(&entry.message)?;
        let (end, found) = self.answer_to(position, &entry.message)?;
        let params = &entry.message["params"];
        let named = |word: &'static str, member: &str| vec![(word, params[member].clone())];
        let mut step = match method {
            "tools/call" => with_arguments(named("call", "name"), params),
            "prompts/get" => with_arguments(named("prompt", "name"), params),
            "resources/read" => named("read", "uri"),
            _ => return self.list(method, params, position, found),
        };
        if found["result"]["resultType"] == "input_required" {
            return None;
        }
        let mut expected = expectation(found);
        if method == "tools/call" {
            let questions = self.questions(position, end);
            if !questions.is_empty() {
                step.push(("questions", questions.into()));
            }
            let changes = self.changes(position, end);
            if !changes.is_empty() {
                expected.insert("changes".into(), changes.into());
            }
        }
        if !expected.is_empty() {
            step.push(("expect", expected.into()));
        }
        Some(step)
    }

    /// The step of a list. Later pages are a part of the first.
    fn list(&self, method: &str, params: &Value, position: usize, found: &Value) -> Option<Step> {
        let (word, member) = match method {
            "tools/list" => ("tools", "tools"),
            "resources/list" => ("resources", "resources"),
            "resources/templates/list" => ("templates", "resourceTemplates"),
            "prompts/list" => ("prompts", "prompts"),
            _ => return None,
        };
        if params["cursor"].is_string() {
            return None;
        }
        let mut names = names(&found["result"][member]);
        let (mut page, mut from) = (found, position);
        for _ in 1..MAX_PAGES {
            let Some(cursor) = page["result"]["nextCursor"].as_str() else { break };
            let known = self.pages.get(cursor).map(Vec::as_slice).unwrap_or_default();
            let later = known.get(known.partition_point(|position| *position <= from)..).unwrap_or_default();
            let mut asked =
                later.iter().filter_map(|position| Some((*position, &self.entries.get(*position)?.message)));
            let Some((next, asked)) = asked.find(|(_, asked)| asked["method"] == method) else { break };
            let Some((_, answer)) = self.answer_to(next, asked) else { break };
            names.extend(self::names(&answer["result"][member]));
            (page, from) = (answer, next);
        }
        let expected = match found.get("error") {
            Some(error) => json!({"fails": error["message"]}),
            None => json!({"names": names}),
        };
        Some(vec![("list", json!(word)), ("expect", expected)])
    }

    /// The answer to the request at this position, and its own position.
    fn answer_to(&self, position: usize, asked: &Value) -> Option<(usize, &'a Value)> {
        let (_, id) = request(asked)?;
        let end = self.answers.after(position, Party::Server, id)?;
        let entries: &'a [Entry] = self.entries;
        Some((end, &entries.get(end)?.message))
    }

    /// The questions of the server between a request and its answer.
    fn questions(&mut self, position: usize, end: usize) -> Vec<Value> {
        let positions = taken(&mut self.questions, position, end);
        let question = |at: usize| {
            let asked = &self.entries.get(at)?.message;
            let (method, id) = request(asked)?;
            let reply = self.entries.get(self.answers.after(at, Party::Client, id)?)?;
            answered(method, &asked["params"], &reply.message["result"])
        };
        positions.into_iter().filter_map(question).collect()
    }

    /// The lists that the server says have changed between a request and the next one after its answer.
    fn changes(&mut self, position: usize, end: usize) -> Vec<Value> {
        let next = self.requests.get(self.requests.partition_point(|known| *known <= end));
        let until = next.copied().unwrap_or(self.entries.len());
        let mut all: Vec<Value> = Vec::new();
        for at in taken(&mut self.notifications, position, until) {
            let method = self.entries.get(at).and_then(|entry| notification(&entry.message)).unwrap_or_default();
            let list = method.strip_prefix("notifications/").and_then(|rest| rest.strip_suffix("/list_changed"));
            if let Some(list) = list.filter(|list| !all.iter().any(|known| known == list)) {
                all.push(list.into());
            }
        }
        all
    }
}

/// Takes the positions between two others out of a set.
fn taken(all: &mut BTreeSet<usize>, after: usize, before: usize) -> Vec<usize> {
    let positions: Vec<usize> = all.range(after + 1..before.max(after + 1)).copied().collect();
    for position in &positions {
        all.remove(position);
    }
    positions
}

fn with_arguments(mut step: Step, params: &Value) -> Step {
    let arguments = &params["arguments"];
    if arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
        step.push(("arguments", arguments.clone()));
    }
    step
}

/// A question with its answer. A page, and a request for roots, cannot be a part of a scenario.
fn answered(method: &str, asked: &Value, reply: &Value) -> Option<Value> {
    match method {
        "elicitation/create" => {
            let message = expected_text(asked["message"].as_str()?);
            Some(match reply["action"].as_str()? {
                "accept" => {
                    json!({"message": message, "form": reply.get("content").cloned().unwrap_or_else(|| json!({}))})
                }
                action => json!({"message": message, "action": action}),
            })
        }
        "sampling/createMessage" => Some(json!({"reply": reply["content"]["text"].as_str()?})),
        _ => None,
    }
}

/// The expected outcome of a request with this answer.
fn expectation(found: &Value) -> Map<String, Value> {
    let mut all = Map::new();
    if let Some(error) = found.get("error") {
        all.insert("fails".into(), expected_text(error["message"].as_str().unwrap_or_default()));
        return all;
    }
    let result = &found["result"];
    let text = texts(result);
    if result["isError"] == true {
        all.insert("error".into(), if text.is_empty() { json!(true) } else { expected_text(&text) });
        return all;
    }
    let structured = &result["structuredContent"];
    let is_mirror = serde_json::from_str::<Value>(&text).is_ok_and(|mirror| mirror == *structured);
    if !structured.is_null() && !structured.to_string().contains(REDACTED) {
        all.insert("at".into(), json!({"/structuredContent": {"equals": structured}}));
    }
    if !text.is_empty() && (all.is_empty() || !is_mirror) {
        all.insert("text".into(), expected_text(&text));
    }
    all
}

/// The text, or the pieces of a text with redacted parts.
fn expected_text(text: &str) -> Value {
    if !text.contains(REDACTED) {
        return json!(text);
    }
    json!({"pieces": text.split(REDACTED).collect::<Vec<_>>()})
}

/// The texts of a result, as a scenario compares them.
fn texts(result: &Value) -> String {
    let blocks = ["content", "contents"].iter().filter_map(|member| result[member].as_array()).flatten();
    let messages = result["messages"].as_array().into_iter().flatten().map(|message| &message["content"]);
    let text = |block: &Value| Some(block["text"].as_str().or_else(|| block["resource"]["text"].as_str())?.to_owned());
    blocks.chain(messages).filter_map(text).collect::<Vec<_>>().join("\n")
}

fn names(list: &Value) -> Vec<Value> {
    let name = |item: &Value| item.get("uri").or_else(|| item.get("uriTemplate")).or_else(|| item.get("name")).cloned();
    list.as_array().into_iter().flatten().filter_map(name).collect()
}

fn has_braces(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(BRACES),
        Value::Array(all) => all.iter().any(has_braces),
        Value::Object(members) => members.values().any(has_braces),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The value in which no text is taken for a variable.
fn guarded(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(BRACES, "{{braces}}")),
        Value::Array(all) => all.into_iter().map(guarded).collect(),
        Value::Object(members) => members.into_iter().map(|(name, inner)| (name, guarded(inner))).collect(),
        other => other,
    }
}

/// The value as JSON, which is YAML but for characters that YAML wants escaped.
fn yaml(value: &Value) -> String {
    value.to_string().chars().fold(String::new(), |mut text, c| {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                let _always = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scenario of a conversation: `c` is the client.
    fn of(messages: &[(char, Value)]) -> String {
        let mut trace = Recording::new("test");
        for (from, message) in messages {
            trace.push(0, if *from == 'c' { Party::Client } else { Party::Server }, message.clone());
        }
        scenario(&trace, "a.jsonl")
    }

    fn call(id: u64, arguments: &Value) -> Value {
        json!({"id": id, "method": "tools/call", "params": {"name": "add", "arguments": arguments, "_meta": {"a": 1}}})
    }

    fn text(id: u64, text: &str) -> Value {
        json!({"id": id, "result": {"content": [{"type": "text", "text": text}]}})
    }

    #[test]
    fn requests_become_steps_and_answers_expectations() {
        let made = of(&[
            ('c', json!({"id": 0, "method": "initialize", "params": {}})),
            ('s', json!({"id": 0, "result": {}})),
            ('c', json!({"id": 1, "method": "tools/list"})),
            ('s', json!({"id": 1, "result": {"tools": [{"name": "add"}], "nextCursor": "x"}})),
            ('c', json!({"id": 2, "method": "tools/list", "params": {"cursor": "x"}})),
            ('s', json!({"id": 2, "result": {"tools": [{"name": "pay"}]}})),
            ('c', call(3, &json!({"a": 1}))),
            ('s', text(3, "got [redacted]!")),
            ('c', call(4, &json!({}))),
            ('s', json!({"id": 4, "error": {"code": -32602, "message": "no"}})),
            ('c', call(5, &json!({}))),
            ('s', json!({"id": 5, "result": {"isError": true, "content": [{"type": "text", "text": "bad"}]}})),
            ('c', json!({"id": 6, "method": "resources/read", "params": {"uri": "a:b"}})),
            ('s', json!({"id": 6, "result": {"contents": [{"uri": "a:b", "text": "x"}]}})),
            ('c', json!({"id": 7, "method": "ping"})),
            ('s', json!({"id": 7, "result": {}})),
            ('c', call(8, &json!({"never": "answered"}))),
        ]);
        let expected = "# Made of a.jsonl by `pmcp scenario`.
steps:
  - list: \"tools\"
    expect: {\"names\":[\"add\",\"pay\"]}

  - call: \"add\"
    arguments: {\"a\":1}
    expect: {\"text\":{\"pieces\":[\"got \",\"!\"]}}

  - call: \"add\"
    expect: {\"fails\":\"no\"}

  - call: \"add\"
    expect: {\"error\":\"bad\"}

  - read: \"a:b\"
    expect: {\"text\":\"x\"}
";
        assert_eq!(made, expected);
    }

    #[test]
    fn questions_and_changes_belong_to_their_call() {
        let question = json!({"id": "q", "method": "elicitation/create", "params": {"message": "Who?"}});
        let changed = json!({"method": "notifications/tools/list_changed"});
        let made = of(&[
            ('c', call(1, &json!({}))),
            ('c', call(2, &json!({}))),
            ('s', question),
            ('c', json!({"id": "q", "result": {"action": "accept", "content": {"name": "Ann"}}})),
            ('s', text(1, "a")),
            ('s', text(2, "b")),
            ('s', changed.clone()),
            ('s', changed),
        ]);
        let steps: Vec<_> = made.split("  - ").skip(1).collect();
        assert_eq!(steps[0], "call: \"add\"\n    expect: {\"text\":\"a\"}\n\n");
        let line = steps[1].lines().find_map(|line| line.strip_prefix("    questions: ")).unwrap();
        let questions: Value = serde_json::from_str(line).unwrap();
        assert_eq!(questions, json!([{"message": "Who?", "form": {"name": "Ann"}}]));
        assert!(steps[1].contains("\"changes\":[\"tools\"]"), "{made}");
    }

    #[test]
    fn many_requests_without_an_answer_are_left_out() {
        let mut messages: Vec<(char, Value)> = (2..50_000).map(|id| ('c', call(id, &json!({})))).collect();
        let page = |id: u64| json!({"id": id, "result": {"tools": [], "nextCursor": "never asked for"}});
        for id in 60_000..80_000 {
            messages.extend([('c', json!({"id": id, "method": "tools/list"})), ('s', page(id))]);
        }
        messages.extend([('c', call(1, &json!({}))), ('s', text(1, "a"))]);
        assert_eq!(of(&messages).matches("  - call: ").count(), 0, "the lists fill it");
        messages.retain(|(_, message)| message["id"].as_u64().is_some_and(|id| id < 60_000));
        assert_eq!(of(&messages).matches("  - call: ").count(), 1);
    }

    #[test]
    fn texts_are_neither_variables_nor_broken_lines() {
        let made = of(&[('c', call(1, &json!({"a": "{{x}}"}))), ('s', text(1, "\u{85}\n{{"))]);
        assert!(made.contains("variables: {braces: \"{{\"}\nsteps:\n"), "{made}");
        assert!(made.contains("arguments: {\"a\":\"{{braces}}x}}\"}"), "{made}");
        assert!(made.contains("{\"text\":\"\\u0085\\n{{braces}}\"}"), "{made}");
    }

    #[test]
    fn a_structured_result_is_compared_without_its_mirror() {
        let result = |text: &str| json!({"id": 1, "result": {"structuredContent": {"sum": 5}, "content": [{"type": "text", "text": text}]}});
        let made = of(&[('c', call(1, &json!({}))), ('s', result("{\"sum\": 5}"))]);
        assert!(made.contains("{\"at\":{\"/structuredContent\":{\"equals\":{\"sum\":5}}}}"), "{made}");
        let made = of(&[('c', call(1, &json!({}))), ('s', result("the sum is 5"))]);
        assert!(made.contains("\"text\":\"the sum is 5\""), "{made}");
    }
}

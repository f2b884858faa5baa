//! Questions of a server, asked on the terminal (MCP 2025-11-25, client/elicitation).

use std::io::{self, BufRead, IsTerminal, Write};

use protomcp_schema::{Quote, Validator, has_format};
use protomcp_types::{
    Elicit, ElicitAction, ElicitResult, ElicitWay, ErrorObject, JsonObject, Method, RawJson, one_line,
};
use serde_json::{Map, Value};

use crate::exit::printable;
use crate::waiting;

/// True if a user can be asked: standard input and standard error are a terminal.
pub(super) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Notes that a server has asked its user although this client cannot. The server may report that in any words.
pub(crate) fn refused(method: &str) {
    if method == Elicit::NAME {
        tracing::warn!(
            "the server asks its user, who cannot be asked without a terminal: pmcp call, read and prompt take the answers \
             as --answer KEY=VALUE"
        );
    }
}

/// Asks the user.
pub(super) async fn answer(question: Elicit) -> Result<ElicitResult, ErrorObject> {
    waiting::give_way();
    // The lock of standard error is for the end of the program and for progress while the question is open.
    let asked = tokio::task::spawn_blocking(move || ask(&question, &mut io::stdin().lock(), &mut io::stderr()));
    asked.await.map_err(|_| ErrorObject::internal("the question was interrupted"))
}

/// Asks on these streams. The end of the input dismisses the question.
pub(crate) fn ask(question: &Elicit, input: &mut impl BufRead, output: &mut impl Write) -> ElicitResult {
    let answered = match &question.way {
        ElicitWay::Form { requested_schema } => {
            form(&question.message, &Form::read(requested_schema), input, output).map(|content| content.map(Some))
        }
        ElicitWay::Url { url, .. } => page(&question.message, url, input, output).map(|yes| yes.then_some(None)),
    };
    let (action, content) = match answered {
        Ok(Some(content)) => (ElicitAction::Accept, content.and_then(|content| RawJson::of(&content).ok())),
        Ok(None) => (ElicitAction::Decline, None),
        Err(_) => (ElicitAction::Cancel, None),
    };
    ElicitResult { action, content, meta: None }
}

/// The fields of a form, in the order of its schema.
#[derive(Default)]
pub(super) struct Form {
    pub(super) fields: Vec<(String, Value)>,
    pub(super) required: Vec<String>,
}

impl Form {
    pub(super) fn read(schema: &RawJson) -> Self {
        let Ok(schema) = JsonObject::from_raw(schema) else { return Self::default() };
        let properties = schema.member("properties").and_then(|raw| JsonObject::from_raw(raw).ok()).unwrap_or_default();
        let fields = properties.iter().map(|(name, field)| (name.to_owned(), field.to().unwrap_or_default()));
        let required = schema.member("required").and_then(|raw| raw.to().ok()).unwrap_or_default();
        Self { fields: fields.collect(), required }
    }
}

/// Asks for each field of the form. `None`: the user declines.
fn form(
    message: &str,
    form: &Form,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Option<Map<String, Value>>> {
    writeln!(output, "\n{}", printable(message))?;
    if !confirm("Answer?", input, output)? {
        return Ok(None);
    }
    let mut content = Map::new();
    for (name, field) in &form.fields {
        let is_required = form.required.contains(name);
        let has_to_be_typed = is_required && default_of(field).is_none();
        loop {
            write!(output, "{}", prompt(name, field, is_required))?;
            output.flush()?;
            let line = line(input)?;
            let read = if has_to_be_typed { given(&line, field, true) } else { value(&line, field, is_required) };
            match read {
                Ok(Some(value)) => _ = content.insert(name.clone(), value),
                Ok(None) => {}
                Err(why) => {
                    writeln!(output, "  {}", printable(&why))?;
                    continue;
                }
            }
            break;
        }
    }
    Ok(Some(content))
}

/// Shows the whole URL, and asks for consent. The user opens it.
fn page(message: &str, url: &str, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    writeln!(output, "\n{}\nThe server asks you to open {}", printable(message), one_line(url))?;
    confirm("Have you opened it?", input, output)
}

fn confirm(question: &str, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    loop {
        write!(output, "{question} [y/N] ")?;
        output.flush()?;
        match line(input)?.to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" | "n" | "no" => return Ok(false),
            _ => writeln!(output, "  expected yes or no")?,
        }
    }
}

fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match input.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim().to_owned()),
    }
}

/// The prompt for a field: title, description, choices and default.
fn prompt(name: &str, field: &Value, is_required: bool) -> String {
    let title = field["title"].as_str().unwrap_or(name);
    let mut prompt = one_line(title).into_owned();
    if let Some(description) = field["description"].as_str() {
        prompt.push_str(&format!(" ({})", one_line(description)));
    }
    let choices = choices(meant(field));
    if !choices.is_empty() {
        prompt.push_str(&format!(" [{}]", one_line(&shown(&choices))));
    }
    match default_of(field) {
        None if !is_required => prompt.push_str(" (optional)"),
        None => {}
        Some(default) => prompt.push_str(&format!(" (default {})", one_line(&default.to_string()))),
    }
    prompt + ": "
}

/// The default of a field. One that would be refused as an answer does not count.
fn default_of(field: &Value) -> Option<&Value> {
    Some(&field["default"]).filter(|default| !default.is_null() && check(default, field).is_ok())
}

/// The schemas of which a value has to match one.
fn branches(field: &Value) -> impl Iterator<Item = &Value> {
    field["oneOf"].as_array().or(field["anyOf"].as_array()).into_iter().flatten()
}

/// The types of a field, or of its branches, other than null. The empty one stands for any.
fn kinds(field: &Value) -> Vec<&str> {
    let mut found: Vec<&str> = match &field["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ if branches(field).next().is_none() => vec![""],
        _ => branches(field).flat_map(kinds).collect(),
    };
    found.retain(|kind| *kind != "null");
    found
}

/// The schema that text is read by: the field, or the first of its branches that admits more than null.
fn meant(field: &Value) -> &Value {
    if !field["type"].is_null() || !choices(field).is_empty() {
        return field;
    }
    branches(field).find(|branch| !kinds(branch).is_empty()).unwrap_or(field)
}

/// True if the form decides how text is read. If it does not, the server does.
fn is_decided(field: &Value) -> bool {
    let is_plain = matches!(kinds(field).as_slice(), ["string" | "boolean" | "integer" | "number" | "array"]);
    is_plain || !choices(field).is_empty()
}

/// The values of a field that has a list of them.
fn choices(field: &Value) -> Vec<&Value> {
    let field = if kinds(field) == ["array"] { &field["items"] } else { field };
    let has_constants = branches(field).all(|branch| !branch["const"].is_null() || branch["type"] == "null");
    let constants = branches(field).filter(|_| has_constants).chain([field]).map(|choice| &choice["const"]);
    let constants = constants.filter(|value| !value.is_null());
    field["enum"].as_array().into_iter().flatten().chain(constants).collect()
}

/// The value as its user types it.
fn typed(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn shown(choices: &[&Value]) -> String {
    choices.iter().map(|choice| typed(choice)).collect::<Vec<_>>().join(", ")
}

/// The value of a field that the user does not leave out: an empty text is a value where the field admits it.
pub(super) fn given(text: &str, field: &Value, is_required: bool) -> Result<Option<Value>, String> {
    let admits_empty =
        |field: &Value| field["minLength"] == 0 || choices(field).iter().any(|choice| choice.as_str() == Some(""));
    if text.is_empty() && admits_empty(meant(field)) {
        let empty = Value::String(String::new());
        return check(&empty, field).map(|()| Some(empty));
    }
    value(text, field, is_required)
}

/// The value of a field from the text of the user. `None`: it is left out.
pub(super) fn value(text: &str, field: &Value, is_required: bool) -> Result<Option<Value>, String> {
    if text.is_empty() {
        return match default_of(field) {
            None if is_required => Err("a value is required".to_owned()),
            default => Ok(default.cloned()),
        };
    }
    let read = read(text, meant(field)).and_then(|value| check(&value, field).map(|()| value));
    match read {
        Err(_) if text == "null" && check(&Value::Null, field).is_ok() => Ok(Some(Value::Null)),
        Err(_) if !is_decided(field) => Ok(Some(Value::String(text.to_owned()))),
        read => read.map(Some),
    }
}

fn read(text: &str, field: &Value) -> Result<Value, String> {
    let kinds = if field["type"].is_null() { Vec::new() } else { kinds(field) };
    Ok(match kinds.first().copied() {
        Some("boolean") => match text.to_lowercase().as_str() {
            "y" | "yes" | "true" => Value::Bool(true),
            "n" | "no" | "false" => Value::Bool(false),
            _ => return Err("expected yes or no".to_owned()),
        },
        Some("integer") => text.parse::<i64>().map(Value::from).map_err(|_| "expected a whole number")?,
        Some("number") => {
            let number = text.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            Value::Number(number.ok_or("expected a number")?)
        }
        Some("array") => array(text, &field["items"])?,
        _ => chosen(text, &choices(field))?,
    })
}

/// A JSON array, or items with commas between them.
fn array(text: &str, item: &Value) -> Result<Value, String> {
    if let Ok(items) = serde_json::from_str::<Vec<Value>>(text) {
        return Ok(Value::Array(items));
    }
    let items = text.split(',').filter_map(|text| value(text.trim(), item, true).transpose());
    items.collect::<Result<_, _>>().map(Value::Array)
}

fn chosen(text: &str, choices: &[&Value]) -> Result<Value, String> {
    match choices.iter().find(|choice| typed(choice) == text) {
        Some(choice) => Ok((*choice).clone()),
        None if choices.is_empty() => Ok(Value::String(text.to_owned())),
        None => Err(format!("expected one of {}", shown(choices))),
    }
}

/// Checks a value against the rules of its field, such as lengths, limits and patterns.
fn check(value: &Value, field: &Value) -> Result<(), String> {
    // A field whose schema is none is for the server to judge.
    if let Ok(validator) = Validator::compile(field.clone()) {
        validator.check(value, Quote::Nothing).map_err(|mismatch| mismatch.to_string())?;
    }
    match (value.as_str(), meant(field)["format"].as_str()) {
        (Some(text), Some(format)) if !has_format(text, format) => Err(format!("expected text of the format {format}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> RawJson {
        RawJson::parse(
            r#"{"type": "object", "required": ["name", "sure"], "properties": {
                "name": {"type": "string", "title": "Name"},
                "age": {"type": "integer", "default": 30}, "height": {"type": "number"},
                "color": {"type": "string", "enum": ["red\u001b[31m", "blue"]},
                "sure": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}}}"#,
        )
        .unwrap()
    }

    #[track_caller]
    fn check(question: &Elicit, typed: &str, action: ElicitAction, content: Option<&Value>) -> String {
        let mut shown = Vec::new();
        let answer = ask(question, &mut typed.as_bytes(), &mut shown);
        assert_eq!(answer.action, action);
        assert_eq!(answer.content.map(|content| content.to::<Value>().unwrap()).as_ref(), content);
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn a_form_is_asked_field_by_field() {
        let content = json!({"name": "Ada", "age": 30, "color": "blue", "sure": true, "tags": ["a", "b"]});
        // An empty required field, an unknown color and a word for yes or no are asked for again.
        let typed = "y\n\nAda\n\nnan\n\ngreen\nblue\nperhaps\nyes\na, b\n";
        let shown = check(&Elicit::form("Who?\x1b[2J", schema()), typed, ElicitAction::Accept, Some(&content));
        assert!(shown.contains("Who?[2J") && !shown.contains('\x1b'), "{shown}");
        for text in [
            "a value is required",
            "expected one of red[31m, blue",
            "expected yes or no",
            "expected a number",
            "(default 30)",
        ] {
            assert!(shown.contains(text), "{shown}");
        }
    }

    #[test]
    fn a_value_has_to_match_its_field() {
        for (field, good, bad) in [
            (json!({"type": "string", "minLength": 3}), "abc", "ab"),
            (json!({"type": "string", "maxLength": 3}), "abc", "abcd"),
            (json!({"type": "string", "pattern": "^[a-z]+$"}), "abc", "a1"),
            (json!({"type": "integer", "minimum": 1, "maximum": 9}), "9", "10"),
            (json!({"type": "number", "exclusiveMinimum": 0}), "0.5", "0"),
            (json!({"type": "array", "items": {"type": "string"}, "minItems": 2}), "a, b", "a"),
            (json!({"type": "array", "items": {"type": "string"}, "maxItems": 1}), "[\"a,b\"]", "a,b"),
            (json!({"type": "array", "items": {"enum": ["a", "b"]}}), "[\"a\"]", "[\"c\"]"),
            (json!({"type": "array", "items": {"type": "integer"}}), "1, 2", "1, b"),
            (json!({"enum": [1, 2]}), "1", "3"),
            (json!({"type": "string", "format": "email"}), "a@b.c", "a b@c"),
            (json!({"type": "string", "format": "uri"}), "https://a.b", "a.b"),
            (json!({"type": "string", "format": "date"}), "2026-02-28", "2026-02-30"),
            (json!({"type": "string", "format": "date-time"}), "2026-02-28T10:00:00.5+01:00", "2026-02-28T10:00"),
        ] {
            assert!(matches!(value(good, &field, true), Ok(Some(_))), "{field}: {good}");
            assert!(value(bad, &field, true).is_err(), "{field}: {bad}");
        }
        assert_eq!(value("1", &json!({"enum": [1, 2]}), true), Ok(Some(json!(1))));
        assert_eq!(value("a", &json!({"pattern": "("}), true), Ok(Some(json!("a"))), "it is not a schema");
    }

    #[test]
    fn a_field_that_admits_null_is_read_by_its_other_type() {
        let branches = |kind: &str| json!({"anyOf": [{"type": "null"}, {"type": kind, "minimum": 2}]});
        let several = json!({"anyOf": [{"type": "integer", "maximum": 9}, {"type": "string"}]});
        let colors = json!({"anyOf": [{"type": "string", "enum": ["red", "blue"]}, {"type": "null"}]});
        for (field, text, expected) in [
            (branches("integer"), "5", Some(json!(5))),
            (branches("integer"), "null", Some(json!(null))),
            (branches("integer"), "1", None),
            (branches("integer"), "x", None),
            (branches("boolean"), "yes", Some(json!(true))),
            (branches("boolean"), "perhaps", None),
            (json!({"type": ["integer", "null"]}), "5", Some(json!(5))),
            (json!({"type": ["null", "array"], "items": {"type": "integer"}}), "1,2", Some(json!([1, 2]))),
            (json!({"const": 5}), "5", Some(json!(5))),
            (json!({"const": 5}), "6", None),
            (json!({"oneOf": [{"type": "integer", "const": 1}, {"type": "integer", "const": 2}]}), "2", Some(json!(2))),
            (colors.clone(), "blue", Some(json!("blue"))),
            (colors, "green", None),
            (json!({"type": "null"}), "null", Some(json!(null))),
            // The form does not decide these: they are for the server.
            (json!({"type": "null"}), "x", Some(json!("x"))),
            (json!({"type": "object"}), "x", Some(json!("x"))),
            (several.clone(), "5", Some(json!(5))),
            (several.clone(), "10", Some(json!("10"))),
            (several, "x", Some(json!("x"))),
        ] {
            assert_eq!(value(text, &field, true).ok().flatten(), expected, "{field}: {text}");
        }
    }

    #[test]
    fn a_default_is_checked_and_an_empty_text_may_be_a_value() {
        for wrong in [
            json!({"type": "integer", "maximum": 9, "default": 10}),
            json!({"type": "string", "default": 5}),
            json!({"type": "string", "format": "date", "default": "today"}),
        ] {
            assert_eq!(value("", &wrong, false), Ok(None));
            assert_eq!(value("", &wrong, true), Err("a value is required".to_owned()));
        }
        let empty = Ok(Some(json!("")));
        assert_eq!(given("", &json!({"type": "string", "minLength": 0, "default": "x"}), true), empty);
        assert_eq!(given("", &json!({"type": "string", "enum": ["", "a"]}), true), empty);
        assert!(given("", &json!({"type": "string"}), true).is_err());
        assert!(value("", &json!({"type": "string", "minLength": 0}), true).is_err());
    }

    #[test]
    fn optional_fields_can_be_left_out() {
        let content = json!({"name": "Ada", "age": 5, "sure": false});
        check(&Elicit::form("", schema()), "yes\nAda\n5\n\n\nno\n\n", ElicitAction::Accept, Some(&content));
    }

    #[test]
    fn a_user_declines_or_dismisses() {
        check(&Elicit::form("", schema()), "n\n", ElicitAction::Decline, None);
        check(&Elicit::form("", schema()), "\n", ElicitAction::Decline, None);
        check(&Elicit::form("", schema()), "y\nAda\n", ElicitAction::Cancel, None);
        check(&Elicit::form("", schema()), "", ElicitAction::Cancel, None);
    }

    #[test]
    fn a_page_is_shown_and_consented_to() {
        let page = Elicit::url("Sign in", "https://example.com/x", "1");
        let shown = check(&page, "y\n", ElicitAction::Accept, None);
        assert!(shown.contains("https://example.com/x"), "{shown}");
        check(&page, "n\n", ElicitAction::Decline, None);
    }
}

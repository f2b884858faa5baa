//! `pmcp call`: one call of a tool.

use std::io::{self, IsTerminal, Read, Write};

use protomcp_client::RequestError;
use protomcp_types::{Amount, Progress};
use serde_json::{Map, Value};

use crate::args::CallOptions;
use crate::client::connection::Connection;
use crate::exit::{self, Failure};

/// Calls the tool, and prints its result.
pub(super) async fn call(options: CallOptions) -> Result<(), Failure> {
    let CallOptions { target, tool, arguments, json, server } = options;
    let arguments = read_arguments(&arguments)?;
    let connection = Connection::open(target, &server).await?;
    let shows_progress = io::stderr().is_terminal();
    let request = connection.session.call_tool(&tool, &arguments).timeout(server.timeout);
    // Progress prolongs the time for the answer, also where it is not shown.
    let request = request.on_progress(move |progress| {
        if shows_progress {
            show(&progress);
        }
    });
    let outcome = tokio::select! {
        outcome = request.raw() => outcome,
        // Dropping the request cancels it at the server.
        _ = tokio::signal::ctrl_c() => {
            connection.close().await;
            return Err(Failure::failed("interrupted; the call is cancelled"));
        }
    };
    connection.close().await;
    if shows_progress {
        clear();
    }
    let result = outcome.map_err(|error| failure(&tool, &error))?;
    let value: Value = result.to().map_err(|error| Failure::failed(format!("the result cannot be read: {error}")))?;
    let text = if json { format!("{result}\n") } else { as_text(&value) };
    exit::print(&exit::for_stdout(text))?;
    match value["isError"] {
        Value::Bool(true) => Err(Failure::failed(format!("the tool {tool:?} reports an error"))),
        _ => Ok(()),
    }
}

/// The arguments of the tool: one JSON object, `-` for an object on standard input, or words `name=value`.
fn read_arguments(words: &[String]) -> Result<Map<String, Value>, Failure> {
    if let [word] = words {
        if word == "-" {
            let mut text = String::new();
            let read = io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| Failure::failed(format!("cannot read standard input: {error}")))?;
            return object(&text);
        }
        if word.trim_start().starts_with('{') {
            return object(word);
        }
    }
    words.iter().map(|word| argument(word)).collect()
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::usage(format!("the arguments are not a JSON object: {error}")))
}

fn argument(word: &str) -> Result<(String, Value), Failure> {
    let wrong = || Failure::usage(format!("invalid argument \"{word}\": expected name=value, or one JSON object"));
    let (name, value) = word.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

fn failure(tool: &str, error: &RequestError) -> Failure {
    Failure::failed(format!("calling {tool:?} failed: {error}"))
}

/// Shows progress on one line of the terminal.
fn show(progress: &Progress) {
    let number = |amount: Amount| amount.to_raw().map(|raw| raw.to_string()).unwrap_or_default();
    let total = progress.total.map(|total| format!("/{}", number(total))).unwrap_or_default();
    let message = progress.message.as_deref().unwrap_or_default();
    let line = format!("\r\x1b[K{}{total} {message}", number(progress.progress));
    // A terminal that is gone shows nothing.
    let _closed = io::stderr().write_all(printable(&line).as_bytes());
}

/// Keeps the line of progress to one line, and control characters of the server off the terminal.
fn printable(line: &str) -> String {
    let (start, rest) = line.split_at("\r\x1b[K".len());
    rest.chars().filter(|c| !c.is_control()).fold(start.to_owned(), |mut line, c| {
        line.push(c);
        line
    })
}

fn clear() {
    let _closed = io::stderr().write_all(b"\r\x1b[K");
}

/// The content of a result as text: what is not text is named. Without content, the structured content.
fn as_text(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    if blocks.is_empty() {
        return match &result["structuredContent"] {
            Value::Null => String::new(),
            structured => format!("{structured:#}\n"),
        };
    }
    blocks.iter().map(|block| format!("{}\n", block_text(block))).collect()
}

fn block_text(block: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => text(&block["text"]),
        Some(kind @ ("image" | "audio")) => {
            format!("[{kind}, {}, {} characters of base64]", text(&block["mimeType"]), text(&block["data"]).len())
        }
        Some("resource_link") => format!("[resource {}]", text(&block["uri"])),
        Some("resource") => match block["resource"]["text"].as_str() {
            Some(content) => content.to_owned(),
            None => format!("[resource {}]", text(&block["resource"]["uri"])),
        },
        _ => block.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(words: &[&str]) -> Result<Value, String> {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        read_arguments(&words).map(Value::Object).map_err(|failure| failure.to_string())
    }

    #[test]
    fn arguments_are_words_or_one_object() {
        assert_eq!(words(&[]), Ok(json!({})));
        assert_eq!(
            words(&["a=2", "name=Ada", "list=[1]", "e=", "q=a=b"]),
            Ok(json!({"a": 2, "name": "Ada", "list": [1], "e": "", "q": "a=b"}))
        );
        assert_eq!(words(&["n=\"3\""]), Ok(json!({"n": "3"})));
        assert_eq!(words(&[r#" {"a": {"b": 1}}"#]), Ok(json!({"a": {"b": 1}})));
        assert!(words(&["a"]).unwrap_err().contains("name=value"));
        assert!(words(&["=1"]).is_err());
        assert!(words(&["{a"]).unwrap_err().contains("not a JSON object"));
    }

    #[test]
    fn content_is_printed_as_text() {
        let blocks = json!([
            {"type": "text", "text": "a\nb"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///x"},
            {"type": "resource", "resource": {"uri": "r:1", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "r:2", "blob": "AA=="}},
            {"type": "new", "x": 1},
        ]);
        let expected = "a\nb\n[image, image/png, 4 characters of base64]\n[resource file:///x]\ninside\n[resource r:2]\n\
                        {\"type\":\"new\",\"x\":1}\n";
        assert_eq!(as_text(&json!({"content": blocks})), expected);
        assert_eq!(as_text(&json!({"content": [], "structuredContent": 5})), "5\n");
        assert_eq!(as_text(&json!({"content": []})), "");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("\r\x1b[K1/2 a\x1b[2Jb\nc"), "\r\x1b[K1/2 a[2Jbc");
    }
}

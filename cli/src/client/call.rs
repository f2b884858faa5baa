//! `pmcp call`: one call of a tool.

use std::io::{self, IsTerminal, Write};
use std::pin::pin;

use futures_util::TryStreamExt;
use protomcp_client::{ClientSession, RequestError};
use protomcp_types::{Amount, CallTool, Progress, RawJson};
use serde_json::Value;

use crate::args::CallOptions;
use crate::client::arguments::Arguments;
use crate::client::connection::Connection;
use crate::client::unless_interrupted;
use crate::exit::{self, Failure};
use crate::nearest::nearest;

/// Calls the tool, and prints its result.
pub(super) async fn call(options: CallOptions) -> Result<(), Failure> {
    let CallOptions { target, tool, arguments, json, server } = options;
    let arguments = Arguments::read(&arguments)?;
    let connection = unless_interrupted(Connection::open_to_call(target, &server)).await?;
    let shows_progress = io::stderr().is_terminal();
    let arguments = async { Ok(resolved(&connection.session, &tool, arguments).await) };
    let arguments = unless_interrupted(arguments).await?;
    let request = connection.session.call(CallTool::new(&tool).with_arguments(arguments)).timeout(server.timeout);
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
    let meant = match &outcome {
        Err(RequestError::Refused(_)) => meant(&connection.session, &tool).await,
        _ => None,
    };
    connection.close().await;
    if shows_progress {
        clear();
    }
    let result = outcome.map_err(|error| failure(&tool, &error, meant.as_deref()))?;
    let value: Value = result.to().map_err(|error| Failure::failed(format!("the result cannot be read: {error}")))?;
    let text = if json { format!("{result}\n") } else { as_text(&value) };
    exit::print(&exit::for_stdout(text))?;
    match value["isError"] {
        Value::Bool(true) => Err(Failure::failed(format!("the tool {tool:?} reports an error"))),
        _ => Ok(()),
    }
}

/// The arguments as an object. The schema of the tool is asked for where it decides.
async fn resolved(session: &ClientSession, tool: &str, arguments: Arguments) -> RawJson {
    let schema = match arguments.depend_on_schema() {
        true => schema(session, tool).await,
        false => None,
    };
    arguments.into_json(schema.as_ref())
}

/// The input schema of a tool; `None` if it cannot be found. The call then says what is wrong.
async fn schema(session: &ClientSession, tool: &str) -> Option<Value> {
    let mut tools = pin!(session.tools());
    while let Some(listed) = tools.try_next().await.ok()? {
        if listed.name.as_str() == tool {
            return listed.input_schema.to().ok();
        }
    }
    None
}

/// The tool that was meant by a name that the server does not list.
async fn meant(session: &ClientSession, tool: &str) -> Option<String> {
    let listed: Vec<_> = session.tools().map_ok(|tool| tool.name.to_string()).try_collect().await.ok()?;
    nearest(tool, listed.iter().map(String::as_str)).filter(|near| *near != tool).map(str::to_owned)
}

fn failure(tool: &str, error: &RequestError, meant: Option<&str>) -> Failure {
    let advice = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    Failure::failed(format!("calling {tool:?} failed: {error}{advice}"))
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

//! `pmcp call`: one call of a tool.

use std::io::{self, IsTerminal, Write};
use std::pin::pin;

use futures_util::TryStreamExt;
use protomcp_client::{ClientSession, RequestError};
use protomcp_types::{Amount, CallTool, Progress, RawJson, one_line};
use serde_json::Value;

use crate::args::client::CallOptions;
use crate::client::arguments::Arguments;
use crate::client::connection::Connection;
use crate::client::content::{as_text, is_result};
use crate::client::refusal::{self, Asking, meant};
use crate::client::unless_interrupted;
use crate::exit::{self, Failure};
use crate::waiting;

/// Calls the tool, and prints its result.
pub(super) async fn call(options: CallOptions) -> Result<(), Failure> {
    let CallOptions { target, tool, arguments, json, answers, server } = options;
    let arguments = Arguments::read(&arguments)?;
    let connection = unless_interrupted(Connection::open_to_call(target, &server, &answers)).await?;
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
    let what = format!("calling {tool}");
    let outcome = tokio::select! {
        outcome = waiting::shown(&what, request.raw()) => outcome,
        // Dropping the request cancels it at the server.
        _ = tokio::signal::ctrl_c() => {
            connection.close().await;
            return Err(Failure::failed("interrupted; the call is cancelled"));
        }
    };
    let meant = match &outcome {
        Err(RequestError::Refused(_)) => {
            meant(&tool, connection.session.tools().map_ok(|tool| tool.name.to_string())).await
        }
        _ => None,
    };
    let asking = connection.asking();
    connection.close().await;
    if shows_progress {
        clear();
    }
    let result = outcome.map_err(|error| refusal::failure(&format!("calling {tool:?}"), &error, meant, asking))?;
    let value = as_object(&result)?;
    if !json && !is_result(&value) {
        let why = "the server has answered without a list of content; --json prints its answer";
        return Err(Failure::failed(format!("calling {tool:?}: {why}")));
    }
    let text = if json { format!("{result}\n") } else { as_text(&value) };
    let advice = asking.advice(&text);
    exit::print(&exit::for_stdout(text))?;
    match value["isError"] {
        Value::Bool(true) => Err(Failure::failed(format!("the tool {tool:?} reports an error{advice}"))),
        _ => Ok(()),
    }
}

/// Calls a tool of an open session, and returns the text of its result. `words`: the tool and its arguments.
pub(crate) async fn call_in(session: &ClientSession, words: &[String]) -> Result<String, Failure> {
    let (tool, arguments) = words.split_first().ok_or_else(|| Failure::usage("name a tool"))?;
    let arguments = resolved(session, tool, Arguments::read(arguments)?).await;
    let called = session.call(CallTool::new(tool).with_arguments(arguments)).raw().await;
    let meant = match &called {
        Err(RequestError::Refused(_)) => meant(tool, session.tools().map_ok(|tool| tool.name.to_string())).await,
        _ => None,
    };
    let asking = Asking { is_possible: true, is_stateless: false };
    let result = called.map_err(|error| refusal::failure(&format!("calling {tool:?}"), &error, meant, asking))?;
    let value = as_object(&result)?;
    let text = as_text(&value);
    match value["isError"] {
        Value::Bool(true) => Err(Failure::failed(format!("the tool {tool:?} reports an error: {}", text.trim_end()))),
        _ => Ok(text),
    }
}

/// A result as a tree. Another value than an object is not one (MCP 2025-11-25, schema, `CallToolResult`).
fn as_object(result: &RawJson) -> Result<Value, Failure> {
    match result.to_value() {
        value if value.is_object() => Ok(value),
        value => Err(Failure::failed(format!(
            "the server has answered the call without a result: {}",
            one_line(&value.to_string())
        ))),
    }
}

/// The arguments as an object. The schema of the tool is asked for where it decides.
async fn resolved(session: &ClientSession, tool: &str, arguments: Arguments) -> RawJson {
    let schema = if arguments.depend_on_schema() { schema(session, tool).await } else { None };
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

/// Shows progress on one line of the terminal.
fn show(progress: &Progress) {
    waiting::give_way();
    let number = |amount: Amount| amount.to_raw().map(|raw| raw.to_string()).unwrap_or_default();
    let total = progress.total.map(|total| format!("/{}", number(total))).unwrap_or_default();
    let message = progress.message.as_deref().unwrap_or_default();
    let line = format!("\r\x1b[K{}{total} {}", number(progress.progress), one_line(message));
    // A terminal that is gone shows nothing.
    let _closed = io::stderr().write_all(line.as_bytes());
}

fn clear() {
    let _closed = io::stderr().write_all(b"\r\x1b[K");
}

//! The requests of each scenario. What the suite checks beneath them, such as headers, questions, resumed streams and
//! tokens, is the work of the library.

use std::error::Error;

use futures_util::TryStreamExt;
use protomcp_client::ClientSession;
use protomcp_types::Tool;
use serde_json::json;

use crate::assignment::Assignment;

pub(crate) async fn make(assignment: &Assignment, session: &ClientSession) -> Result<(), Box<dyn Error>> {
    let tools: Vec<Tool> = session.tools().try_collect().await?;
    match assignment.scenario.as_str() {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {}
        "tools_call" => call(session, "add_numbers", json!({"a": 5, "b": 3})).await?,
        "elicitation-sep1034-client-defaults" => call(session, "test_client_elicitation_defaults", json!({})).await?,
        "sse-retry" => call(session, "test_reconnection", json!({})).await?,
        "http-standard-headers" => everything(session, &tools).await?,
        "http-custom-headers" => {
            for tool_call in &assignment.context.tool_calls {
                session.call(tool_call.clone()).await?;
            }
        }
        // Tools with invalid annotations are not among them.
        "http-invalid-tool-headers" => {
            for tool in &tools {
                call(session, &tool.name, json!({"region": "us-east1"})).await?;
            }
        }
        "sep-2322-client-request-state" => rounds(session).await?,
        "json-schema-2020-12-preservation" => echo_schema(session, &tools).await?,
        scenario if scenario.starts_with("auth/") => call(session, "test-tool", json!({})).await?,
        scenario => return Err(format!("this program does not know the scenario {scenario}").into()),
    }
    Ok(())
}

async fn call(session: &ClientSession, tool: &str, arguments: serde_json::Value) -> Result<(), Box<dyn Error>> {
    let result = session.call_tool(tool, &arguments).await?;
    if result.is_error { Err(format!("{tool} has failed: {}", result.content).into()) } else { Ok(()) }
}

/// Every request whose name or URI is repeated in a header field.
async fn everything(session: &ClientSession, tools: &[Tool]) -> Result<(), Box<dyn Error>> {
    for tool in tools {
        call(session, &tool.name, json!({})).await?;
    }
    let resources: Vec<_> = session.resources().try_collect().await?;
    for resource in resources {
        session.read_resource(resource.uri).await?;
    }
    let prompts: Vec<_> = session.prompts().try_collect().await?;
    for prompt in prompts {
        session.get_prompt(prompt.name, &json!({})).await?;
    }
    Ok(())
}

/// Calls that the server answers with questions at first, one of them concurrently with a call that it answers
/// immediately.
async fn rounds(session: &ClientSession) -> Result<(), Box<dyn Error>> {
    let asked = call(session, "test_mrtr_echo_state", json!({}));
    let unrelated = call(session, "test_mrtr_unrelated", json!({}));
    tokio::try_join!(asked, unrelated)?;
    call(session, "test_mrtr_no_state", json!({})).await?;
    call(session, "test_mrtr_no_result_type", json!({})).await
}

/// Sends the schema of one tool back, as the argument of another.
async fn echo_schema(session: &ClientSession, tools: &[Tool]) -> Result<(), Box<dyn Error>> {
    let tool =
        tools.iter().find(|tool| tool.name.as_str() == "json_schema_2020_12_tool").ok_or("there is no such tool")?;
    call(session, "json_schema_echo", json!({"schema": tool.input_schema})).await
}

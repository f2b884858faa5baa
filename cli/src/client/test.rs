//! `pmcp test`: the lists of a server, one call with the messages behind it, or scenarios.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use protomcp_check::{
    CallReport, Finding, HostSelection, Lists, ToolDefinition, Trace, TraceEntry, check_result, finding_lines,
};
use protomcp_client::{ClientSession, RequestError};
use protomcp_types::{CallTool, RawJson};
use serde_json::Value;

use crate::args::client::{ServerFlags, Target};
use crate::args::report::Format;
use crate::args::test::{TestAction, TestOptions};
use crate::client::arguments::Arguments;
use crate::client::connection::Connection;
use crate::client::elements::elements_if_known;
use crate::client::scenarios::Scenarios;
use crate::exit::{self, Failure};

/// Carries the action out, and prints its outcome.
pub(super) async fn test(options: TestOptions) -> Result<(), Failure> {
    let TestOptions { target, action, format, server } = options;
    match action {
        TestAction::List => list(target, &server, format).await,
        TestAction::Call { tool, arguments, trace, hosts } => {
            let arguments = Arguments::read(&arguments)?;
            Call { tool, trace, hosts }.run(arguments, target, &server, format).await
        }
        TestAction::Run(options) => Scenarios { options, target, server, format }.test().await,
    }
}

fn print(text: String) -> Result<(), Failure> {
    exit::print(&exit::for_stdout(text))
}

async fn list(target: Target, server: &ServerFlags, format: Format) -> Result<(), Failure> {
    let connection = Connection::open_for_test(target, server, &Trace::default(), None).await?;
    let lists = lists(&connection.session).await;
    connection.close().await;
    let lists = lists.map_err(|error| Failure::failed(format!("cannot list: {error}")))?;
    print(match format {
        Format::Text => lists.to_text(),
        Format::Json => lists.to_json(),
    })
}

async fn lists(session: &ClientSession) -> Result<Lists, RequestError> {
    Ok(Lists {
        tools: pages(session, "tools/list", "tools").await?,
        resources: pages(session, "resources/list", "resources").await?,
        prompts: pages(session, "prompts/list", "prompts").await?,
    })
}

/// All elements of a list, empty if the server does not have it.
async fn pages(session: &ClientSession, method: &'static str, member: &str) -> Result<Vec<Value>, RequestError> {
    Ok(elements_if_known(session, method, member).await?.iter().map(RawJson::to_value).collect())
}

/// One call.
struct Call {
    tool: String,
    trace: bool,
    hosts: HostSelection,
}

impl Call {
    async fn run(
        self,
        arguments: Arguments,
        target: Target,
        server: &ServerFlags,
        format: Format,
    ) -> Result<(), Failure> {
        let trace = Trace::default();
        let connection = Connection::open_for_test(target, server, &trace, None).await?;
        let outcome = self.make(arguments, &connection.session, &trace).await;
        connection.close().await;
        let failed = |error| Failure::failed(format!("calling {:?} failed: {error}", self.tool));
        let (report, findings) = outcome.map_err(failed)?;
        print(match format {
            Format::Text => report.to_text() + &finding_lines(&findings),
            Format::Json => report.to_json(&findings),
        })?;
        if report.is_error() {
            Err(Failure::failed(format!("the tool {:?} reports an error", self.tool)))
        } else {
            Ok(())
        }
    }

    async fn make(
        &self,
        arguments: Arguments,
        session: &ClientSession,
        trace: &Trace,
    ) -> Result<(CallReport, Vec<Finding>), RequestError> {
        // The messages of these lists are not a part of the test.
        let opened = trace.since(0);
        let tools = pages(session, "tools/list", "tools").await?;
        let (mark, began) = (trace.next(), Instant::now());
        let schema = tools.iter().find(|tool| tool["name"] == self.tool.as_str()).map(|tool| &tool["inputSchema"]);
        let call = CallTool::new(&self.tool).with_arguments(arguments.into_json(schema));
        let result = session.call(call).raw().await?.to_value();
        let took = began.elapsed();
        let messages = opened.into_iter().chain(trace.since(mark));
        let numbered = messages.zip(0..).map(|(entry, seq)| TraceEntry { seq, ..entry }).collect();
        let (before, after) = (names(&tools), names(&pages(session, "tools/list", "tools").await?));
        let findings = self.findings(&tools, &result, took);
        let report = CallReport {
            tool: self.tool.clone(),
            took,
            result,
            enabled: after.difference(&before).cloned().collect(),
            disabled: before.difference(&after).cloned().collect(),
            trace: self.trace.then_some(numbered),
        };
        Ok((report, findings))
    }

    /// The findings about the result, if hosts are named.
    fn findings(&self, tools: &[Value], result: &Value, took: Duration) -> Vec<Finding> {
        let definition =
            tools.iter().find(|tool| tool["name"] == self.tool.as_str()).and_then(|tool| RawJson::of(tool).ok());
        match definition {
            Some(definition) if !self.hosts.is_empty() => {
                check_result(&ToolDefinition::listed(&definition), result, took, &self.hosts)
            }
            _ => Vec::new(),
        }
    }
}

fn names(tools: &[Value]) -> BTreeSet<String> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).map(ToOwned::to_owned).collect()
}

//! A visit of one server over one transport: each feature of the table is tried through the client.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::IntoFuture;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use futures_util::future::BoxFuture;
use protomcp_client::{ClientSession, CloseReason, RequestError};
use protomcp_conformance::patience;
use protomcp_types::{CallToolResult, Level, ProtocolVersion, RawJson, ServerCapabilities, Tool};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::real_servers::facts::{Ask, Facts};
use crate::real_servers::family::{Family, padded};
use crate::real_servers::hearing::Hearing;
use crate::real_servers::place::Place;

/// The reason why a feature is not a success.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server has no such feature.
    Lacks,
    /// Something else was expected.
    Failed(String),
}

impl From<RequestError> for Fault {
    fn from(error: RequestError) -> Self {
        Self::Failed(format!("{error:?}"))
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

pub(crate) type Attempt = Result<(), Fault>;

/// The time between two requests for a list that is not whole.
const RETRY: Duration = Duration::from_millis(100);

type Call = BoxFuture<'static, Result<CallToolResult, RequestError>>;

/// Fails unless the two are equal.
#[expect(clippy::needless_pass_by_value, reason = "most are made for the comparison")]
pub(crate) fn is<A: PartialEq<B> + Debug, B: Debug>(seen: A, expected: B) -> Attempt {
    if seen == expected { Ok(()) } else { Err(Fault::Failed(format!("{seen:?} is not {expected:?}"))) }
}

/// Fails unless the one is in the other.
pub(crate) fn has(seen: &str, part: &str) -> Attempt {
    if seen.contains(part) { Ok(()) } else { Err(Fault::Failed(format!("{part:?} is not in {seen:?}"))) }
}

fn known<T>(fact: Option<&T>) -> Result<&T, Fault> {
    fact.ok_or(Fault::Lacks)
}

/// One session with a server.
pub(crate) struct Visit<'a> {
    pub(crate) session: &'a ClientSession,
    pub(crate) facts: &'a Facts,
    /// The processes of the server.
    pub(crate) family: &'a Family,
    pub(crate) revision: ProtocolVersion,
    pub(crate) hearing: &'a mut Hearing,
}

impl Visit<'_> {
    pub(crate) async fn open(&self) -> Attempt {
        let server = self.session.server();
        is(server.version, self.revision)?;
        is(server.implementation.as_ref().map(|server| server.name.as_str()), Some(self.facts.name))
    }

    pub(crate) async fn ping(&self) -> Attempt {
        Ok(self.session.ping().await?)
    }

    pub(crate) async fn tools(&self) -> Attempt {
        let tools = self.listed().await?;
        same(tools.iter().map(|tool| tool.name.as_str()), &self.facts.tools)
    }

    /// The list of a gateway is not whole in its time when the server behind it starts slowly.
    async fn listed(&self) -> Result<Vec<Tool>, RequestError> {
        let deadline = Instant::now() + patience();
        loop {
            match self.session.tools().try_collect().await {
                Err(error) if error.is_retryable() && Instant::now() < deadline => tokio::time::sleep(RETRY).await,
                outcome => return outcome,
            }
        }
    }

    pub(crate) async fn calls(&self) -> Attempt {
        for ask in &self.facts.calls {
            self.says(Some(ask)).await?;
        }
        Ok(())
    }

    pub(crate) async fn structured(&self) -> Attempt {
        let ask = known(self.facts.structured.as_ref())?;
        let result = self.call(ask).await?;
        is(result.is_error, false)?;
        let structured = result.structured_content.ok_or_else(|| Fault::Failed("no structure".into()))?;
        has(structured.as_str(), ask.text)
    }

    pub(crate) async fn failure(&self) -> Attempt {
        let result = self.call(&self.facts.failure).await?;
        is(result.is_error, true)?;
        has(result.content.as_str(), self.facts.failure.text)?;
        // A tool that is not there is an error of the protocol, or of older SDKs a result with an error.
        match self.session.call_tool("no-such-tool", &json!({})).await {
            Ok(result) => is(result.is_error, true),
            Err(RequestError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn progress(&self) -> Attempt {
        let (ask, count) = known(self.facts.progress.as_ref())?;
        let (report, mut reports) = mpsc::unbounded_channel();
        let call = self.session.call_tool(ask.tool, &ask.arguments).on_progress(move |progress| {
            // The test may have failed.
            let _ = report.send(progress);
        });
        let result = call.await?;
        has(result.content.as_str(), ask.text)?;
        let mut seen = 0;
        while reports.try_recv().is_ok() {
            seen += 1;
        }
        is(seen, *count)
    }

    /// A call is given up, and the session works.
    pub(crate) async fn cancellation(&self) -> Attempt {
        let call = self.hang().await?;
        drop(call);
        self.family.resume();
        self.works().await
    }

    /// A call ends at its deadline, and the session works.
    pub(crate) async fn deadline(&self) -> Attempt {
        if self.facts.long.is_none() {
            self.family.pause().await;
        }
        let ask = self.facts.long.as_ref().unwrap_or(&self.facts.calls[0]);
        let call = self.session.call_tool(ask.tool, &ask.arguments).total_timeout(Duration::from_millis(300));
        let outcome = call.await;
        self.family.resume();
        match outcome {
            Err(RequestError::TimedOut(_)) => self.works().await,
            other => Err(Fault::Failed(format!("{other:?}"))),
        }
    }

    /// The server is killed during a call: the call fails, and nothing of the server is left.
    pub(crate) async fn killed(&self, place: &Place) -> Attempt {
        let call = self.hang().await?;
        self.family.kill_head();
        match tokio::time::timeout(patience(), call).await {
            Ok(Err(error)) if error.is_retryable() => {}
            other => return Err(Fault::Failed(format!("{other:?}"))),
        }
        if place.is_child() {
            is(matches!(self.session.closed().await, CloseReason::ByServer(Some(_))), true)?;
        }
        self.family.gone().await;
        Ok(())
    }

    /// The server behind a gateway is killed during a call: the call fails, and may be made again.
    pub(crate) async fn killed_behind(&self) -> Attempt {
        let call = self.hang().await?;
        self.family.kill_all();
        let result = tokio::time::timeout(patience(), call).await.map_err(|_| Fault::Failed("no answer".into()))??;
        is(result.is_error, true)?;
        let why = result.meta.as_ref().map_or("", RawJson::as_str);
        // The stream of a call in a session could be resumed, so the gateway tries that until the deadline.
        has(why, r#""error_code":"TIMEOUT""#).or_else(|_| has(why, r#""retryable":true"#))
    }

    /// Begins a call that does not end, and waits until the server has it.
    async fn hang(&self) -> Result<Call, Fault> {
        let Some(ask) = &self.facts.long else {
            // The server does nothing that takes long, so it is stopped while the call is in the pipe.
            self.family.pause().await;
            let ask = &self.facts.calls[0];
            let call = self.session.call_tool(ask.tool, &padded(&ask.arguments)).into_future();
            self.family.until_asked().await;
            return Ok(call);
        };
        let (report, mut reports) = mpsc::unbounded_channel();
        let call = self.session.call_tool(ask.tool, &ask.arguments).on_progress(move |progress| {
            // The test may have failed.
            let _ = report.send(progress);
        });
        let mut call = call.into_future();
        tokio::select! {
            outcome = &mut call => Err(Fault::Failed(format!("the call was short: {outcome:?}"))),
            _ = reports.recv() => Ok(call),
        }
    }

    pub(crate) async fn task(&self) -> Attempt {
        let ask = known(self.facts.task.as_ref())?;
        let (notice, mut notices) = mpsc::unbounded_channel();
        let call = self.session.call_tool(ask.tool, &ask.arguments).as_task(None).on_task(move |one| {
            // The test may have failed.
            let _ = notice.send(one);
        });
        let result = call.await?;
        has(result.content.as_str(), ask.text)?;
        is(notices.try_recv().is_ok(), true)
    }

    pub(crate) async fn logging(&mut self) -> Attempt {
        let (ask, line) = known(self.facts.logging.as_ref())?;
        // Some servers log without declaring it.
        if self.offers(|server| server.logging.is_some()).is_ok() {
            self.session.set_level(Level::Debug).await?;
        }
        self.says(Some(ask)).await?;
        loop {
            match self.hearing.logs.recv().await {
                Some(heard) if heard.contains(line) => return Ok(()),
                Some(_) => {}
                None => return Err(Fault::Failed("the connection is over".into())),
            }
        }
    }

    pub(crate) async fn resources(&self) -> Attempt {
        self.offers(|server| server.resources.is_some())?;
        let resources: Vec<_> = self.session.resources().try_collect().await?;
        same(resources.iter().map(|resource| resource.uri.as_str()), &self.facts.resources.uris)?;
        let (uri, text) = known(self.facts.resources.reading.as_ref())?;
        has(&self.session.read_resource(*uri).raw().await?.to_string(), text)?;
        match self.session.read_resource("demo://no/such/resource").raw().await {
            Err(RequestError::Refused(_)) => Ok(()),
            other => Err(Fault::Failed(format!("{other:?}"))),
        }
    }

    pub(crate) async fn templates(&self) -> Attempt {
        self.offers(|server| server.resources.is_some())?;
        let templates: Vec<_> = self.session.resource_templates().try_collect().await?;
        same(templates.iter().map(|template| template.uri_template.as_str()), &self.facts.resources.templates)?;
        known(self.facts.resources.templates.first()).map(|_| ())
    }

    pub(crate) async fn subscription(&mut self) -> Attempt {
        let (uri, change) = known(self.facts.resources.subscription.as_ref())?;
        self.session.subscribe(*uri).await?;
        self.says(Some(change)).await?;
        is(self.hearing.updates.recv().await.as_deref(), Some(*uri))?;
        Ok(self.session.unsubscribe(*uri).await?)
    }

    pub(crate) async fn prompts(&self) -> Attempt {
        self.offers(|server| server.prompts.is_some())?;
        let prompts: Vec<_> = self.session.prompts().try_collect().await?;
        same(prompts.iter().map(|prompt| prompt.name.as_str()), &self.facts.prompts.names)?;
        let prompt = known(self.facts.prompts.reading.as_ref())?;
        let result = self.session.get_prompt(prompt.tool, &prompt.arguments).await?;
        has(result.messages.as_str(), prompt.text)
    }

    pub(crate) async fn completion(&self) -> Attempt {
        let (reference, [argument, value], expected) = known(self.facts.prompts.completion.as_ref())?;
        let result = self.session.complete(reference.clone(), *argument, *value).await?;
        is(&result.completion.values, expected)
    }

    /// Lacks what the server does not declare.
    fn offers(&self, declares: impl Fn(&ServerCapabilities) -> bool) -> Attempt {
        let server = self.session.server();
        if server.capabilities.as_ref().is_some_and(declares) { Ok(()) } else { Err(Fault::Lacks) }
    }

    /// The call succeeds, and the text is in its result.
    pub(crate) async fn says(&self, ask: Option<&Ask>) -> Attempt {
        let ask = known(ask)?;
        let result = self.call(ask).await?;
        let text = texts(&result)?;
        if result.is_error { Err(Fault::Failed(text)) } else { has(&text, ask.text) }
    }

    /// The server answers.
    async fn works(&self) -> Attempt {
        self.session.ping().await?;
        self.says(self.facts.calls.first()).await
    }

    async fn call(&self, ask: &Ask) -> Result<CallToolResult, Fault> {
        Ok(self.session.call_tool(ask.tool, &ask.arguments).await?)
    }
}

fn texts(result: &CallToolResult) -> Result<String, Fault> {
    let blocks: Vec<Value> = result.content.to()?;
    Ok(blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"))
}

/// Fails unless the lists have the same members.
fn same<'a>(seen: impl Iterator<Item = &'a str>, expected: &[&str]) -> Attempt {
    let seen: Vec<_> = seen.collect();
    is(seen.len(), expected.len())
        .and(is(seen.into_iter().collect::<BTreeSet<_>>(), expected.iter().copied().collect::<BTreeSet<_>>()))
}

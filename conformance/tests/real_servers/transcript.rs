//! The results of the same requests, directly and through the gateway, as JSON text.

use std::time::{Duration, Instant};

use protomcp_client::{ClientSession, Request, RequestError};
use protomcp_conformance::{Sandbox, patience};
use protomcp_types::{
    CallTool, ErrorObject, GetPrompt, JsonObject, ListPrompts, ListResourceTemplates, ListResources, ListTools, Method,
    RawJson, ReadResource, code,
};
use serde::Serialize;
use serde_json::json;

use crate::real_servers::facts::{Ask, Facts};
use crate::real_servers::visit::{Attempt, Fault};

/// A request in words, and its result or error as text.
pub(crate) type Transcript = Vec<(String, String)>;

/// The members of a result that the era of its client demands or forbids (MCP 2026-07-28, basic/patterns and
/// server/utilities/caching). They are compared between sessions of one era only.
const OF_THE_ERA: &[&str] = &["resultType", "ttlMs", "cacheScope"];

/// The member of `_meta` in which a stateless server names itself, as the gateway does in its own results.
const OF_THE_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// The time between two attempts.
const RETRY: Duration = Duration::from_millis(100);

/// Makes each request of a server's facts that changes nothing. `sandbox` is named in the texts of some servers. All of them
/// are made again after a failure that allows it: a server that waits for a processor closes a connection as idle although a
/// request is on its way.
pub(crate) async fn transcript(
    session: &ClientSession,
    facts: &Facts,
    sandbox: &Sandbox,
) -> Result<Transcript, RequestError> {
    let deadline = Instant::now() + patience();
    loop {
        match read(session, facts, sandbox).await {
            Err(error) if error.is_retryable() && Instant::now() < deadline => tokio::time::sleep(RETRY).await,
            outcome => return outcome,
        }
    }
}

async fn read(session: &ClientSession, facts: &Facts, sandbox: &Sandbox) -> Result<Transcript, RequestError> {
    let mut lines = Transcript::new();
    let folder = sandbox.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let mut note = |request: String, outcome: Result<String, ErrorObject>| {
        let text = outcome.unwrap_or_else(|error| format!("error {:?}", of_no_era(error)));
        lines.push((request.replace(&folder, "/sandbox"), text.replace(&folder, "/sandbox")));
    };
    let can = session.server().capabilities.clone().unwrap_or_default();
    let has_contents = can.resources.is_some();
    for (name, is_offered) in [("tools", true), ("resources", has_contents), ("resourceTemplates", has_contents)] {
        if is_offered {
            for (key, item) in elements(session, name).await? {
                note(format!("{name} {key}"), Ok(item));
            }
        }
    }
    if can.prompts.is_some() {
        for (key, item) in elements(session, "prompts").await? {
            note(format!("prompts {key}"), Ok(item));
        }
        for ask in facts.prompts.reading.iter().chain([&unknown()]) {
            let request = session.get_prompt(ask.tool, &ask.arguments);
            note(format!("prompt {}", ask.tool), result::<GetPrompt>(request).await?);
        }
    }
    for ask in facts.calls.iter().chain(&facts.structured).chain([&facts.failure, &unknown()]) {
        let request = session.call_tool(ask.tool, &ask.arguments);
        note(format!("call {} {}", ask.tool, ask.arguments), result::<CallTool>(request).await?);
    }
    if has_contents {
        for uri in facts.resources.uris.iter().chain(&["demo://no/such/resource"]) {
            note(format!("read {uri}"), result::<ReadResource>(session.read_resource(*uri)).await?);
        }
    }
    if let Some((reference, [argument, value], _)) = &facts.prompts.completion {
        let request = session.complete(reference.clone(), *argument, *value);
        note(format!("complete {argument} {value}"), result(request).await?);
    }
    Ok(lines)
}

fn unknown() -> Ask {
    Ask { tool: "no-such-name", arguments: json!({}), text: "" }
}

async fn result<M: Method>(request: Request<M>) -> Result<Result<String, ErrorObject>, RequestError> {
    match request.raw().await {
        Ok(raw) => Ok(Ok(raw.as_str().to_owned())),
        Err(RequestError::Refused(error)) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

/// All elements of a list with their keys, by key: pages and order are the server's that answers.
async fn elements(session: &ClientSession, list: &str) -> Result<Vec<(String, String)>, RequestError> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = match list {
            "tools" => page::<ListTools>(session, &ListTools { cursor, meta: None }).await?,
            "resources" => page::<ListResources>(session, &ListResources { cursor, meta: None }).await?,
            "prompts" => page::<ListPrompts>(session, &ListPrompts { cursor, meta: None }).await?,
            _ => page::<ListResourceTemplates>(session, &ListResourceTemplates { cursor, meta: None }).await?,
        };
        let items = page.member(list).expect("a page has elements").to::<Vec<RawJson>>().expect("it is an array");
        for item in items {
            let members = JsonObject::from_raw(&item).expect("an element is an object");
            let key = ["uri", "uriTemplate", "name"].into_iter().find_map(|key| members.member(key));
            all.push((key.expect("an element has a key").to_string(), item.as_str().to_owned()));
        }
        cursor = page.member("nextCursor").map(|next| next.to().expect("a cursor is a text"));
        if cursor.is_none() {
            all.sort();
            return Ok(all);
        }
    }
}

async fn page<M: Method<Params: Serialize>>(
    session: &ClientSession,
    params: &M::Params,
) -> Result<JsonObject, RequestError> {
    let raw = session.request::<M>(params).raw().await?;
    Ok(JsonObject::from_raw(&raw).expect("a result is an object"))
}

/// Fails unless the results are equal, byte for byte, except for the members of an era.
pub(crate) fn equal(direct: &Transcript, through: &Transcript) -> Attempt {
    let names = |lines: &Transcript| lines.iter().map(|(request, _)| request.clone()).collect::<Vec<_>>();
    if names(direct) != names(through) {
        return Err(Fault::Failed(format!("{:?} instead of {:?}", names(through), names(direct))));
    }
    let differences = direct.iter().zip(through).filter_map(|((request, one), (_, other))| {
        let (one, other) = (without_era(one), without_era(other));
        (one != other).then(|| format!("{request}:\n  directly {one}\n  through  {other}"))
    });
    let differences: Vec<_> = differences.collect();
    if differences.is_empty() { Ok(()) } else { Err(Fault::Failed(differences.join("\n"))) }
}

/// An unknown resource has its own code in the revisions with sessions only (MCP 2026-07-28, server/resources).
fn of_no_era(error: ErrorObject) -> ErrorObject {
    let is_unknown = error.code == code::RESOURCE_NOT_FOUND;
    ErrorObject { code: if is_unknown { code::INVALID_PARAMS } else { error.code }, ..error }
}

fn without_era(text: &str) -> String {
    let Ok(mut members) = RawJson::parse(text.to_owned()).and_then(|raw| JsonObject::from_raw(&raw)) else {
        return text.to_owned();
    };
    let mut is_changed = OF_THE_ERA.iter().filter(|name| members.take(name).is_some()).count() > 0;
    if let Some(mut meta) = members.member("_meta").and_then(|meta| JsonObject::from_raw(meta).ok())
        && meta.take(OF_THE_SERVER).is_some()
    {
        is_changed = true;
        if meta.is_empty() {
            members.take("_meta");
        } else {
            members.insert("_meta", meta.to_body().into_raw());
        }
    }
    if is_changed { members.to_body().into_raw().as_str().to_owned() } else { text.to_owned() }
}

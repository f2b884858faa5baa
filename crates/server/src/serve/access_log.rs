//! The access log: one line for each request, when it is answered.
//!
//! A connection keeps the requests that wait for their answers, by their ids; a transport without sessions has one value
//! for each request. A request that is dropped before its answer was cancelled.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use protomcp_types::{
    CallTool, ErrorObject, GetPrompt, JsonBuf, Message, Method, ReadResource, Request, RequestId, Response, code,
};
use serde::Deserialize;

use crate::layer::lazy_tools::request_target::RequestTarget;
use crate::records::clock::now;
use crate::serve::peer::Peer;
use protomcp_fair::Owner;
use protomcp_session::{CallerIdentity, CallerKey, Extensions, ServerRequest, ServerResult, SessionId};

/// The target of the lines of the access log, among the targets of `tracing`; see
/// [`ServerHandle::log_access`](crate::ServerHandle::log_access).
pub const ACCESS_TARGET: &str = "protomcp::access";

/// The most characters of a text in a line.
const MAX_TEXT: usize = 200;

/// The requests of a connection that wait for their answers, if there is an access log.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "a session without an access log pays one word")]
pub(super) struct OpenAccesses(Option<Box<HashMap<RequestId, Open>>>);

/// A request that waits for its answer.
#[derive(Debug)]
struct Open {
    access: Access,
    /// Later requests with its id, which are refused and have their lines.
    refused: u32,
}

impl OpenAccesses {
    /// A request has arrived. One with the id of another that waits is refused.
    pub(super) fn begin(&mut self, id: &RequestId, access: Access) {
        match self.0.get_or_insert_default().entry(id.clone()) {
            Entry::Vacant(vacant) => _ = vacant.insert(Open { access, refused: 0 }),
            Entry::Occupied(mut first) => {
                first.get_mut().refused += 1;
                access.failed(code::INVALID_REQUEST);
            }
        }
    }

    /// Writes the line of the request that a message answers, if it answers one.
    pub(super) fn note(&mut self, message: &Message) {
        if let Some(open) = &mut self.0
            && let Message::Response(Response { id: Some(id), outcome }) = message
            && let Some(first) = open.get_mut(id)
        {
            match outcome {
                Err(error) if error.code == code::INVALID_REQUEST && first.refused > 0 => first.refused -= 1,
                _ => _ = open.remove(id).map(|first| first.access.answered(outcome)),
            }
        }
    }

    /// The client has cancelled a request.
    pub(super) fn cancelled(&mut self, id: &RequestId) {
        drop(self.0.as_mut().and_then(|open| open.remove(id)));
    }
}

/// A request until its line is written.
#[derive(Debug)]
pub(super) struct Access(Option<Box<Line>>);

/// The parts of a line that are known when the request arrives.
#[derive(Debug)]
struct Line {
    method: String,
    /// The tool, the prompt, or the scheme of the resource.
    name: Option<String>,
    session: Option<SessionId>,
    /// The connection of a request without a session.
    connection: Option<u64>,
    subject: Option<String>,
    began: Instant,
}

impl Access {
    /// A request that has arrived, with this target. `session`: the session of the connection, if it has one.
    pub(super) fn begin(
        request: &Request,
        target: &RequestTarget,
        peer: &Peer,
        known: &Extensions,
        session: Option<SessionId>,
    ) -> Self {
        let target = &sent(request, target);
        let line = Line {
            name: name(target),
            method: clipped(&target.method),
            session,
            connection: peer.connection.filter(|_| session.is_none()),
            subject: subject(peer, known),
            began: now(),
        };
        Self(Some(Box::new(line)))
    }

    /// Writes the line of a request with this outcome.
    pub(super) fn answered(mut self, outcome: &Result<JsonBuf, ErrorObject>) {
        let Some(line) = self.0.take() else { return };
        match outcome {
            Ok(result) => line.write(line.success(result), None),
            Err(error) => line.write("error", Some(error.code)),
        }
    }

    /// Writes the line of a request with this outcome, which is never JSON.
    pub(super) fn concluded(mut self, outcome: &Result<ServerResult, ErrorObject>) {
        let Some(line) = self.0.take() else { return };
        match outcome {
            Ok(ServerResult::CallTool(result)) if result.is_error => line.write("tool error", None),
            Ok(_) => line.write("ok", None),
            Err(error) => line.write("error", Some(error.code)),
        }
    }

    /// Writes the line of a request that gets this error.
    fn failed(mut self, code: i64) {
        if let Some(line) = self.0.take() {
            line.write("error", Some(code));
        }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        if let Some(line) = self.0.take() {
            line.write("cancelled", None);
        }
    }
}

impl Line {
    /// The outcome of a request that has this result.
    fn success(&self, result: &JsonBuf) -> &'static str {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Kind {
            is_error: bool,
            result_type: String,
        }
        // The others neither fail nor ask.
        if ![CallTool::NAME, GetPrompt::NAME, ReadResource::NAME].contains(&self.method.as_str()) {
            return "ok";
        }
        let kind = result.clone().into_raw().to::<Kind>().unwrap_or_default();
        match kind.result_type.as_str() {
            "input_required" => "input required",
            _ if kind.is_error => "tool error",
            _ => "ok",
        }
    }

    fn write(&self, outcome: &str, code: Option<i64>) {
        let ms = u64::try_from(now().saturating_duration_since(self.began).as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            target: ACCESS_TARGET,
            method = self.method.as_str(),
            name = self.name.as_deref(),
            outcome,
            code,
            ms,
            session = self.session.map(display),
            connection = self.connection,
            subject = self.subject.as_deref(),
            "request"
        );
    }
}

/// A typed call, as its client would have sent it.
pub(super) fn as_sent(id: &RequestId, request: &ServerRequest) -> Request {
    let method = request.method().to_owned().into();
    Request { id: id.clone(), method, params: request.clone().into_params() }
}

/// The target in a line. A search of lazy tools is the call that the client has sent, and not the list that it reads.
fn sent(request: &Request, target: &RequestTarget) -> RequestTarget {
    if target.method == request.method { target.clone() } else { RequestTarget::of(request) }
}

/// The name in a line. Of a URI it is the scheme, because the rest may be data of a user; the id of a task is a secret.
fn name(target: &RequestTarget) -> Option<String> {
    let name = target.name.as_deref()?;
    match &*target.method {
        CallTool::NAME | GetPrompt::NAME => Some(clipped(name)),
        ReadResource::NAME => {
            let is_scheme = |text: &&str| {
                !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            };
            name.split_once(':').map(|(scheme, _)| scheme).filter(is_scheme).map(clipped)
        }
        _ => None,
    }
}

/// The bearer of the token of a request, or else the principal that the transport knows.
fn subject(peer: &Peer, known: &Extensions) -> Option<String> {
    let bearer = known.find::<CallerIdentity>();
    let bearer =
        bearer.map(|CallerIdentity { subject, client_id, .. }| if subject.is_empty() { client_id } else { subject });
    let principal = || match known.find::<CallerKey>().map_or(&peer.owner, |caller| &caller.owner) {
        Owner::Principal(name) => Some(&**name),
        Owner::Address(_) | Owner::Local => None,
    };
    bearer.map(String::as_str).filter(|text| !text.is_empty()).or_else(principal).map(clipped)
}

/// The beginning of a text that a client has chosen.
fn clipped(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protomcp_types::{JsonObject, Params, RawJson};

    use super::*;

    #[test]
    fn a_name_has_nothing_of_a_user() {
        let long = "é".repeat(300);
        let cut = format!("{}…", "é".repeat(MAX_TEXT));
        for (method, name, shown) in [
            ("tools/call", Some("add"), Some("add")),
            ("tools/call", Some(long.as_str()), Some(cut.as_str())),
            ("tools/call", None, None),
            ("prompts/get", Some("summary"), Some("summary")),
            ("resources/read", Some("notes://ann/secret"), Some("notes")),
            ("resources/read", Some("my secret: 7"), None),
            ("resources/read", Some("secret"), None),
            ("tasks/get", Some("unguessable"), None),
            ("ping", None, None),
        ] {
            let target = RequestTarget { method: method.into(), name: name.map(str::to_owned) };
            assert_eq!(super::name(&target).as_deref(), shown, "{method} {name:?}");
        }
    }

    #[test]
    fn a_search_of_lazy_tools_is_what_its_client_sent() {
        for (name, method, shown) in [
            ("search_tools", "tools/call", Some("search_tools")),
            ("describe_tools", "tools/call", Some("describe_tools")),
            ("call_tool", "tools/call", Some("add")),
        ] {
            let params = format!(r#"{{"name":"{name}","arguments":{{"name":"add"}}}}"#);
            let params = JsonObject::from_raw(&RawJson::parse(params).unwrap()).unwrap();
            let request =
                Request { id: RequestId::from(1), method: "tools/call".into(), params: Params::Named(params) };
            let target = sent(&request, &RequestTarget::behind_lazy_tools(&request));
            assert_eq!((&*target.method, target.name.as_deref()), (method, shown), "{name}");
        }
    }

    #[test]
    fn the_subject_is_the_bearer_of_the_token() {
        let identity = |subject: &str, client: &str| CallerIdentity {
            subject: subject.to_owned(),
            client_id: client.to_owned(),
            issuer: String::new(),
            scopes: Vec::new(),
        };
        let ann: Option<Arc<str>> = Some("ann".into());
        let address = "192.0.2.1".parse().ok();
        for (principal, bearer, shown) in [
            (None, None, None),
            (ann.clone(), None, Some("ann")),
            (ann.clone(), Some(identity("bob", "app")), Some("bob")),
            (ann.clone(), Some(identity("", "app")), Some("app")),
            (ann, Some(identity("", "")), Some("ann")),
        ] {
            let peer = Peer::new(principal, address, None);
            let known = bearer.map_or_else(Extensions::default, |bearer| Extensions::default().with(Arc::new(bearer)));
            assert_eq!(subject(&peer, &known).as_deref(), shown);
        }
    }

    #[test]
    fn the_outcome_of_a_call_is_in_its_result() {
        for (method, result, outcome) in [
            ("tools/call", r#"{"content":[],"isError":true}"#, "tool error"),
            ("tools/call", r#"{"content":[{"isError":true}]}"#, "ok"),
            ("tools/call", r#"{"resultType":"input_required"}"#, "input required"),
            ("prompts/get", r#"{"resultType":"complete"}"#, "ok"),
            ("tools/list", r#"{"isError":true}"#, "ok"),
        ] {
            let (name, session, connection, subject) = (None, None, None, None);
            let line = Line { method: method.to_owned(), name, session, connection, subject, began: now() };
            let result: serde_json::Map<String, serde_json::Value> = serde_json::from_str(result).unwrap();
            let result =
                result.iter().fold(JsonBuf::object(), |object, (key, value)| object.value(key, value)).finish();
            assert_eq!(line.success(&result), outcome, "{method}");
        }
    }
}

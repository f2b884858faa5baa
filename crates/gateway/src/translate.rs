//! Members that requests, results and questions have in one era of MCP and not in the other. Everything else is passed
//! on as it was written.

use protomcp_server::ServerResult;
use protomcp_types::{
    CacheHint, CallToolResult, ClientCapabilities, Elicit, ErrorObject, Implementation, JsonObject, Kind, Level,
    Method, ProtocolVersion, RawJson, array, code, meta,
};

/// Members of a request's `_meta` that are for its receiver alone. The gateway writes its own.
const HOP_BY_HOP: [&str; 6] = [
    "progressToken",
    meta::RELATED_TASK,
    meta::PROTOCOL_VERSION,
    meta::CLIENT_CAPABILITIES,
    meta::CLIENT_INFO,
    meta::LOG_LEVEL,
];

/// The client of a request as a stateless server sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) implementation: &'a Implementation,
    pub(crate) capabilities: &'a ClientCapabilities,
    /// The least severe level of the log messages that it wants.
    pub(crate) level: Option<Level>,
}

/// The `_meta` of a request for a server; `caller`: for a stateless one.
pub(crate) fn request_meta(meta: Option<RawJson>, caller: Option<Caller<'_>>) -> Option<RawJson> {
    let members = meta.as_ref().and_then(|meta| JsonObject::from_raw(meta).ok());
    let changes = |members: &JsonObject| HOP_BY_HOP.iter().any(|name| members.member(name).is_some());
    if caller.is_none() && !members.as_ref().is_some_and(changes) {
        return meta;
    }
    let mut members = members.unwrap_or_default();
    remove(&mut members, &HOP_BY_HOP);
    if let Some(Caller { implementation, capabilities, level }) = caller {
        let json = "a client has string keys only";
        members.insert(meta::CLIENT_CAPABILITIES, RawJson::of(capabilities).expect(json));
        members.insert(meta::CLIENT_INFO, RawJson::of(implementation).expect(json));
        if let Some(level) = level {
            members.insert(meta::LOG_LEVEL, RawJson::text(level.as_str()));
        }
    }
    Some(members).filter(|members| !members.is_empty()).map(|members| members.to_body().into_raw())
}

/// The members of a result that are not for the gateway alone.
///
/// # Errors
/// If it is not an object.
pub(crate) fn result(raw: &RawJson) -> Result<JsonObject, ErrorObject> {
    let not_an_object = |_| ErrorObject::internal("the result of the server is not an object");
    let mut members = JsonObject::from_raw(raw).map_err(not_an_object)?;
    members.take("resultType");
    // The gateway adds its own identity where there is one, and its tasks have other ids.
    strip_meta(&mut members, &[meta::SERVER_INFO, meta::RELATED_TASK]);
    Ok(members)
}

/// The result of a tool: as it was written, but typed if it says that the tool has failed, which layers count, or if its
/// structured content is not an object, which only the newest revision has.
pub(crate) fn tool_result(raw: &RawJson) -> Result<ServerResult, ErrorObject> {
    let members = result(raw)?;
    let is_known = |name: &str| matches!(name, "content" | "structuredContent" | "isError" | "_meta");
    let has_failed = members.member("isError").is_some_and(|is_error| is_error.as_str() == "true");
    let is_odd = members.member("structuredContent").is_some_and(|structured| structured.kind() != Kind::Object);
    let content = members.member("content").cloned().or_else(|| is_odd.then_some(RawJson::EMPTY_ARRAY));
    match content {
        Some(content) if (has_failed || is_odd) && members.iter().all(|(name, _)| is_known(name)) => {
            let structured = members.member("structuredContent").filter(|value| value.kind() != Kind::Null);
            let (structured_content, meta) = (structured.cloned(), members.member("_meta").cloned());
            let result = CallToolResult { content, structured_content, is_error: has_failed, meta };
            Ok(result.into())
        }
        _ => Ok(ServerResult::Body(members.to_body())),
    }
}

/// A page of a list for clients of the revisions with a session. They refuse a list with an output schema that is not one
/// of objects (MCP 2025-11-25, server/tools), so that such schemas are left out.
pub(crate) fn listed(page: ServerResult) -> ServerResult {
    let mut page = match page {
        ServerResult::ListTools(page) => page,
        other => return other,
    };
    let Ok(tools) = page.tools.to::<Vec<RawJson>>() else { return page.into() };
    let mut has_changed = false;
    let mut fitting = Vec::with_capacity(tools.len());
    for tool in tools {
        match without_odd_schema(&tool) {
            Some(changed) => {
                has_changed = true;
                fitting.push(changed);
            }
            None => fitting.push(tool),
        }
    }
    if has_changed {
        page.tools = array(fitting);
    }
    page.into()
}

/// A tool without its output schema, if that is not one of objects.
fn without_odd_schema(tool: &RawJson) -> Option<RawJson> {
    let mut members = JsonObject::from_raw(tool).ok()?;
    let schema = members.take("outputSchema")?;
    let kind = JsonObject::from_raw(&schema).ok().and_then(|mut schema| schema.take("type"));
    (kind.as_ref().map(RawJson::as_str) != Some(r#""object""#)).then(|| members.to_body().into_raw())
}

/// The caching hints of a result (MCP 2026-07-28, server/utilities/caching).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hints {
    /// The revision of the client has none.
    Absent,
    /// The hints of the server; without any the answer must not be kept.
    Given,
    /// The client was asked for input, so the answer must not be kept.
    Never,
}

/// The contents of a resource.
pub(crate) fn contents(raw: &RawJson, hints: Hints) -> Result<ServerResult, ErrorObject> {
    let mut members = result(raw)?;
    if hints != Hints::Given {
        remove(&mut members, &["ttlMs", "cacheScope"]);
    }
    let is_complete = members.member("ttlMs").is_some() && members.member("cacheScope").is_some();
    if hints != Hints::Absent && !is_complete {
        let CacheHint { ttl_ms, cache_scope } = CacheHint::NONE;
        members.insert("ttlMs", RawJson::of(&ttl_ms).expect("a number is JSON"));
        members.insert("cacheScope", RawJson::text(cache_scope.as_str()));
    }
    Ok(ServerResult::Body(members.to_body()))
}

/// The refusal of a server, with the code of the client's era. `uri`: the resource that was asked for.
pub(crate) fn refusal(mut error: ErrorObject, uri: Option<&str>, is_stateless: bool) -> ErrorObject {
    let names_uri = || {
        let data = error.data.as_ref().and_then(|data| JsonObject::from_raw(data).ok());
        data.and_then(|data| data.member("uri")?.to::<String>().ok())
    };
    // MCP 2026-07-28 has no separate code for a resource that does not exist; the other revisions do.
    if !is_stateless && error.code == code::INVALID_PARAMS && uri.is_some() && names_uri().as_deref() == uri {
        error.code = code::RESOURCE_NOT_FOUND;
    }
    error
}

/// The parameters of a question for a client of this revision. `page`: the id of an elicitation with a web page, if the
/// server has given none.
pub(crate) fn question(
    method: &str,
    mut params: JsonObject,
    version: ProtocolVersion,
    page: impl FnOnce() -> String,
) -> JsonObject {
    strip_meta(&mut params, &HOP_BY_HOP);
    if method != Elicit::NAME {
        return params;
    }
    let is_page = params.member("mode").is_some_and(|mode| mode.as_str() == "\"url\"");
    if is_page && !version.is_stateful() {
        params.take("elicitationId");
    } else if is_page && params.member("elicitationId").is_none() {
        params.insert("elicitationId", RawJson::text(&page()));
    } else if !is_page && version < ProtocolVersion::V2025_11_25 {
        // Those revisions have forms only, and no modes.
        params.take("mode");
    }
    params
}

fn strip_meta(members: &mut JsonObject, names: &[&str]) {
    let Some(mut meta) = members.member("_meta").and_then(|meta| JsonObject::from_raw(meta).ok()) else { return };
    if !remove(&mut meta, names) {
        return;
    }
    if meta.is_empty() {
        members.take("_meta");
    } else {
        members.insert("_meta", meta.to_body().into_raw());
    }
}

/// True if a member was there.
fn remove(members: &mut JsonObject, names: &[&str]) -> bool {
    names.iter().filter(|name| members.take(name).is_some()).count() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    fn object(text: &'static str) -> JsonObject {
        JsonObject::from_raw(&raw(text)).unwrap()
    }

    #[test]
    fn a_request_keeps_what_is_not_for_the_gateway_alone() {
        for (meta, expected) in [
            (None, None),
            (Some("{ }"), Some("{ }")),
            (Some(r#"{"traceparent": "00-1" }"#), Some(r#"{"traceparent": "00-1" }"#)),
            (Some(r#"{"progressToken":1}"#), None),
            (
                Some(r#"{"a":1.0,"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#),
                Some(r#"{"a":1.0}"#),
            ),
        ] {
            let passed = request_meta(meta.map(raw), None);
            assert_eq!(passed.as_ref().map(RawJson::as_str), expected, "{meta:?}");
        }
    }

    #[test]
    fn a_stateless_server_sees_the_client_itself() {
        let implementation = Implementation::new("host", "1");
        let capabilities = ClientCapabilities::new().with("roots", RawJson::EMPTY_OBJECT);
        let caller = Caller { implementation: &implementation, capabilities: &capabilities, level: Some(Level::Info) };
        let passed = request_meta(Some(raw(r#"{"a":1.0}"#)), Some(caller)).unwrap();
        let expected = r#"{"a":1.0,"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"},"io.modelcontextprotocol/logLevel":"info"}"#;
        assert_eq!(passed.as_str(), expected);
    }

    #[test]
    fn a_result_keeps_what_it_has() {
        let typed = r#"{"resultType":"complete","content":[ 1 ],"isError":true,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a"}}}"#;
        let Ok(ServerResult::CallTool(result)) = tool_result(&raw(typed)) else { panic!("it is a usual error") };
        assert_eq!((result.content.as_str(), result.is_error, result.meta), ("[ 1 ]", true, None));
        let plain = r#"{"structuredContent":{},"isError":false,"content":[ ]}"#;
        let Ok(ServerResult::Body(body)) = tool_result(&raw(plain)) else { panic!("it has not failed") };
        assert_eq!(body.into_raw().as_str(), plain);
        let later = r#"{"content":[],"later":{ "a":1.50 },"_meta":{"io.modelcontextprotocol/serverInfo":{},"b":2}}"#;
        let Ok(ServerResult::Body(body)) = tool_result(&raw(later)) else { panic!("a member is unknown") };
        assert_eq!(body.into_raw().as_str(), r#"{"content":[],"later":{ "a":1.50 },"_meta":{"b":2}}"#);
        assert!(tool_result(&raw("[]")).is_err());
    }

    #[test]
    fn structured_content_that_is_not_an_object_is_typed() {
        for (text, content, structured) in [
            (r#"{"content":[ 1 ],"structuredContent":[1]}"#, "[ 1 ]", Some("[1]")),
            (r#"{"structuredContent":5}"#, "[]", Some("5")),
            (r#"{"content":[],"structuredContent":null}"#, "[]", None),
        ] {
            let Ok(ServerResult::CallTool(result)) = tool_result(&raw(text)) else { panic!("{text}") };
            let found = result.structured_content.as_ref().map(RawJson::as_str);
            assert_eq!((result.content.as_str(), found, result.is_error), (content, structured, false), "{text}");
        }
    }

    #[test]
    fn older_clients_see_output_schemas_of_objects_alone() {
        let page = |tools: &str| {
            let tools = RawJson::parse(tools.to_owned()).unwrap();
            protomcp_types::ListToolsResult { tools, next_cursor: Some("c".into()), meta: None }
        };
        let shown = |tools: &str| match listed(page(tools).into()) {
            ServerResult::ListTools(page) => (page.tools.as_str().to_owned(), page.next_cursor),
            other => panic!("{other:?}"),
        };
        for schema in [r#"{"type":"array"}"#, "{}", "true", "null", r#"{"type":["object","null"]}"#] {
            let tools = format!(r#"[{{"name":"a","outputSchema":{schema},"title":"A"}},{{ "name":"b" }}]"#);
            let expected = r#"[{"name":"a","title":"A"},{ "name":"b" }]"#;
            assert_eq!(shown(&tools), (expected.to_owned(), Some("c".to_owned())), "{schema}");
        }
        let tools = r#"[{ "name":"a", "outputSchema":{"type":"object"}}]"#;
        assert_eq!(shown(tools).0, tools);
    }

    #[test]
    fn only_stateless_clients_get_caching_hints() {
        let text = |raw: &RawJson, hints| match contents(raw, hints) {
            Ok(ServerResult::Body(body)) => body.into_raw().as_str().to_owned(),
            other => panic!("{other:?}"),
        };
        let fresh = raw(r#"{"contents":[],"ttlMs":7,"cacheScope":"public"}"#);
        let old = raw(r#"{"contents":[]}"#);
        let none = r#"{"contents":[],"ttlMs":0,"cacheScope":"private"}"#;
        assert_eq!(text(&fresh, Hints::Given), fresh.as_str());
        assert_eq!([text(&fresh, Hints::Never), text(&old, Hints::Given)], [none; 2]);
        assert_eq!([text(&fresh, Hints::Absent), text(&old, Hints::Absent)], [r#"{"contents":[]}"#; 2]);
    }

    #[test]
    fn an_unknown_resource_has_the_code_of_the_client() {
        let stateless = ErrorObject { code: code::INVALID_PARAMS, ..ErrorObject::resource_not_found("a") };
        for (uri, is_stateless, expected) in [
            (Some("a"), false, code::RESOURCE_NOT_FOUND),
            (Some("a"), true, code::INVALID_PARAMS),
            (Some("b"), false, code::INVALID_PARAMS),
            (None, false, code::INVALID_PARAMS),
        ] {
            assert_eq!(refusal(stateless.clone(), uri, is_stateless).code, expected);
        }
    }

    #[test]
    fn a_question_fits_the_revision_of_the_client() {
        let page = r#"{"mode":"url","message":"","url":"https://a"}"#;
        let known = r#"{"mode":"url","message":"","url":"https://a","elicitationId":"7"}"#;
        let form = r#"{"mode":"form","message":"","requestedSchema":{},"_meta":{"progressToken":1}}"#;
        for (params, version, expected) in [
            (page, ProtocolVersion::V2026_07_28, page),
            (known, ProtocolVersion::V2026_07_28, page),
            (
                page,
                ProtocolVersion::V2025_11_25,
                r#"{"mode":"url","message":"","url":"https://a","elicitationId":"new"}"#,
            ),
            (known, ProtocolVersion::V2025_11_25, known),
            (form, ProtocolVersion::V2025_11_25, r#"{"mode":"form","message":"","requestedSchema":{}}"#),
            (form, ProtocolVersion::V2025_06_18, r#"{"message":"","requestedSchema":{}}"#),
        ] {
            let passed = question(Elicit::NAME, object(params), version, || "new".into());
            assert_eq!(passed.to_body().into_raw().as_str(), expected);
        }
    }
}

//! The head of the HTTP request that carries a message. A value: no I/O.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, InvalidHeaderValue};
use http::{HeaderMap, HeaderName, HeaderValue};
use protomcp_types::{Message, Output, Params, ProtocolVersion, RequestMeta, header};

/// The id of a session.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The revision that a request uses.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of a stateless request.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The tool, prompt, resource or task that a stateless request names.
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The position from which a stream is resumed.
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The oldest revision whose requests name it in a header (MCP 2025-06-18, basic/transports).
const FIRST_WITH_VERSION: ProtocolVersion = ProtocolVersion::V2025_06_18;

/// The fields by which the server finds the session of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SessionFields {
    pub(crate) id: Option<HeaderValue>,
    /// The negotiated revision; `None` before the end of the handshake.
    pub(crate) version: Option<ProtocolVersion>,
}

impl SessionFields {
    fn add_to(&self, headers: &mut HeaderMap) {
        if let Some(version) = self.version.filter(|version| *version >= FIRST_WITH_VERSION) {
            headers.insert(VERSION, HeaderValue::from_static(version.as_str()));
        }
        if let Some(id) = &self.id {
            headers.insert(SESSION, id.clone());
        }
    }
}

/// The fields of a POST in a session. The handshake has none but the types.
pub(crate) fn session_post(session: &SessionFields) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(ACCEPT, BOTH), (CONTENT_TYPE, JSON)]);
    session.add_to(&mut headers);
    headers
}

/// The fields of the GET that opens a stream, or resumes it.
pub(crate) fn stream_get(session: &SessionFields, last_event: Option<&HeaderValue>) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(ACCEPT, EVENTS)]);
    session.add_to(&mut headers);
    headers.extend(last_event.map(|id| (LAST_EVENT, id.clone())));
    headers
}

/// The fields of the DELETE that ends a session.
pub(crate) fn session_delete(session: &SessionFields) -> HeaderMap {
    let mut headers = HeaderMap::new();
    session.add_to(&mut headers);
    headers
}

/// The fields of a POST without a session, which repeat the body (MCP 2026-07-28, basic/transports).
///
/// # Errors
/// If the revision or method cannot be in a header.
pub(crate) fn stateless_post(
    method: &str,
    params: &Params,
    meta: &RequestMeta,
) -> Result<HeaderMap, InvalidHeaderValue> {
    let mut headers = HeaderMap::from_iter([(ACCEPT, BOTH), (CONTENT_TYPE, JSON)]);
    if let Ok(version) = meta.requested_version() {
        headers.insert(VERSION, HeaderValue::from_str(&version)?);
    }
    headers.insert(METHOD, HeaderValue::from_str(method)?);
    // The server reports a name that is missing or not text.
    let name = header::name_member(method).and_then(|member| params.required::<String>(member).ok());
    if let Some(name) = name {
        headers.insert(NAME, HeaderValue::from_str(&header::encode(&name))?);
    }
    Ok(headers)
}

/// Adds the fields that the client has made for one request.
///
/// # Errors
/// The name of a field that is not valid, is not the client's to set, or has no room.
pub(crate) fn add_fields(headers: &mut HeaderMap, fields: Vec<(String, String)>) -> Result<(), String> {
    for (name, value) in fields {
        let field = HeaderName::try_from(&name).ok().filter(|name| !is_reserved(name));
        match (field, HeaderValue::try_from(value)) {
            // The client bounds the fields of a tool. Other callers of the transport may not: `insert` panics then.
            (Some(field), Ok(value)) => drop(headers.try_insert(field, value).map_err(|_| name)?),
            (None, _) | (_, Err(_)) => return Err(name),
        }
    }
    Ok(())
}

/// True for the fields that the transport sets itself.
pub(crate) fn is_reserved(name: &HeaderName) -> bool {
    use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
    [ACCEPT, CONTENT_TYPE, CONTENT_LENGTH, CONNECTION, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE].contains(name)
        || [SESSION, VERSION, METHOD, NAME, LAST_EVENT].contains(name)
}

/// The pieces of a body. Large parts of messages are shared.
#[derive(Debug, Default)]
struct Pieces {
    done: Vec<Bytes>,
    tail: Vec<u8>,
}

impl Output for Pieces {
    fn put(&mut self, piece: &[u8]) {
        self.tail.extend_from_slice(piece);
    }

    fn put_shared(&mut self, piece: Bytes) {
        if !self.tail.is_empty() {
            self.done.push(std::mem::take(&mut self.tail).into());
        }
        self.done.push(piece);
    }
}

/// The body with one message.
pub(crate) fn body(message: &Message) -> Vec<Bytes> {
    let mut out = Pieces::default();
    message.write_to(&mut out);
    out.done.extend((!out.tail.is_empty()).then(|| out.tail.into()));
    out.done
}

/// The body with several messages (MCP 2025-03-26).
pub(crate) fn batch_body(messages: &[Message]) -> Vec<Bytes> {
    let mut out = Pieces::default();
    for (index, message) in messages.iter().enumerate() {
        out.put(if index == 0 { b"[" } else { b"," });
        message.write_to(&mut out);
    }
    out.put(b"]");
    out.done.push(out.tail.into());
    out.done
}

#[cfg(test)]
mod tests {
    use protomcp_types::RawJson;

    use super::*;

    fn fields(headers: &HeaderMap) -> Vec<(&str, &str)> {
        let mut fields: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        fields.retain(|(name, _)| !["accept", "content-type"].contains(name));
        fields.sort_unstable();
        fields
    }

    fn params(text: &str) -> Params {
        Params::of(&RawJson::parse(text.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn a_session_names_its_revision_since_2025_06_18() {
        let session = |version| SessionFields { id: Some(HeaderValue::from_static("s1")), version };
        for (version, expected) in [
            (None, None),
            (Some(ProtocolVersion::V2024_11_05), None),
            (Some(ProtocolVersion::V2025_03_26), None),
            (Some(ProtocolVersion::V2025_06_18), Some("2025-06-18")),
            (Some(ProtocolVersion::V2025_11_25), Some("2025-11-25")),
        ] {
            let version_of = expected.map(|version| ("mcp-protocol-version", version));
            let expected: Vec<_> = version_of.into_iter().chain([("mcp-session-id", "s1")]).collect();
            assert_eq!(fields(&session_post(&session(version))), expected);
            assert_eq!(fields(&session_delete(&session(version))), expected);
            assert_eq!(fields(&stream_get(&session(version), None)), expected);
        }
        let last = HeaderValue::from_static("1-2");
        assert_eq!(fields(&stream_get(&SessionFields::default(), Some(&last))), [("last-event-id", "1-2")]);
        assert_eq!(fields(&session_post(&SessionFields::default())), []);
    }

    #[test]
    fn a_stateless_request_repeats_its_body() {
        for (method, members, name) in [
            ("tools/call", r#""name":"add","arguments":{}"#, Some("add")),
            ("prompts/get", r#""name":"ü""#, Some("=?base64?w7w=?=")),
            ("resources/read", r#""uri":"file:///a b""#, Some("file:///a b")),
            ("tasks/get", r#""taskId":"t1""#, Some("t1")),
            ("tasks/update", r#""taskId":"t1""#, Some("t1")),
            ("tasks/cancel", r#""taskId":" t1""#, Some("=?base64?IHQx?=")),
            ("tools/call", r#""name":5"#, None),
            ("tools/list", r#""name":"x""#, None),
        ] {
            let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
            let params = params(&format!("{{{members},{meta}}}"));
            let headers = stateless_post(method, &params, &RequestMeta::of(&params)).unwrap();
            let mut expected = vec![("mcp-method", method)];
            expected.extend(name.map(|name| ("mcp-name", name)));
            expected.push(("mcp-protocol-version", "2026-07-28"));
            assert_eq!(fields(&headers), expected);
            assert_eq!(headers[ACCEPT], "application/json, text/event-stream");
        }
    }

    #[test]
    fn a_method_that_no_header_can_carry_is_an_error() {
        let params = params("{}");
        assert!(stateless_post("a\nb", &params, &RequestMeta::of(&params)).is_err());
    }

    #[test]
    fn fields_of_the_transport_cannot_be_replaced() {
        let mut headers = HeaderMap::new();
        let add =
            |headers: &mut _, name: &str, value: &str| add_fields(headers, vec![(name.to_owned(), value.to_owned())]);
        assert_eq!(add(&mut headers, "Mcp-Param-Region", "x"), Ok(()));
        assert_eq!(add(&mut headers, "Mcp-Param-Empty", ""), Ok(()));
        for (name, value) in
            [("Accept", "x"), ("mcp-session-id", "x"), ("Host", "x"), ("a b", "x"), ("", "x"), ("x", "a\r\nb: c")]
        {
            assert_eq!(add(&mut headers, name, value), Err(name.to_owned()));
        }
        assert_eq!(fields(&headers), [("mcp-param-empty", ""), ("mcp-param-region", "x")]);
    }

    #[test]
    fn a_field_without_room_is_an_error() {
        let fields = (0..100_000).map(|n| (format!("mcp-param-{n}"), String::new())).collect();
        let mut headers = HeaderMap::new();
        let refused = add_fields(&mut headers, fields).unwrap_err();
        assert!(refused.starts_with("mcp-param-") && headers.len() > 1000, "{refused}");
    }

    #[test]
    fn a_body_is_the_text_of_its_messages() {
        let message = Message::notification("notifications/initialized", Params::Absent);
        assert_eq!(body(&message).concat(), message.to_text().into_bytes());
        let both = batch_body(&[message.clone(), message.clone()]).concat();
        assert_eq!(String::from_utf8(both).unwrap(), format!("[{0},{0}]", message.to_text()));
    }
}

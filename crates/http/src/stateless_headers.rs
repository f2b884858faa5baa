//! Checks that the headers of a request of 2026-07-28 repeat its body, for proxies that read headers only.

use std::borrow::Cow;
use std::fmt;

use http::{HeaderMap, HeaderName};
use memchr::memmem;
use protomcp_types::{
    ErrorObject, JsonObject, Kind, MAX_MEMBERS, Notification, Params, RawJson, Request, RequestMeta, code, header,
};
use serde_json::Value;

use crate::headers::{METHOD, NAME, VERSION, decode, repeated, text};

/// The member of a property in an input schema that names the header for it.
const ANNOTATION: &str = "x-mcp-header";

/// The depth in a schema to which annotations are searched.
const MAX_SCHEMA_DEPTH: usize = 32;

/// The number of letters of a value that an error repeats.
const MAX_QUOTED: usize = 200;

/// Checks headers and `_meta`, in the order in which clients test them; `definition` looks up a tool.
pub(crate) fn check(
    request: &Request,
    meta: &RequestMeta,
    headers: &HeaderMap,
    definition: impl Fn(&str) -> Option<RawJson>,
) -> Result<(), ErrorObject> {
    if let Some(header) = repeated(headers) {
        return Err(ErrorObject::new(code::HEADER_MISMATCH, format!("there are several headers {header}")));
    }
    let version = text(headers, &VERSION).ok_or_else(|| missing(&VERSION))?;
    let method = text(headers, &METHOD).ok_or_else(|| missing(&METHOD))?;
    let name = headers.get(NAME);
    let names = header::name_member(&request.method);
    if names.is_some() && name.is_none() {
        return Err(missing(&NAME));
    }
    let in_body = meta.requested_version()?;
    meta.declared_capabilities()?;
    if in_body != version {
        return Err(mismatch(&VERSION, version, &in_body));
    }
    meta.version()?;
    if method != request.method {
        return Err(mismatch(&METHOD, method, &request.method));
    }
    if let (Some(member), Some(header)) = (names, name) {
        let given = decode(header).ok_or_else(|| undecodable(&NAME))?;
        // A name that is missing or not text is an error of the body.
        if let Some(expected) = request.params.member(member).and_then(RawJson::to_text)
            && given != expected
        {
            return Err(mismatch(&NAME, &given, &expected));
        }
        if request.method == "tools/call"
            && let Some(tool) = definition(&given)
        {
            return check_arguments(&tool, &request.params, headers);
        }
    }
    Ok(())
}

/// Checks the headers of a notification. It gets no answer, so members that its body lacks are not required.
pub(crate) fn check_notice(notice: &Notification, headers: &HeaderMap) -> Result<(), ErrorObject> {
    let version = text(headers, &VERSION).ok_or_else(|| missing(&VERSION))?;
    let method = text(headers, &METHOD).ok_or_else(|| missing(&METHOD))?;
    if let Ok(in_body) = RequestMeta::of(&notice.params).requested_version()
        && in_body != version
    {
        return Err(mismatch(&VERSION, version, &in_body));
    }
    if method != notice.method { Err(mismatch(&METHOD, method, &notice.method)) } else { Ok(()) }
}

/// Checks the headers that repeat arguments.
fn check_arguments(tool: &RawJson, params: &Params, headers: &HeaderMap) -> Result<(), ErrorObject> {
    // Few tools have annotations, and the others need not be read.
    if memmem::find(tool.as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(());
    }
    let Ok(tool) = tool.to::<Value>() else { return Ok(()) };
    let Some(schema) = tool.get("inputSchema") else { return Ok(()) };
    let mut pending = vec![(schema, params.member("arguments").cloned(), 0)];
    while let Some((schema, value, depth)) = pending.pop() {
        let properties = schema.get("properties").and_then(Value::as_object).filter(|_| depth < MAX_SCHEMA_DEPTH);
        let Some(properties) = properties else { continue };
        // Arguments may be long: they are read one level deep, where the schema requires it.
        let members = value.filter(|value| value.kind() == Kind::Object).map(|value| JsonObject::from_raw(&value));
        let Ok(members) = members.transpose() else {
            let why = format!("arguments with more than {MAX_MEMBERS} members cannot be compared with headers");
            return Err(ErrorObject::new(code::HEADER_MISMATCH, why));
        };
        for (name, property) in properties {
            let value = members.as_ref().and_then(|members| members.member(name));
            if let Some(suffix) = property.get(ANNOTATION).and_then(Value::as_str) {
                check_argument(suffix, value, headers)?;
            }
            pending.push((property, value.cloned(), depth + 1));
        }
    }
    Ok(())
}

fn check_argument(suffix: &str, value: Option<&RawJson>, headers: &HeaderMap) -> Result<(), ErrorObject> {
    // An annotation that is not a valid header name is ignored.
    let Ok(header) = HeaderName::try_from(format!("{}{}", header::PARAM_PREFIX, suffix.to_ascii_lowercase())) else {
        return Ok(());
    };
    let text = value;
    let value = match value {
        // A value of another type is not repeated.
        Some(value) if matches!(value.kind(), Kind::Array | Kind::Object) => return Ok(()),
        Some(value) => value.to::<Value>().unwrap_or_default(),
        None => Value::Null,
    };
    let expected = match &value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        Value::Number(number) => Cow::Owned(number.to_string()),
        Value::Bool(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
        Value::Null => {
            return match headers.get(&header) {
                Some(_) => {
                    Err(ErrorObject::new(code::HEADER_MISMATCH, format!("header {header} has no argument to repeat")))
                }
                None => Ok(()),
            };
        }
        Value::Array(_) | Value::Object(_) => return Ok(()),
    };
    let given = headers.get(&header).ok_or_else(|| missing(&header))?;
    let given = decode(given).ok_or_else(|| undecodable(&header))?;
    let is_same = match value {
        // The text of the body first: a number beyond 64 bits is not read exactly.
        Value::Number(_) if text.is_some_and(|text| text.as_str() == given) => true,
        Value::Number(_) => given == expected || integer(&given).is_some_and(|given| integer(&expected) == Some(given)),
        _ => given == expected,
    };
    if is_same { Ok(()) } else { Err(mismatch(&header, &given, &expected)) }
}

/// The integer value of a decimal without a fraction: clients write `5` as `5.0`, too. Exact, because a close value must
/// not count as the same.
fn integer(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_integer = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0') && !whole.starts_with('+');
    whole.parse().ok().filter(|_| is_integer)
}

fn missing(header: &HeaderName) -> ErrorObject {
    ErrorObject::new(code::HEADER_MISMATCH, format!("header {header} is missing"))
}

fn undecodable(header: &HeaderName) -> ErrorObject {
    ErrorObject::new(code::HEADER_MISMATCH, format!("header {header} cannot be decoded"))
}

fn mismatch(header: &HeaderName, given: &str, expected: &str) -> ErrorObject {
    let (given, expected) = (Quoted(given), Quoted(expected));
    ErrorObject::new(code::HEADER_MISMATCH, format!("header {header} is {given}, but the body says {expected}"))
}

/// The beginning of a text, in quotes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(MAX_QUOTED) {
            Some((end, _)) => write!(f, "{:?}...", &self.0[..end]),
            None => write!(f, "{:?}", self.0),
        }
    }
}

/// The status of an answer (MCP 2026-07-28, basic/transports).
pub(crate) fn status(error: &ErrorObject) -> http::StatusCode {
    match error.code {
        code::METHOD_NOT_FOUND => http::StatusCode::NOT_FOUND,
        code::INVALID_PARAMS
        | code::INVALID_REQUEST
        | code::PARSE_ERROR
        | code::HEADER_MISMATCH
        | code::MISSING_CLIENT_CAPABILITY
        | code::UNSUPPORTED_PROTOCOL_VERSION => http::StatusCode::BAD_REQUEST,
        _ => http::StatusCode::OK,
    }
}

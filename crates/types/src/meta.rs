//! Members of `_meta` objects.

use crate::id::ProgressToken;
use crate::json_buf::JsonBuf;
use crate::json_object::JsonObject;
use crate::output::put_text;
use crate::params::Params;
use crate::raw::RawJson;

pub use crate::meta_names::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION, RELATED_TASK, SERVER_INFO, SUBSCRIPTION_ID,
};

/// True if `meta` may have a member of this name, at any depth; false is certain. Finds out without parsing.
#[must_use]
pub fn may_have(meta: &RawJson, name: &str) -> bool {
    let text = meta.as_str();
    // Escapes can hide a name.
    text.contains(name) || text.contains('\\')
}

/// Adds a member to `meta`, or to an empty object. An existing member stays; a value that is not an object is
/// unchanged.
#[must_use]
pub fn with_member(meta: Option<&RawJson>, name: &'static str, value: &RawJson) -> RawJson {
    if let Some(appended) = meta.and_then(|meta| append(meta, name, value)) {
        return appended;
    }
    let members = match meta {
        None => JsonObject::new(),
        Some(meta) => match JsonObject::from_raw(meta) {
            Ok(members) if members.member(name).is_none() => members,
            Ok(_) | Err(_) => return meta.clone(),
        },
    };
    members.with(name, value.clone()).to_body().into_raw()
}

/// Adds a member behind the others, without parsing them. `None`: there may be one of this name, or there is none at
/// all.
fn append(meta: &RawJson, name: &str, value: &RawJson) -> Option<RawJson> {
    let members = meta.as_str().strip_prefix('{')?.strip_suffix('}')?;
    if members.trim_ascii().is_empty() || may_have(meta, name) {
        return None;
    }
    let mut text = Vec::with_capacity(meta.len() + name.len() + value.len() + 4);
    text.extend_from_slice(b"{");
    text.extend_from_slice(members.as_bytes());
    text.extend_from_slice(b",");
    put_text(&mut text, name);
    text.extend_from_slice(b":");
    text.extend_from_slice(value.as_bytes());
    text.extend_from_slice(b"}");
    Some(RawJson::trusted(text))
}

/// The progress token of a request, from its `_meta`. A token that is neither string nor integer is ignored.
#[must_use]
pub fn progress_token(meta: &RawJson) -> Option<ProgressToken> {
    JsonObject::from_raw(meta).ok()?.member("progressToken").and_then(ProgressToken::from_raw)
}

/// Parameters that ask for progress under this token.
#[must_use]
pub fn with_progress_token(params: Params, token: &ProgressToken) -> Params {
    with_meta(params, |meta| {
        let meta = meta.and_then(|meta| JsonObject::from_raw(meta).ok()).unwrap_or_default();
        meta.with("progressToken", token.to_raw()).to_body().into_raw()
    })
}

/// Parameters of a message that belongs to a task.
#[must_use]
pub fn of_task(params: Params, task_id: &str) -> Params {
    with_meta(params, |meta| with_related_task(meta, task_id))
}

fn with_meta(params: Params, change: impl FnOnce(Option<&RawJson>) -> RawJson) -> Params {
    let mut members = match params {
        Params::Named(members) => members,
        Params::Absent => JsonObject::new(),
        // MCP has no methods with positional parameters.
        Params::Positional(list) => return Params::Positional(list),
    };
    let meta = members.take("_meta");
    members.insert("_meta", change(meta.as_ref()));
    members.into()
}

/// Adds the task that a message belongs to, to `meta` or to an empty object.
#[must_use]
pub fn with_related_task(meta: Option<&RawJson>, task_id: &str) -> RawJson {
    let related = JsonBuf::object().text("taskId", task_id).finish().into_raw();
    let members = meta.and_then(|meta| JsonObject::from_raw(meta).ok()).unwrap_or_default();
    members.with(RELATED_TASK, related).to_body().into_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_related_task_is_added_to_the_existing_meta() {
        assert_eq!(with_related_task(None, "t").as_str(), r#"{"io.modelcontextprotocol/related-task":{"taskId":"t"}}"#);
        let meta = RawJson::parse(r#"{"a":1,"io.modelcontextprotocol/related-task":{}}"#).unwrap();
        assert_eq!(
            with_related_task(Some(&meta), "t").as_str(),
            r#"{"a":1,"io.modelcontextprotocol/related-task":{"taskId":"t"}}"#
        );
    }

    #[test]
    fn a_name_is_missed_only_where_it_is_not() {
        for (meta, may_have_it) in [
            ("{}", false),
            (r#"{"a":1}"#, false),
            (r#"{"b":1}"#, true),
            (r#"{"\u0062":1}"#, true),
            (r#"{"a":"b"}"#, true),
        ] {
            assert_eq!(may_have(&RawJson::parse(meta).unwrap(), "b"), may_have_it, "{meta}");
        }
    }

    #[test]
    fn a_member_is_added_to_what_is_there() {
        let raw = |text: &'static str| RawJson::parse(text).unwrap();
        let with = |meta: Option<RawJson>| with_member(meta.as_ref(), "b", &raw("2")).to_string();
        assert_eq!(with(None), r#"{"b":2}"#);
        assert_eq!(with(Some(raw(r#"{"a":1}"#))), r#"{"a":1,"b":2}"#);
        assert_eq!(with(Some(raw(r#"{"b":1}"#))), r#"{"b":1}"#);
        assert_eq!(with(Some(raw("[]"))), "[]");
        assert_eq!(with(Some(raw("{ }"))), r#"{"b":2}"#);
        assert_eq!(with(Some(raw(r#"{"a" : [1] }"#))), r#"{"a" : [1] ,"b":2}"#);
        assert_eq!(with(Some(raw(r#"{"a":{"b":1}}"#))), r#"{"a":{"b":1},"b":2}"#);
        assert_eq!(with(Some(raw(r#"{"\u0062":1}"#))), r#"{"\u0062":1}"#);
    }

    #[test]
    fn a_token_keeps_its_type() {
        for (meta, token) in [
            (r#"{"progressToken":1}"#, Some(ProgressToken::from(1))),
            (r#"{"x":{},"progressToken":"1"}"#, Some(ProgressToken::from("1"))),
            (r#"{"progressToken":1.5}"#, None),
            (r#"{"progressToken":null}"#, None),
            ("{}", None),
            ("[]", None),
        ] {
            assert_eq!(progress_token(&RawJson::parse(meta).unwrap()), token, "{meta}");
        }
    }
}

//! The failure of a request, before it is known which of the two error messages carries it.

use std::collections::BTreeMap;

use prost_types::{ListValue, Struct, Value, value::Kind};
use protomcp_types::{ErrorObject, JsonObject};
use serde_json::json;

use crate::code;
use crate::frame::FrameTooLarge;
use crate::limits::FrameLimits;
use crate::message::{Error, ErrorResponse};
use crate::schemas::{SchemaError, Violation};
use crate::well_known::entries;

/// A failure: code, text, and members of `data`.
///
/// `CallToolResponse.error` carries the failure of a tool call, with the members as text; `ErrorResponse` carries every
/// other one, with the members as values.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// One of [`code`], or of the tool's own server.
    pub code: i32,
    /// The reason in words, without secrets and internals.
    pub message: String,
    /// Members by name.
    pub data: BTreeMap<String, serde_json::Value>,
}

impl Fault {
    /// A failure without data.
    #[must_use]
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: BTreeMap::new() }
    }

    /// The failure of a request whose response is larger than the limit.
    pub(crate) fn too_large(error: FrameTooLarge) -> Self {
        Self::new(code::TOO_LARGE, format!("the response is too large: {error}"))
    }

    /// Adds a member of `data`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// The failure of a request that is not a tool call, or of a message that is not a request. Objects and arrays of
    /// `data` that are too deep for a decoder, or that have too many values together, are JSON in a text.
    #[must_use]
    pub fn to_response(&self) -> ErrorResponse {
        let all = self.data.len() + self.data.values().map(entries).sum::<usize>();
        let levels = if all > MAX_ENTRIES { 0 } else { MAX_DEPTH - 1 };
        let fields: BTreeMap<String, Value> = if self.data.len() > MAX_ENTRIES {
            [("data".to_owned(), json!(self.data).to_string().into())].into()
        } else {
            self.data.iter().map(|(name, value)| (name.clone(), to_value(value, levels))).collect()
        };
        let data = (!fields.is_empty()).then_some(Struct { fields });
        ErrorResponse { code: self.code, message: self.message.clone(), data }
    }

    /// The failure of a tool call. Members that are not text are JSON.
    #[must_use]
    pub fn to_error(&self) -> Error {
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let data = self.data.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        Error { code: self.code, message: self.message.clone(), data }
    }
}

/// The fault that a reader of its error message gets; the deepest parts of `data` are left out.
impl From<ErrorResponse> for Fault {
    fn from(response: ErrorResponse) -> Self {
        let fields = response.data.unwrap_or_default().fields;
        let data = fields.iter().map(|(name, value)| (name.clone(), of_value(value, MAX_DEPTH))).collect();
        Self { code: response.code, message: response.message, data }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let data = error.data.into_iter().map(|(name, value)| (name, value.into())).collect();
        Self { code: error.code, message: error.message, data }
    }
}

/// An error of MCP keeps its code; members of an object in its data become members.
impl From<ErrorObject> for Fault {
    fn from(error: ErrorObject) -> Self {
        let code = i32::try_from(error.code).unwrap_or(code::INTERNAL_ERROR);
        let mut fault = Self::new(code, error.message.into_owned());
        let Some(data) = error.data else { return fault };
        match JsonObject::from_raw(&data) {
            Ok(members) => {
                for (name, value) in members.iter() {
                    fault.data.insert(name.to_owned(), value.to().unwrap_or_default());
                }
                fault
            }
            Err(_) => fault.with("data", data.to::<serde_json::Value>().unwrap_or_default()),
        }
    }
}

impl From<SchemaError> for Fault {
    fn from(error: SchemaError) -> Self {
        let message = error.to_string();
        match error {
            SchemaError::Unresolved { cause, .. } => {
                Self::new(code::SCHEMA_UNRESOLVED, message).with("cause", cause.as_str())
            }
            SchemaError::Invalid(_) => Self::new(code::INVALID_PARAMS, message),
            SchemaError::Violations(violations) => {
                let list = |violation: &Violation| {
                    let Violation { field, rule_id, message } = violation;
                    json!({"field": field, "rule_id": rule_id, "message": message})
                };
                let fault = Self::new(code::SCHEMA_VIOLATED, message);
                let fault = fault.with("violations", violations.iter().map(list).collect::<Vec<_>>());
                match violations.into_iter().next() {
                    Some(first) => fault.with("field", first.field).with("rule_id", first.rule_id),
                    None => fault,
                }
            }
        }
    }
}

/// A value with this many objects and arrays inside each other; deeper ones are JSON in a text.
fn to_value(value: &serde_json::Value, levels: usize) -> Value {
    let kind = match (value, levels.checked_sub(1)) {
        (serde_json::Value::Null, _) => Kind::NullValue(0),
        (serde_json::Value::Bool(flag), _) => Kind::BoolValue(*flag),
        (serde_json::Value::Number(number), _) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        (serde_json::Value::String(text), _) => Kind::StringValue(text.clone()),
        (serde_json::Value::Array(_) | serde_json::Value::Object(_), None) => Kind::StringValue(value.to_string()),
        (serde_json::Value::Array(items), Some(below)) => {
            Kind::ListValue(ListValue { values: items.iter().map(|item| to_value(item, below)).collect() })
        }
        (serde_json::Value::Object(members), Some(below)) => {
            let fields = members.iter().map(|(name, value)| (name.clone(), to_value(value, below))).collect();
            Kind::StructValue(Struct { fields })
        }
    };
    Value { kind: Some(kind) }
}

fn of_value(value: &Value, depth: usize) -> serde_json::Value {
    let Some(below) = depth.checked_sub(1) else { return serde_json::Value::Null };
    match &value.kind {
        None | Some(Kind::NullValue(_)) => serde_json::Value::Null,
        Some(Kind::BoolValue(flag)) => (*flag).into(),
        Some(Kind::NumberValue(number)) => (*number).into(),
        Some(Kind::StringValue(text)) => text.clone().into(),
        Some(Kind::ListValue(list)) => list.values.iter().map(|value| of_value(value, below)).collect(),
        Some(Kind::StructValue(object)) => {
            object.fields.iter().map(|(name, value)| (name.clone(), of_value(value, below))).collect()
        }
    }
}

/// The values inside each other that are kept of a member of an error's data. Each takes three messages, and a decoder
/// reads a hundred of them, with the error and the message around it.
const MAX_DEPTH: usize = 32;

/// The members and elements of an error's data on all levels together, for which a decoder with the default limits has room.
const MAX_ENTRIES: usize = FrameLimits::MAX_ENTRIES / 2;

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use protomcp_types::RawJson;

    use super::*;
    use crate::frame::Decoder;
    use crate::message::McpMessage;
    use crate::message::mcp_message::Payload;
    use crate::schemas::Unresolved;

    #[test]
    fn an_error_of_mcp_keeps_code_text_and_data() {
        let error = |data: &'static str| ErrorObject::new(-32002, "gone").with_data(RawJson::parse(data).unwrap());
        let fault = Fault::from(error(r#"{"uri":"a:b","n":[1,true]}"#));
        assert_eq!((fault.code, &*fault.message), (-32002, "gone"));
        assert_eq!(fault.to_error().data["uri"], "a:b");
        assert_eq!(fault.to_error().data["n"], "[1,true]");
        assert_eq!(Fault::from(fault.to_response()).data["uri"], "a:b");
        assert_eq!(Fault::from(error("[1]")).data["data"], json!([1]));
        assert_eq!(Fault::from(ErrorObject::new(1 << 40, "far")).code, code::INTERNAL_ERROR);
    }

    /// The client gets the code of an error with any data.
    #[test]
    fn data_that_a_decoder_cannot_read_is_text() {
        let nested = |levels: usize| (0..levels).fold(json!(true), |inner, _| json!({"a": inner}));
        let members = |count: usize| -> BTreeMap<String, serde_json::Value> {
            (0..count).map(|number| (number.to_string(), true.into())).collect()
        };
        let of = |data: BTreeMap<String, serde_json::Value>| Fault { data, ..Fault::new(-32050, "why") };
        let with = |value: serde_json::Value| of([("value".to_owned(), value)].into());
        for (fault, is_kept) in [
            (with(nested(MAX_DEPTH - 1)), true),
            (with(nested(MAX_DEPTH)), false),
            (with(nested(40)), false),
            (with(vec![true; MAX_ENTRIES - 1].into()), true),
            (with(vec![true; MAX_ENTRIES].into()), false),
            (with(vec![true; 70_000].into()), false),
            (of(members(MAX_ENTRIES)), true),
            (of(members(70_000)), false),
        ] {
            let message = McpMessage { id: 1, payload: Some(Payload::ErrorResponse(fault.to_response())) };
            let read = Decoder::new(FrameLimits::default()).message(&message.encode_to_vec().into());
            let Ok(Some(Payload::ErrorResponse(response))) = read.map(|message| message.payload) else {
                panic!("a client reads it")
            };
            let read = Fault::from(response);
            assert_eq!((read.code, &*read.message, read.data == fault.data), (-32050, "why", is_kept));
            assert!(json!(read.data).to_string().contains("true"), "nothing is left out");
        }
    }

    #[test]
    fn errors_of_schemas_have_the_codes_of_version_1_0() {
        let unresolved = SchemaError::Unresolved { cause: Unresolved::RateLimited, message: "slow down".into() };
        let fault = Fault::from(unresolved);
        assert_eq!((fault.code, &fault.data["cause"]), (-33000, &json!("rate_limited")));
        assert_eq!(Fault::from(SchemaError::Invalid("no".into())).code, -32602);
        let rule = |field: &str| Violation { field: field.into(), rule_id: "r".into(), message: "must".into() };
        let fault = Fault::from(SchemaError::Violations(vec![rule("a"), rule("b")]));
        assert_eq!((fault.code, &*fault.message), (-33001, "a: must (r), and 1 more"));
        assert_eq!((&fault.data["field"], &fault.data["rule_id"]), (&json!("a"), &json!("r")));
        assert!(fault.to_error().data["violations"].starts_with(r#"[{"field":"a""#));
    }
}

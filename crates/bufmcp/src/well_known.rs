//! JSON as `google.protobuf.Struct`, `Value` and `ListValue`, and these and other well-known types as JSON.
//!
//! A number in them is a double. An integer that a double does not hold is reported with the place where it is.

use bytes::Bytes;
use prost::Message;
use prost_types::{Duration, ListValue, Struct, Timestamp, Value, value::Kind};
use protomcp_codec::Shape;
use protomcp_codec::prescan::{self, Verdict};
use protomcp_types::RawJson;
use serde_json::{Number, Value as Json};

use crate::any::Any;
use crate::schemas::{Converted, SchemaError};
use crate::shape::{LIST, STRUCT, VALUE};

/// The full name of the type of free-form objects.
pub(crate) const STRUCT_NAME: &str = "google.protobuf.Struct";
const VALUE_NAME: &str = "google.protobuf.Value";
const LIST_NAME: &str = "google.protobuf.ListValue";

/// JSON as a message: an object as `Struct`, an array as `ListValue`, anything else as `Value`.
///
/// # Errors
/// If it nests too deeply for a decoder.
pub(crate) fn to_any(json: &RawJson) -> Result<Converted<Any>, SchemaError> {
    let json: Json = json.to().map_err(|error| SchemaError::Invalid(format!("not JSON: {error}")))?;
    let mut writer = Writer::default();
    let value = writer.value(&json, MAX_DEPTH)?;
    let any = match value.kind {
        Some(Kind::StructValue(object)) => Any::new(STRUCT_NAME, object.encode_to_vec()),
        Some(Kind::ListValue(list)) => Any::new(LIST_NAME, list.encode_to_vec()),
        kind => Any::new(VALUE_NAME, Value { kind }.encode_to_vec()),
    };
    Ok(Converted { value: any, inexact: writer.inexact })
}

/// JSON as a `Value` with at most this many elements and members, on all levels together.
///
/// # Errors
/// If it nests too deeply for a decoder, or has more of them.
pub(crate) fn to_value(json: &RawJson, max_entries: usize) -> Result<Value, SchemaError> {
    let json: Json = json.to().map_err(|error| SchemaError::Invalid(format!("not JSON: {error}")))?;
    if entries(&json) > max_entries {
        return Err(SchemaError::Invalid(format!("the value has more than {max_entries} elements and members")));
    }
    Writer::default().value(&json, MAX_DEPTH)
}

/// The elements of all arrays and the members of all objects.
pub(crate) fn entries(json: &Json) -> usize {
    match json {
        Json::Array(items) => items.len() + items.iter().map(entries).sum::<usize>(),
        Json::Object(members) => members.len() + members.values().map(entries).sum::<usize>(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

/// A `Value` of a decoded message as JSON.
///
/// # Errors
/// If it has infinite numbers, or NaN.
pub(crate) fn value_to_json(value: &Value) -> Result<RawJson, SchemaError> {
    RawJson::of(&from_value(value)?).map_err(|error| SchemaError::Invalid(error.to_string()))
}

/// A message of a well-known type as JSON; `None` for any other type.
pub(crate) fn to_json(any: &Any) -> Option<Result<RawJson, SchemaError>> {
    let json = match any.type_name() {
        STRUCT_NAME => decode(&any.value, &STRUCT).and_then(|object| from_struct(&object)),
        VALUE_NAME => decode(&any.value, &VALUE).and_then(|value| from_value(&value)),
        LIST_NAME => decode(&any.value, &LIST).and_then(|list: ListValue| from_list(&list)),
        "google.protobuf.Empty" => decode::<()>(&any.value, &PLAIN).map(|()| Json::Object(serde_json::Map::new())),
        "google.protobuf.Timestamp" => decode(&any.value, &PLAIN).map(|time: Timestamp| time.to_string().into()),
        "google.protobuf.Duration" => decode(&any.value, &PLAIN).map(|time: Duration| time.to_string().into()),
        "google.protobuf.StringValue" => decode::<String>(&any.value, &PLAIN).map(Json::from),
        "google.protobuf.BoolValue" => decode::<bool>(&any.value, &PLAIN).map(Json::from),
        "google.protobuf.Int32Value" => decode::<i32>(&any.value, &PLAIN).map(Json::from),
        "google.protobuf.Int64Value" => decode::<i64>(&any.value, &PLAIN).map(Json::from),
        "google.protobuf.UInt32Value" => decode::<u32>(&any.value, &PLAIN).map(Json::from),
        "google.protobuf.UInt64Value" => decode::<u64>(&any.value, &PLAIN).map(Json::from),
        "google.protobuf.DoubleValue" => decode::<f64>(&any.value, &PLAIN).and_then(from_number),
        "google.protobuf.FloatValue" => decode::<f32>(&any.value, &PLAIN).and_then(|value| from_number(value.into())),
        _ => return None,
    };
    Some(json.and_then(|json| RawJson::of(&json).map_err(|error| SchemaError::Invalid(error.to_string()))))
}

/// Decodes within bounds: an element of a list can be two bytes long and 32 in memory.
fn decode<M: Message + Default>(bytes: &Bytes, shape: &Shape) -> Result<M, SchemaError> {
    match prescan::scan(bytes, shape, MAX_VALUES) {
        Verdict::Fits => {
            M::decode(&bytes[..]).map_err(|error| SchemaError::Invalid(format!("the message is malformed: {error}")))
        }
        Verdict::TooMany => Err(SchemaError::Invalid(format!("the message has more than {MAX_VALUES} values"))),
        Verdict::Broken => Err(SchemaError::Invalid("the message is malformed".into())),
    }
}

fn from_struct(object: &Struct) -> Result<Json, SchemaError> {
    let members = object.fields.iter().map(|(name, value)| Ok((name.clone(), from_value(value)?)));
    members.collect::<Result<_, SchemaError>>().map(Json::Object)
}

fn from_list(list: &ListValue) -> Result<Json, SchemaError> {
    list.values.iter().map(from_value).collect::<Result<_, _>>().map(Json::Array)
}

// The decoder has bounded the depth.
fn from_value(value: &Value) -> Result<Json, SchemaError> {
    Ok(match &value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(flag)) => (*flag).into(),
        Some(Kind::NumberValue(number)) => from_number(*number)?,
        Some(Kind::StringValue(text)) => text.clone().into(),
        Some(Kind::ListValue(list)) => from_list(list)?,
        Some(Kind::StructValue(object)) => from_struct(object)?,
    })
}

/// Whole numbers are written without a fraction, so that they fit a schema of type `integer`.
fn from_number(number: f64) -> Result<Json, SchemaError> {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let whole = (number.fract() == 0.0 && number.abs() <= MAX_WHOLE).then_some(number as i64);
    let number = whole.map_or_else(|| Number::from_f64(number), |whole| Some(whole.into()));
    number.map(Json::Number).ok_or_else(|| SchemaError::Invalid("JSON has no infinite numbers and no NaN".into()))
}

/// Writes values, and notes what is not exact.
#[derive(Default)]
struct Writer {
    path: Vec<String>,
    inexact: Vec<String>,
}

impl Writer {
    fn value(&mut self, json: &Json, depth: usize) -> Result<Value, SchemaError> {
        let below = || depth.checked_sub(1).ok_or_else(|| SchemaError::Invalid("the value nests too deeply".into()));
        let kind = match json {
            Json::Null => Kind::NullValue(0),
            Json::Bool(flag) => Kind::BoolValue(*flag),
            Json::Number(number) => Kind::NumberValue(self.number(number)),
            Json::String(text) => Kind::StringValue(text.clone()),
            Json::Array(items) => {
                let below = below()?;
                let mut values = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    values.push(self.inside(&index.to_string(), item, below)?);
                }
                Kind::ListValue(ListValue { values })
            }
            Json::Object(members) => {
                let below = below()?;
                let mut object = Struct::default();
                for (name, member) in members {
                    object.fields.insert(name.clone(), self.inside(name, member, below)?);
                }
                Kind::StructValue(object)
            }
        };
        Ok(Value { kind: Some(kind) })
    }

    fn inside(&mut self, step: &str, json: &Json, depth: usize) -> Result<Value, SchemaError> {
        // RFC 6901, section 3.
        self.path.push(step.replace('~', "~0").replace('/', "~1"));
        let value = self.value(json, depth);
        self.path.pop();
        value
    }

    fn number(&mut self, number: &Number) -> f64 {
        let double = number.as_f64().unwrap_or_default();
        #[expect(clippy::cast_possible_truncation, reason = "128 bits hold every integer of JSON that fits 64")]
        let is_exact = match (number.as_i128(), number.is_f64()) {
            (Some(integer), false) => double as i128 == integer,
            _ => true,
        };
        if !is_exact && self.inexact.len() < Converted::<Any>::MAX_INEXACT {
            self.inexact.push(self.path.iter().fold(String::new(), |path, step| path + "/" + step));
        }
        double
    }
}

/// The objects and arrays inside each other: each takes three messages, of which a decoder reads a hundred.
const MAX_DEPTH: usize = 32;

/// The most values in one message.
const MAX_VALUES: usize = 1 << 20;

/// Doubles up to 2^53 hold every whole number.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A message without lists.
static PLAIN: Shape = Shape { lists: &[], inner: &[] };

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn json_survives_both_ways() {
        for (text, name) in [
            (r#"{"a":[1,-2.5,"x",null,true,{"b":{}}],"z":9007199254740992}"#, STRUCT_NAME),
            ("[]", LIST_NAME),
            ("[[1],[2]]", LIST_NAME),
            ("1e300", VALUE_NAME),
            (r#""text""#, VALUE_NAME),
            ("null", VALUE_NAME),
        ] {
            let converted = to_any(&json(text)).unwrap();
            assert_eq!((converted.value.type_name(), converted.inexact.len()), (name, 0));
            let back = to_json(&converted.value).unwrap().unwrap();
            assert_eq!(back.to::<Json>().unwrap(), json(text).to::<Json>().unwrap());
        }
    }

    /// A parser that rounds twice reads the first one a unit in the last place off.
    #[test]
    fn numbers_are_the_nearest_doubles_of_their_texts() {
        for text in
            ["-4.713675121146495e307", "2.3556e-308", "51.24817837550540", "5e-324", "0.1", "1.7976931348623157e308"]
        {
            let wanted = Value { kind: Some(Kind::NumberValue(text.parse().unwrap())) };
            let converted = to_any(&json(text)).unwrap().value;
            assert_eq!(Value::decode(&converted.value[..]).unwrap(), wanted, "{text}");
            let back = to_json(&converted).unwrap().unwrap();
            assert_eq!(back.as_str().parse::<f64>(), text.parse::<f64>());
        }
    }

    #[test]
    fn integers_that_a_double_does_not_hold_are_reported() {
        let converted =
            to_any(&json(r#"{"a":{"b/c":[0,9007199254740993]},"d":18446744073709551615,"e":0.1}"#)).unwrap();
        assert_eq!(converted.inexact, ["/a/b~1c/1", "/d"]);
        let many = format!("[{}9007199254740993]", "9007199254740993,".repeat(40));
        assert_eq!(to_any(&json(&many)).unwrap().inexact.len(), 16);
    }

    #[test]
    fn what_is_written_can_be_read_however_deep() {
        for depth in [1, 31, 32] {
            let text = format!("{}{}", "{\"a\":".repeat(depth - 1) + "{", "}".repeat(depth));
            assert!(to_json(&to_any(&json(&text)).unwrap().value).unwrap().is_ok(), "{depth}");
        }
        let text = format!("{}{}", "[".repeat(33), "]".repeat(33));
        assert!(to_any(&json(&text)).is_err());
    }

    #[test]
    fn well_known_types_have_the_json_of_protobuf() {
        let time = Timestamp { seconds: 1, nanos: 0 };
        for (any, text) in [
            (Any::new("google.protobuf.Empty", vec![]), "{}"),
            (Any::new("google.protobuf.Timestamp", time.encode_to_vec()), r#""1970-01-01T00:00:01Z""#),
            (Any::new("google.protobuf.StringValue", "x".to_owned().encode_to_vec()), r#""x""#),
            (Any::new("google.protobuf.Int64Value", i64::MAX.encode_to_vec()), "9223372036854775807"),
            (Any::new("google.protobuf.BoolValue", true.encode_to_vec()), "true"),
            (Any::new("google.protobuf.DoubleValue", 2.5_f64.encode_to_vec()), "2.5"),
        ] {
            assert_eq!(to_json(&any).unwrap().unwrap().as_str(), text);
        }
        assert!(to_json(&Any::new("a.B", vec![])).is_none());
    }

    #[test]
    fn malformed_and_oversized_messages_are_refused() {
        for value in [&[0xff][..], &[0x0a, 5, 1]] {
            assert!(to_json(&Any::new(STRUCT_NAME, value.to_vec())).unwrap().is_err());
        }
        let nan = Value { kind: Some(Kind::NumberValue(f64::NAN)) };
        assert!(to_json(&Any::new(VALUE_NAME, nan.encode_to_vec())).unwrap().is_err());
        let many = [0x0a, 0].repeat(MAX_VALUES + 1);
        assert!(to_json(&Any::new(LIST_NAME, many)).unwrap().is_err());
    }
}

//! Arguments of tools in header fields (MCP 2026-07-28, server/tools, `x-mcp-header`), for proxies that do not read
//! bodies.

use std::collections::HashSet;
use std::fmt;

use protomcp_types::{Kind, RawJson, header};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The arguments of one tool that are mirrored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mirrored(Vec<Field>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    /// The name of the header field.
    name: String,
    /// The properties that lead to the argument.
    path: Vec<String>,
}

impl Mirrored {
    /// Reads the annotations of an input schema.
    ///
    /// # Errors
    /// The reason why the annotations are invalid. Such a tool cannot be called over HTTP.
    pub(crate) fn of(schema: &RawJson) -> Result<Self, String> {
        let mut walk = Walk { fields: Vec::new(), names: HashSet::new(), found: 0 };
        walk.schema(schema, &mut Vec::new(), 0)?;
        // An annotation that no chain of properties leads to.
        let all = occurrences(schema, 0);
        if all > walk.found {
            return Err("x-mcp-header is on something other than a property".to_owned());
        }
        Ok(Self(walk.fields))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The header fields for these arguments. Absent and `null` ones have none.
    pub(crate) fn fields(&self, arguments: &RawJson) -> Vec<(String, String)> {
        let field = |field: &Field| Some((field.name.clone(), value(&argument(arguments, &field.path)?)?));
        self.0.iter().filter_map(field).collect()
    }
}

fn argument(arguments: &RawJson, path: &[String]) -> Option<RawJson> {
    path.iter().try_fold(arguments.clone(), |value, name| Members::of(&value)?.take(name))
}

/// The members of an object with any number of them, as arguments and schemas may have. The message bounds them.
struct Members(Vec<(String, RawJson)>);

impl Members {
    fn of(raw: &RawJson) -> Option<Self> {
        raw.to().ok()
    }

    /// Of duplicates the last counts.
    fn member(&self, name: &str) -> Option<&RawJson> {
        self.0.iter().rfind(|(own, _)| own == name).map(|(_, value)| value)
    }

    fn take(self, name: &str) -> Option<RawJson> {
        self.0.into_iter().rfind(|(own, _)| own == name).map(|(_, value)| value)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn value(argument: &RawJson) -> Option<String> {
    match argument.kind() {
        Kind::String => argument.to::<String>().ok().map(|text| header::encode(&text).into_owned()),
        Kind::Boolean => Some(argument.as_str().to_owned()),
        Kind::Number => Some(plain_integer(argument.as_str()).unwrap_or_else(|| argument.as_str().to_owned())),
        Kind::Null | Kind::Object | Kind::Array => None,
    }
}

/// An integer as plain digits, as servers write it: `100` for `1e2` and for `100.0`. `None`: the number is not one, or
/// too long.
fn plain_integer(number: &str) -> Option<String> {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |number| ("-", number));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    // Digits that move to the left of the point.
    let moved = usize::try_from(exponent.parse::<i32>().ok()?).ok().filter(|moved| *moved >= fraction.len())?;
    if whole.len() + moved > MAX_DIGITS {
        return None;
    }
    let digits = format!("{whole}{fraction:0<moved$}");
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    Some(format!("{sign}{digits}"))
}

/// The longest integer that is written as plain digits.
const MAX_DIGITS: usize = 400;

struct Walk {
    fields: Vec<Field>,
    /// In lower case.
    names: HashSet<String>,
    found: usize,
}

impl Walk {
    fn schema(&mut self, schema: &RawJson, path: &mut Vec<String>, depth: usize) -> Result<(), String> {
        let Some(schema) = Members::of(schema) else { return Ok(()) };
        if depth > MAX_DEPTH {
            return Ok(());
        }
        if let Some(annotation) = schema.member("x-mcp-header").filter(|_| !path.is_empty()) {
            self.found += 1;
            let name = self.name(annotation)?;
            let kind = schema.member("type").and_then(|kind| kind.to::<String>().ok());
            if !kind.as_deref().is_some_and(|kind| ["string", "integer", "boolean"].contains(&kind)) {
                return Err(format!(
                    "x-mcp-header {name:?} is on an argument that is not a string, integer or boolean"
                ));
            }
            self.fields.push(Field { name: format!("Mcp-Param-{name}"), path: path.clone() });
        }
        let properties = schema.member("properties").and_then(Members::of);
        for (name, property) in properties.iter().flat_map(|properties| &properties.0) {
            path.push(name.clone());
            self.schema(property, path, depth + 1)?;
            path.pop();
        }
        Ok(())
    }

    fn name(&mut self, annotation: &RawJson) -> Result<String, String> {
        let name = annotation.to::<String>().map_err(|_| "x-mcp-header is not a string".to_owned())?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("x-mcp-header {name:?} is not the name of a header field"));
        }
        if self.names.insert(name.to_ascii_lowercase()) {
            Ok(name)
        } else {
            Err(format!("x-mcp-header {name:?} is used twice"))
        }
    }
}

/// The number of annotations anywhere in a schema, also where no property is.
fn occurrences(schema: &RawJson, depth: usize) -> usize {
    if depth > MAX_DEPTH {
        return 0;
    }
    match schema.kind() {
        Kind::Object => {
            let Some(members) = Members::of(schema) else { return 0 };
            let own = usize::from(members.member("x-mcp-header").is_some());
            let inside = |(name, value): &(String, RawJson)| match name.as_str() {
                // Values, not schemas.
                "default" | "const" | "enum" | "examples" | "x-mcp-header" => 0,
                "properties" => Members::of(value)
                    .map_or(0, |properties| properties.0.iter().map(|(_, one)| occurrences(one, depth + 1)).sum()),
                _ => occurrences(value, depth + 1),
            };
            own + members.0.iter().map(inside).sum::<usize>()
        }
        Kind::Array => schema
            .to::<Vec<RawJson>>()
            .map_or(0, |elements| elements.iter().map(|element| occurrences(element, depth + 1)).sum()),
        Kind::String | Kind::Number | Kind::Boolean | Kind::Null => 0,
    }
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The depth at which schemas are no longer searched; messages are not nested deeper.
const MAX_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(properties: &str) -> RawJson {
        RawJson::parse(format!(r#"{{"type":"object","properties":{{{properties}}}}}"#)).unwrap()
    }

    #[test]
    fn annotated_arguments_become_fields() {
        let schema = schema(
            r#""a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"integer","x-mcp-header":"Method"},"c":{"type":"boolean","x-mcp-header":"C"},"d":{"type":"object","properties":{"e":{"type":"string","x-mcp-header":"E"}}},"f":{"type":"string"}"#,
        );
        let mirrored = Mirrored::of(&schema).unwrap();
        let fields = |arguments: &'static str| {
            let fields = mirrored.fields(&RawJson::parse(arguments).unwrap());
            fields.into_iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        assert_eq!(
            fields(r#"{"a":"eu west","b":42,"c":false,"d":{"e":"ü"},"f":"x"}"#),
            ["Mcp-Param-Region: eu west", "Mcp-Param-Method: 42", "Mcp-Param-C: false", "Mcp-Param-E: =?base64?w7w=?="]
        );
        assert_eq!(fields(r#"{"a":"","b":null}"#), ["Mcp-Param-Region: "]);
        assert!(fields("{}").is_empty());
    }

    #[test]
    fn objects_of_any_size_have_fields() {
        let many = |member: &str| (0..1000).map(|n| member.replace('#', &n.to_string())).collect::<Vec<_>>().join(",");
        let properties = format!(
            r#"{},"a":{{"type":"string","x-mcp-header":"A","x":1}},"o":{{"type":"object","properties":{{"e":{{"type":"string","x-mcp-header":"E"}}}}}}"#,
            many(r#""n#":{"type":"string"}"#)
        );
        let mirrored = Mirrored::of(&schema(&properties)).unwrap();
        let more = many(r#""n#":0"#);
        let arguments = RawJson::parse(format!(r#"{{{more},"a":"no","a":"x","o":{{{more},"e":"y"}}}}"#)).unwrap();
        let fields = mirrored.fields(&arguments);
        assert_eq!(fields, [("Mcp-Param-A".to_owned(), "x".to_owned()), ("Mcp-Param-E".to_owned(), "y".to_owned())]);
        let wrong = format!(r#"{},"a":{{"items":{{"x-mcp-header":"A"}}}}"#, many(r#""n#":{}"#));
        assert!(Mirrored::of(&schema(&wrong)).is_err());
    }

    #[test]
    fn invalid_annotations_are_named() {
        for properties in [
            r#""a":{"type":"string","x-mcp-header":""}"#,
            r#""a":{"type":"string","x-mcp-header":5}"#,
            r#""a":{"type":"string","x-mcp-header":"a b"}"#,
            r#""a":{"type":"string","x-mcp-header":"a:b"}"#,
            r#""a":{"type":"string","x-mcp-header":"\u00fc"}"#,
            r#""a":{"type":"string","x-mcp-header":"a\n"}"#,
            r#""a":{"type":"object","x-mcp-header":"A"}"#,
            r#""a":{"type":"array","x-mcp-header":"A"}"#,
            r#""a":{"type":"null","x-mcp-header":"A"}"#,
            r#""a":{"type":"number","x-mcp-header":"A"}"#,
            r#""a":{"x-mcp-header":"A"}"#,
            r#""a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}"#,
            r#""a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
        ] {
            assert!(Mirrored::of(&schema(properties)).is_err(), "{properties}");
        }
        for properties in ["", r#""x-mcp-header":{"type":"string"}"#, r#""a":{"default":{"x-mcp-header":"A"}}"#] {
            assert!(Mirrored::of(&schema(properties)).unwrap().is_empty(), "{properties}");
        }
    }

    #[test]
    fn an_integer_is_written_as_plain_digits() {
        for (number, expected) in [
            ("1e2", Some("100")),
            ("1.5E+1", Some("15")),
            ("-100.0", Some("-100")),
            ("0.0", Some("0")),
            ("0.12e2", Some("12")),
            ("123456789012345678901234567890", Some("123456789012345678901234567890")),
            ("1.5", None),
            ("1e-2", None),
            ("1e999999999", None),
            ("1e99999999999", None),
        ] {
            assert_eq!(plain_integer(number).as_deref(), expected, "{number}");
        }
    }
}

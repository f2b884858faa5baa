//! Arguments of tools in header fields (MCP 2026-07-28, server/tools, `x-mcp-header`), for proxies that do not read
//! bodies.

use std::collections::HashSet;
use std::fmt;

use protomcp_types::{Quoted, RawJson, header};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The arguments of one tool that are mirrored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mirrored {
    properties: Vec<Property>,
    size: usize,
}

/// A property of a schema that is mirrored, or leads to one that is. In a tree the name of an object is kept once, however
/// many of its members are mirrored.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Property {
    name: String,
    /// The name of its header field, if the property itself is mirrored.
    field: Option<String>,
    inside: Vec<Self>,
}

impl Mirrored {
    /// Reads the annotations of an input schema.
    ///
    /// # Errors
    /// The reason why the annotations are invalid. Such a tool cannot be called over HTTP.
    pub(crate) fn of(schema: &RawJson) -> Result<Self, String> {
        let schema = schema.as_str();
        let mut walk = Walk::default();
        let properties = match Members::of(schema) {
            Some(schema) => walk.properties(&schema, 0)?,
            None => Vec::new(),
        };
        // An annotation that no chain of properties leads to.
        let all = occurrences(schema, 0);
        if all > walk.found {
            return Err("x-mcp-header is on something other than a property".to_owned());
        }
        Ok(Self { properties, size: walk.size })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// The bytes that it takes, about.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The header fields for these arguments. Absent and `null` ones have none.
    pub(crate) fn fields(&self, arguments: &RawJson) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        add_fields(&self.properties, arguments.as_str(), &mut fields);
        fields
    }
}

/// Adds the header fields for the members of an object, which is parsed once for all of them.
fn add_fields(properties: &[Property], object: &str, fields: &mut Vec<(String, String)>) {
    if properties.is_empty() {
        return;
    }
    let Some(members) = Members::of(object) else { return };
    for property in properties {
        let Some(argument) = members.member(&property.name) else { continue };
        if let Some(field) = &property.field
            && let Some(value) = value(argument)
        {
            fields.push((field.clone(), value));
        }
        add_fields(&property.inside, argument, fields);
    }
}

/// The members of an object with any number of them, as arguments and schemas may have. The message bounds them. Values
/// are parts of the text: a copy for each level of a deep schema would be many times the message.
struct Members<'a>(Vec<(String, &'a str)>);

impl<'a> Members<'a> {
    fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Of duplicates the last counts.
    fn member(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rfind(|(own, _)| own == name).map(|(_, value)| *value)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    members.push((name, value.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn value(argument: &str) -> Option<String> {
    match argument.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(argument).ok().map(|text| header::encode(&text).into_owned()),
        Some(b't' | b'f') => Some(argument.to_owned()),
        Some(b'n' | b'{' | b'[') => None,
        Some(_) | None => Some(plain_integer(argument).unwrap_or_else(|| argument.to_owned())),
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

/// The most arguments of a tool that are mirrored. Servers and proxies take about 100 header fields of a request in all.
const MAX_FIELDS: usize = 64;

/// The most bytes that a tool may take here: the names of the arguments, of the objects around them and of their header
/// fields, and the [`Property`] of each. Servers and proxies take 8 to 64 KiB of header fields, values included.
const MAX_SIZE: usize = 16 * 1024;

#[derive(Default)]
struct Walk {
    /// In lower case.
    names: HashSet<String>,
    found: usize,
    size: usize,
}

impl Walk {
    /// The properties of a schema that are mirrored or lead to such ones.
    fn properties(&mut self, schema: &Members<'_>, depth: usize) -> Result<Vec<Property>, String> {
        let properties = schema.member("properties").and_then(Members::of);
        let mut mirrored = Vec::new();
        for (name, property) in properties.iter().flat_map(|properties| &properties.0) {
            mirrored.extend(self.property(name, property, depth + 1)?);
        }
        Ok(mirrored)
    }

    fn property(&mut self, name: &str, schema: &str, depth: usize) -> Result<Option<Property>, String> {
        if depth > MAX_DEPTH {
            return Ok(None);
        }
        let Some(schema) = Members::of(schema) else { return Ok(None) };
        let field = match schema.member("x-mcp-header") {
            Some(annotation) => Some(self.field(annotation, &schema)?),
            None => None,
        };
        let inside = self.properties(&schema, depth)?;
        if field.is_none() && inside.is_empty() {
            return Ok(None);
        }
        self.size += size_of::<Property>() + name.len() + field.as_ref().map_or(0, String::len);
        if self.size > MAX_SIZE {
            return Err(format!(
                "x-mcp-header needs more than {MAX_SIZE} bytes for the names of arguments and header fields"
            ));
        }
        Ok(Some(Property { name: name.to_owned(), field, inside }))
    }

    /// The name of the header field of an annotated property.
    fn field(&mut self, annotation: &str, schema: &Members<'_>) -> Result<String, String> {
        self.found += 1;
        if self.found > MAX_FIELDS {
            return Err(format!("x-mcp-header is on more than {MAX_FIELDS} arguments"));
        }
        let name = self.name(annotation)?;
        let kind = schema.member("type").and_then(|kind| serde_json::from_str::<String>(kind).ok());
        if !kind.as_deref().is_some_and(|kind| ["string", "integer", "boolean"].contains(&kind)) {
            let name = Quoted(&name);
            return Err(format!("x-mcp-header {name} is on an argument that is not a string, integer or boolean"));
        }
        Ok(format!("Mcp-Param-{name}"))
    }

    fn name(&mut self, annotation: &str) -> Result<String, String> {
        let name: String = serde_json::from_str(annotation).map_err(|_| "x-mcp-header is not a string".to_owned())?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("x-mcp-header {} is not the name of a header field", Quoted(&name)));
        }
        if self.names.insert(name.to_ascii_lowercase()) {
            Ok(name)
        } else {
            Err(format!("x-mcp-header {} is used twice", Quoted(&name)))
        }
    }
}

/// The number of annotations anywhere in a schema, also where no property is.
fn occurrences(schema: &str, depth: usize) -> usize {
    if depth > MAX_DEPTH {
        return 0;
    }
    match schema.as_bytes().first() {
        Some(b'{') => {
            let Some(members) = Members::of(schema) else { return 0 };
            let own = usize::from(members.member("x-mcp-header").is_some());
            let inside = |(name, value): &(String, &str)| match name.as_str() {
                // Values, not schemas.
                "default" | "const" | "enum" | "examples" | "x-mcp-header" => 0,
                "properties" => Members::of(value)
                    .map_or(0, |properties| properties.0.iter().map(|(_, one)| occurrences(one, depth + 1)).sum()),
                _ => occurrences(value, depth + 1),
            };
            own + members.0.iter().map(inside).sum::<usize>()
        }
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(schema)
            .map_or(0, |elements| elements.iter().map(|element| occurrences(element.get(), depth + 1)).sum()),
        Some(_) | None => 0,
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
    fn an_error_repeats_the_beginning_of_an_annotation() {
        let long = "x".repeat(100_000);
        for (kind, annotation) in [("string", format!("{long} ")), ("number", long)] {
            let properties = format!(r#""a":{{"type":"{kind}","x-mcp-header":"{annotation}"}}"#);
            let why = Mirrored::of(&schema(&properties)).unwrap_err();
            assert!(why.starts_with("x-mcp-header \"xxx") && why.len() < 400, "{why}");
        }
    }

    #[test]
    fn the_header_fields_of_a_tool_are_bounded() {
        let mirrored = |count: usize, outer: usize| {
            let argument = |n: usize| format!(r#""{n}":{{"type":"string","x-mcp-header":"H{n}"}}"#);
            let arguments = (0..count).map(argument).collect::<Vec<_>>().join(",");
            let outer = "o".repeat(outer);
            Mirrored::of(&schema(&format!(r#""{outer}":{{"type":"object","properties":{{{arguments}}}}}"#)))
        };
        // The long name around all is kept once.
        let most = mirrored(MAX_FIELDS, MAX_SIZE / 2).unwrap();
        let arguments = RawJson::parse(format!(r#"{{"{}":{{"63":"x"}}}}"#, "o".repeat(MAX_SIZE / 2))).unwrap();
        assert_eq!(most.fields(&arguments), [("Mcp-Param-H63".to_owned(), "x".to_owned())]);
        let why = mirrored(MAX_FIELDS + 1, 1).unwrap_err();
        assert_eq!(why, "x-mcp-header is on more than 64 arguments");
        let why = mirrored(1, MAX_SIZE).unwrap_err();
        assert_eq!(why, "x-mcp-header needs more than 16384 bytes for the names of arguments and header fields");
        // Objects with short names take memory, too.
        let nested = |depth: usize| format!("{}{}", r#""":{"properties":{"#.repeat(depth), r#""":{"type":"string""#);
        let chain = |n: usize| format!(r#"{},"x-mcp-header":"H{n}"}}{}"#, nested(40), "}}".repeat(40));
        let chains = |count: usize| schema(&(0..count).map(chain).collect::<Vec<_>>().join(","));
        assert!(Mirrored::of(&chains(1)).is_ok());
        assert!(Mirrored::of(&chains(MAX_FIELDS)).is_err());
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

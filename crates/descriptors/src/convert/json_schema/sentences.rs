//! Rules without a keyword of JSON Schema, as sentences of a description.

use prost_reflect::Kind;
use serde_json::{Map, Value};

use crate::convert::read_rules::{RuleSet, integer_rules};

/// The rules of one kind of values: their number in the rules of a field, their name, the numbers that keywords express or
/// that restrict nothing, and the names of the others.
struct Rules {
    number: u32,
    name: &'static str,
    expressed: &'static [u32],
    names: &'static [(u32, &'static str)],
}

const STRING: Rules = Rules {
    number: 14,
    name: "string",
    expressed: &[1, 2, 3, 6, 10, 12, 13, 15, 16, 17, 18, 19, 22, 25, 34],
    names: &[
        (4, "min_bytes"),
        (5, "max_bytes"),
        (7, "prefix"),
        (8, "suffix"),
        (9, "contains"),
        (11, "not_in"),
        (14, "ip"),
        (20, "len_bytes"),
        (21, "address"),
        (23, "not_contains"),
        (24, "well_known_regex"),
        (26, "ip_with_prefixlen"),
        (27, "ipv4_with_prefixlen"),
        (28, "ipv6_with_prefixlen"),
        (29, "ip_prefix"),
        (30, "ipv4_prefix"),
        (31, "ipv6_prefix"),
        (32, "host_and_port"),
        (33, "tuuid"),
        (35, "ulid"),
        (37, "protobuf_fqn"),
        (38, "protobuf_dot_fqn"),
    ],
};

const BYTES: Rules = Rules {
    number: 15,
    name: "bytes",
    expressed: &[14],
    names: &[
        (1, "const"),
        (2, "min_len"),
        (3, "max_len"),
        (4, "pattern"),
        (5, "prefix"),
        (6, "suffix"),
        (7, "contains"),
        (8, "in"),
        (9, "not_in"),
        (10, "ip"),
        (11, "ipv4"),
        (12, "ipv6"),
        (13, "len"),
        (15, "uuid"),
    ],
};

const ANY: Rules = Rules { number: 20, name: "any", expressed: &[], names: &[(2, "in"), (3, "not_in")] };

const TIME: &[(u32, &str)] = &[(2, "const"), (3, "lt"), (4, "lte"), (5, "gt"), (6, "gte")];

/// The numbers of the rules of floating point and of integers: the first ones have keywords.
const NUMBER: &[(u32, &str)] = &[(6, "in"), (7, "not_in")];

/// Adds a sentence to the description for each rule of a value that no keyword expresses.
pub(super) fn add_unread(schema: &mut Map<String, Value>, kind: &Kind, rules: &RuleSet) {
    let described = match kind {
        Kind::String => STRING,
        Kind::Bytes => BYTES,
        Kind::Double => Rules { number: 2, name: "double", expressed: &[1, 2, 3, 4, 5, 8, 9], names: NUMBER },
        Kind::Float => Rules { number: 1, name: "float", expressed: &[1, 2, 3, 4, 5, 8, 9], names: NUMBER },
        Kind::Bool => Rules { number: 13, name: "bool", expressed: &[1, 2], names: &[] },
        Kind::Enum(_) => Rules { number: 16, name: "enum", expressed: &[1, 2, 3, 4, 5], names: &[] },
        Kind::Message(message) => match message.full_name() {
            "google.protobuf.Any" => ANY,
            "google.protobuf.Duration" => Rules { number: 21, name: "duration", expressed: &[9], names: TIME },
            "google.protobuf.Timestamp" => Rules { number: 22, name: "timestamp", expressed: &[10], names: TIME },
            "google.protobuf.FieldMask" => Rules { number: 28, name: "field_mask", expressed: &[4], names: &[] },
            _ => return,
        },
        integer => {
            let number = integer_rules(integer);
            let is_fixed = matches!(kind, Kind::Fixed32 | Kind::Fixed64 | Kind::Sfixed32 | Kind::Sfixed64);
            let expressed: &[u32] = if is_fixed { &[1, 2, 3, 4, 5, 8] } else { &[1, 2, 3, 4, 5, 6, 8] };
            Rules { number, name: "integer", expressed, names: NUMBER }
        }
    };
    let inner = rules.inner(described.number);
    for number in inner.numbers() {
        if described.expressed.contains(&number) {
            continue;
        }
        let name = described.names.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
        let name = name.unwrap_or_else(|| format!("rule {number}"));
        describe(schema, &format!("Rule: {}.{name} = {}", described.name, inner.shown(number, kind)));
    }
}

/// Adds a line to the description.
pub(super) fn describe(schema: &mut Map<String, Value>, line: &str) {
    let before = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let separator = if before.is_empty() { "" } else { "\n" };
    schema.insert("description".to_owned(), format!("{before}{separator}{line}").into());
}

//! The presence of fields, rules across them, and the report of keywords that were not read.

use serde_json::{Map, Value};

use super::{Mapped, Place, Presence, Reading, Style};
use crate::convert::keywords::{Kind, unread};
use crate::convert::model::{ProtoField, Shape};
use crate::convert::names::default_json_name;
use crate::convert::report::Verdict;
use crate::convert::rules::{Rule, RuleValue, Rules};
use crate::convert::scalars::Noted;

impl Reading<'_> {
    /// Gives a field its presence, and the rule that it is required.
    pub(super) fn present(&mut self, mapped: &mut Mapped, presence: Presence, place: &Place) {
        let is_required = presence == Presence::Required && !mapped.nullable;
        if mapped.nullable && self.style == Style::Strict {
            let keyword = if presence == Presence::Required { "required" } else { "type" };
            self.lossy(place, keyword, "null and a missing value are the same");
        }
        match &mapped.shape {
            Shape::Plain(_) if self.style == Style::Seed && is_required => {
                self.lossy(place, "required", "a missing value goes unnoticed");
            }
            Shape::Plain(element) => {
                mapped.shape = Shape::Optional(element.clone());
                if is_required {
                    mapped.rules.0.insert(0, Rule { path: vec![("required", 25)], value: RuleValue::Bool(true) });
                }
            }
            Shape::Optional(_) => {}
            Shape::Repeated(_) | Shape::Map(_) => {
                let has_least = mapped.rules.0.iter().any(is_least);
                if !has_least && !mapped.nullable {
                    let keyword = if is_required { "required" } else { "type" };
                    let reason = "an empty list or map and a missing one are the same";
                    self.lossy(place, keyword, reason);
                }
                if !is_required && has_least {
                    let keyword = if matches!(mapped.shape, Shape::Map(_)) { "minProperties" } else { "minItems" };
                    let reason = "an empty list or map and a missing one are the same, and accepted";
                    self.lossy(place, keyword, reason);
                    mapped.rules.add(&[("ignore", 27)], RuleValue::Enum("IGNORE_IF_ZERO_VALUE", 1));
                }
            }
        }
    }

    /// `dependentRequired` as expressions, where both fields have presence.
    pub(super) fn dependent_required(
        &mut self,
        schema: &Map<String, Value>,
        properties: &Map<String, Value>,
        fields: &[ProtoField],
        place: &Place,
    ) -> Rules {
        let mut rules = Rules::default();
        let Some(dependent) = schema.get("dependentRequired").and_then(Value::as_object) else { return rules };
        let name = |key: &str| {
            let at = properties.keys().position(|property| property == key)?;
            let has_presence =
                |field: &&ProtoField| matches!(field.shape, Shape::Optional(_)) && is_selector(&field.name);
            fields.get(at).filter(has_presence).map(|field| field.name.clone())
        };
        for (key, needed) in dependent {
            for needed in needed.as_array().into_iter().flatten().filter_map(Value::as_str) {
                let (Some(has), Some(needs)) = (name(key), name(needed)) else {
                    self.lossy(place, "dependentRequired", "it is not checked");
                    continue;
                };
                let id = format!("{has}.needs_{needs}");
                let message = format!("{key} needs {needed}");
                let expression = format!("!has(this.{has}) || has(this.{needs})");
                rules.add(&[("cel", 3)], RuleValue::Cel(id, message, expression));
            }
        }
        rules
    }

    /// The key in JSON, where it does not follow from the name of the field. `is_key`: tells the other keys.
    pub(super) fn json_name(
        &mut self,
        key: &str,
        name: &str,
        is_key: impl Fn(&str) -> bool,
        place: &Place,
    ) -> Option<String> {
        let default = default_json_name(name);
        if default == key {
            return None;
        }
        let is_taken = is_key(&default);
        // protobuf reserves these for the names of extensions.
        if (key.starts_with('[') && key.ends_with(']')) || key.contains('\0') {
            // The name of a field is the key of no other one.
            let made = if is_taken { name } else { &default };
            self.lossy(place, "properties", &format!("the key cannot be a name of protobuf: it is {made:?}"));
            return is_taken.then(|| name.to_owned());
        }
        if self.style == Style::Seed && key == name && !is_taken {
            self.lossy(place, "properties", &format!("the key is read, and written as {default:?}"));
            return None;
        }
        Some(key.to_owned())
    }

    /// Reports the keywords of a schema that restrict its values and are not among those that were read.
    pub(super) fn note(&mut self, schema: &Map<String, Value>, kind: Kind, read: &[&str], place: &Place) {
        for keyword in unread(schema, kind, read) {
            self.lossy(place, keyword, "it is not checked");
        }
    }

    pub(super) fn noted<'b>(&'b mut self, place: &'b Place) -> Noted<'b> {
        Noted { report: &mut self.report, pointer: &place.pointer }
    }

    pub(super) fn lossy(&mut self, place: &Place, keyword: &str, reason: &str) {
        self.report.add(Verdict::Lossy, &place.pointer, keyword, reason);
    }

    pub(super) fn fallback(&mut self, place: &Place, keyword: &str, reason: &str) {
        self.report.add(Verdict::Fallback, &place.pointer, keyword, reason);
    }
}

/// True for a rule that wants elements.
fn is_least(rule: &Rule) -> bool {
    let wants = matches!(rule.value, RuleValue::Uint(least) if least > 0);
    wants && matches!(rule.path.as_slice(), [_, ("min_items" | "min_pairs", _)])
}

/// True for a name that CEL takes behind a dot: its reserved words are not.
fn is_selector(name: &str) -> bool {
    const RESERVED: &[&str] = &[
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "namespace",
        "null",
        "package",
        "return",
        "true",
        "var",
        "void",
        "while",
    ];
    !RESERVED.contains(&name)
}

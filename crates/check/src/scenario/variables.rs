//! Variables in the texts of a step: `{{name}}`.

use std::collections::BTreeMap;

use serde_json::Value;

/// The value with its variables replaced. A text that is one variable becomes the value, whatever its type.
///
/// # Errors
/// The name of a variable without a value.
pub(super) fn filled(value: &Value, variables: &BTreeMap<String, Value>) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match whole(text) {
            Some(name) => lookup(name, variables)?.clone(),
            None => Value::String(filled_text(text, variables)?),
        },
        Value::Array(all) => all.iter().map(|inner| filled(inner, variables)).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            let member = |(name, inner): (&String, &Value)| Ok((name.clone(), filled(inner, variables)?));
            Value::Object(members.iter().map(member).collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// The text with its variables replaced; values that are not text are their JSON.
pub(super) fn filled_text(text: &str, variables: &BTreeMap<String, Value>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        filled.push_str(before);
        match lookup(name.trim(), variables)? {
            Value::String(value) => filled.push_str(value),
            value => filled.push_str(&value.to_string()),
        }
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The name, if the text is one variable and nothing else.
fn whole(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!name.contains("{{")).then(|| name.trim())
}

fn lookup<'a>(name: &str, variables: &'a BTreeMap<String, Value>) -> Result<&'a Value, String> {
    variables.get(name).ok_or_else(|| format!("the variable {name:?} has no value"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_keep_their_type_where_they_stand_alone() {
        let variables = BTreeMap::from([("n".to_owned(), json!(5)), ("city".to_owned(), json!("Rome"))]);
        for (text, expected) in [
            (json!("{{n}}"), json!(5)),
            (json!("{{ n }} in {{city}}"), json!("5 in Rome")),
            (json!({"a": ["{{city}}", 1, "{{", "}}", "{x}"]}), json!({"a": ["Rome", 1, "{{", "}}", "{x}"]})),
            (json!("{{n}}{{n}}"), json!("55")),
        ] {
            assert_eq!(filled(&text, &variables), Ok(expected));
        }
        assert_eq!(filled(&json!("{{town}}"), &variables), Err("the variable \"town\" has no value".into()));
    }
}

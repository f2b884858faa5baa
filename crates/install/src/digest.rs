//! A digest of an entry, by which a later change of it is noticed.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::value::quoted;

/// SHA-256 of the whole entry in hexadecimal digits. The order of members and the spelling in the file do not matter;
/// every member and every value does.
pub(crate) fn digest(entry: &Value) -> String {
    let mut text = String::new();
    write_sorted(&mut text, entry);
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a string grows");
        digits
    })
}

/// JSON on one line, with the members of each object by their names. Parsers bound the depth.
fn write_sorted(text: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            text.push('{');
            for (name, value) in members {
                text.push_str(&quoted(name));
                text.push(':');
                write_sorted(text, value);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(text, item);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            write!(text, "{value}").expect("a string grows");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(text: &str) -> String {
        digest(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_digest_depends_on_each_value_alone() {
        let entry = json!({
            "type": "stdio", "command": "pmcp", "args": ["run", "t.py"], "env": {"A": "1"}, "cwd": "/p",
            "url": "https://h", "headers": {"X": "y"}, "timeout": 3, "disabled": false, "extra": null,
        });
        let known = digest(&entry);
        assert_eq!(known.len(), 64);
        for (pointer, value) in [
            ("/type", json!("http")),
            ("/command", json!("sh")),
            ("/args", json!(["run", "u.py"])),
            ("/args", json!(["t.py", "run"])),
            ("/args", json!(["run t.py"])),
            ("/args", json!("run")),
            ("/env/A", json!("2")),
            ("/env", json!({"B": "1"})),
            ("/env", json!({"A": "1", "LD_PRELOAD": "x.so"})),
            ("/cwd", json!("/q")),
            ("/url", json!("https://i")),
            ("/headers/X", json!("z")),
            ("/timeout", json!("3")),
            ("/disabled", json!(true)),
            ("/extra", json!({})),
        ] {
            let mut changed = entry.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            assert_ne!(digest(&changed), known, "{pointer}");
        }
        let same = of(r#"{"b": ["x", {"d": 1, "c": 2}], "a": "\u0041"}"#);
        assert_eq!(of("{\"a\":\"A\",\n\"b\":[\"x\",{\"c\":2,\"d\":1}]}"), same);
    }
}

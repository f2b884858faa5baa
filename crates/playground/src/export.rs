//! The messages that a page has seen, as a trace or a scenario without secrets.

use protomcp_trace::{Entry, Recording, Redaction, scenario};
use serde::Deserialize;
use serde_json::json;

/// The most bytes of the messages of one export.
pub(crate) const MAX_EXPORT: usize = 64 << 20;

/// Messages to export.
#[derive(Debug, Deserialize)]
pub(crate) struct Export {
    form: Form,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    /// The file of `pmcp record`.
    Trace,
    /// The file of `pmcp test`.
    Scenario,
}

impl Export {
    /// The text of the file, as `{"text"}`. The secrets are replaced as in a recording.
    pub(crate) fn answer(self) -> String {
        let mut redaction = Redaction::default();
        let mut trace = Recording::new(concat!("pmcp ", env!("CARGO_PKG_VERSION")));
        for Entry { at, session, from, message, .. } in self.entries {
            // The file has no other messages.
            if message.is_object() {
                trace.add(Entry::new(at, from, redaction.redact(message)).in_session(session));
            }
        }
        let text = match self.form {
            Form::Trace => trace.to_text(),
            Form::Scenario => scenario(&trace, "a session in the playground"),
        };
        json!({"text": text}).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn exported(form: &str) -> String {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                          "params": {"name": "hello", "arguments": {"password": "sesame!!"}}});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "sesame!!"}]}});
        let entries = json!([
            {"at": 1, "from": "client", "message": call},
            {"at": 2, "from": "bridge", "message": {"call_tool": {"name": "hello"}}},
            {"at": 3, "session": 1, "from": "server", "message": answer},
            {"at": 4, "from": "server", "message": 5},
        ]);
        let export: Export = serde_json::from_value(json!({"form": form, "entries": entries})).unwrap();
        let answer: Value = serde_json::from_str(&export.answer()).unwrap();
        answer["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn an_export_is_a_trace_without_secrets() {
        let text = exported("trace");
        let trace = Recording::parse(&text).unwrap();
        assert_eq!(trace.entries.len(), 3);
        assert!(!text.contains("sesame") && text.contains("[redacted]") && text.contains("\"hello\""), "{text}");
    }

    #[test]
    fn an_export_is_a_scenario() {
        let text = exported("scenario");
        assert!(text.contains("- call: \"hello\"") && !text.contains("sesame"), "{text}");
    }
}

//! Secrets, replaced before a message is written.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// The text in place of a secret. It equals every value when traces are compared.
pub const REDACTED: &str = "[redacted]";

/// The ends of names whose values are secrets, in lower case and without `-` and `_`.
const NAMES: [&str; 14] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "privatekey",
    "accesskey",
    "signature",
    "pin",
];

/// Names that end like a secret and are none.
const HARMLESS: [&str; 2] = ["progresstoken", "pagetoken"];

/// Secrets by their shape: authorization headers, keys of known services, JSON Web Tokens, private keys, and passwords in
/// URLs. Where there is a group, it is the secret.
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    let shapes = [
        r"(?i)\b(?:bearer|basic)\s+[a-z0-9._~+/=-]{8,}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}",
        r"\bgh[oprsu]_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"\bAIza[A-Za-z0-9_-]{30,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
    ];
    Regex::new(&shapes.join("|")).expect("the shapes are valid")
});

/// The password of a URL.
static IN_URL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(://[^/\s:@]*:)[^/\s@]+@").expect("the shape is valid"));

/// The shortest secret that is looked for in other texts, in bytes.
const MIN_KNOWN: usize = 8;
/// The most secrets that are remembered.
const MAX_KNOWN: usize = 1000;

/// Replaces secrets: the values of members with names such as `password`, texts in the shape of a token, and, in later
/// messages, the values that were replaced before.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Further names of members.
    names: Vec<String>,
    /// The secrets so far, the longest first.
    known: Vec<String>,
}

impl Redaction {
    /// With further names of members whose values are secrets. Case, `-` and `_` do not matter.
    #[must_use]
    pub fn with_names(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self { names: names.into_iter().map(|name| plain(name.as_ref())).collect(), known: Vec::new() }
    }

    /// The message without its secrets.
    pub fn redact(&mut self, mut message: Value) -> Value {
        self.learn(&message);
        self.replace(&mut message);
        message
    }

    /// Remembers the secrets of a message, so that each place of them is replaced.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Array(all) => all.iter().for_each(|inner| self.learn(inner)),
            Value::Object(members) => {
                for (name, inner) in members {
                    match inner {
                        Value::String(text) if self.is_secret(name) => self.remember(text),
                        inner => self.learn(inner),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn remember(&mut self, secret: &str) {
        let is_new = !self.known.iter().any(|known| known == secret);
        if is_new && secret.len() >= MIN_KNOWN && self.known.len() < MAX_KNOWN && secret != REDACTED {
            let place = self.known.partition_point(|known| known.len() >= secret.len());
            self.known.insert(place, secret.to_owned());
        }
    }

    fn replace(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(without) = self.without_secrets(text) {
                    *text = without;
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|inner| self.replace(inner)),
            Value::Object(members) => {
                for (name, inner) in members {
                    let is_value = matches!(inner, Value::String(_) | Value::Number(_));
                    if is_value && self.is_secret(name) {
                        *inner = REDACTED.into();
                    } else {
                        self.replace(inner);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn is_secret(&self, name: &str) -> bool {
        let name = plain(name);
        let is_known = NAMES.iter().any(|end| if end.len() > 3 { name.ends_with(end) } else { name == *end });
        (is_known && !HARMLESS.contains(&name.as_str())) || self.names.contains(&name)
    }

    /// The text without secrets; `None` if it has none.
    fn without_secrets(&self, text: &str) -> Option<String> {
        let mut changed = None;
        for secret in &self.known {
            let current = changed.as_deref().unwrap_or(text);
            if current.contains(secret.as_str()) {
                changed = Some(current.replace(secret.as_str(), REDACTED));
            }
        }
        let shapes: [(&Regex, &str); 2] = [(&SHAPES, REDACTED), (&IN_URL, "${1}[redacted]@")];
        for (shape, replacement) in shapes {
            let current = changed.as_deref().unwrap_or(text);
            if shape.is_match(current) {
                changed = Some(shape.replace_all(current, replacement).into_owned());
            }
        }
        changed
    }
}

/// A name without case and separators.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_secret_names_are_replaced() {
        let message = json!({"password": "a", "API_KEY": 5, "x-access-token": "t", "progressToken": 7, "maxTokens": 100,
            "inputSchema": {"properties": {"password": {"type": "string"}}}, "spin": "fast", "list": [{"Secret": "s"}]});
        let expected = json!({"password": REDACTED, "API_KEY": REDACTED, "x-access-token": REDACTED, "progressToken": 7,
            "maxTokens": 100, "inputSchema": {"properties": {"password": {"type": "string"}}}, "spin": "fast",
            "list": [{"Secret": REDACTED}]});
        assert_eq!(Redaction::default().redact(message), expected);
        let own = Redaction::with_names(["customer-id"]).redact(json!({"customerId": "17"}));
        assert_eq!(own, json!({"customerId": REDACTED}));
    }

    #[test]
    fn secrets_are_known_by_their_shape() {
        for (text, expected) in [
            ("Authorization: Bearer abcdefgh12345", "Authorization: [redacted]"),
            ("key sk-proj-abcdefghijklmnop1234 here", "key [redacted] here"),
            ("ghp_abcdefghijklmnopqrstuvwxyz", "[redacted]"),
            ("AKIAABCDEFGHIJKLMNOP", "[redacted]"),
            ("postgres://user:pass@host/db", "postgres://user:[redacted]@host/db"),
            ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "[redacted]"),
            ("the bearer of news", "the bearer of news"),
            ("http://host:80/a@b", "http://host:80/a@b"),
        ] {
            assert_eq!(Redaction::default().redact(json!(text)), json!(expected));
        }
    }

    #[test]
    fn a_secret_is_replaced_wherever_it_appears_again() {
        let mut redaction = Redaction::default();
        redaction.redact(json!({"password": "open sesame", "pin": "1234"}));
        let later = json!({"text": "logged in with open sesame and 1234"});
        assert_eq!(redaction.redact(later), json!({"text": "logged in with [redacted] and 1234"}));
    }
}

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

/// Members that hold JSON Schemas, in which a name is that of a parameter.
const SCHEMAS: [&str; 3] = ["inputSchema", "outputSchema", "requestedSchema"];

/// The longest text that is read as JSON, in bytes.
const MAX_JSON: usize = 1 << 20;

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

/// A secret after its name, as in the query of a URL or in a line of settings.
static AFTER_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let name =
        r"(?i)\b[a-z0-9_.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)";
    Regex::new(&format!(r#"({name}=)[^\s&"'`,;)\]}}<>]+"#)).expect("the shape is valid")
});

/// The shortest secret that is looked for in other texts, in bytes.
const MIN_KNOWN: usize = 8;
/// The most secrets that are remembered.
const MAX_KNOWN: usize = 1000;

/// Replaces secrets: the values of members with names such as `password`, also in a text that is JSON, texts in the shape of
/// a token or after such a name, and, in later messages, the values that were replaced before.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Further names of members.
    names: Vec<String>,
    /// Further shapes.
    patterns: Vec<Regex>,
    /// The secrets so far, the longest first.
    known: Vec<String>,
}

/// A text that is not a regular expression, or one that matches every text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a regular expression that matches some text")]
pub struct InvalidPattern(String);

impl Redaction {
    /// With further names of members whose values are secrets. Case, `-` and `_` do not matter.
    #[must_use]
    pub fn with_names(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self { names: names.into_iter().map(|name| plain(name.as_ref())).collect(), ..Self::default() }
    }

    /// With further shapes of secrets, as regular expressions. The whole match is replaced.
    ///
    /// # Errors
    /// If a pattern is not a regular expression.
    pub fn with_patterns(
        mut self,
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, InvalidPattern> {
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let shape = Regex::new(pattern).map_err(|_| InvalidPattern(pattern.to_owned()))?;
            // Everything else would be a secret, too.
            if shape.is_match("") {
                return Err(InvalidPattern(pattern.to_owned()));
            }
            self.patterns.push(shape);
        }
        Ok(self)
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
                for (name, inner) in members.iter().filter(|(name, _)| !SCHEMAS.contains(&name.as_str())) {
                    match self.is_secret(name) {
                        true => leaves(inner).into_iter().for_each(|secret| self.remember(secret)),
                        false => self.learn(inner),
                    }
                }
            }
            Value::String(text) => {
                if let Some(inner) = json(text) {
                    self.learn(&inner);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
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
                    if SCHEMAS.contains(&name.as_str()) {
                        self.replace_in_schema(inner);
                    } else if self.is_secret(name) {
                        redact_all(inner);
                    } else {
                        self.replace(inner);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// In a schema the names are those of parameters; texts can have secrets as elsewhere.
    fn replace_in_schema(&self, value: &mut Value) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(|inner| self.replace_in_schema(inner)),
            Value::Object(members) => members.values_mut().for_each(|inner| self.replace_in_schema(inner)),
            value => self.replace(value),
        }
    }

    /// The texts of a JSON text that are secrets by their name, as they are written there.
    fn literals(&self, value: &Value, all: &mut Vec<String>) {
        match value {
            Value::Array(values) => values.iter().for_each(|inner| self.literals(inner, all)),
            Value::Object(members) => {
                for (name, inner) in members.iter().filter(|(name, _)| !SCHEMAS.contains(&name.as_str())) {
                    match self.is_secret(name) {
                        true => all.extend(leaves(inner).into_iter().map(|secret| Value::from(secret).to_string())),
                        false => self.literals(inner, all),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn is_secret(&self, name: &str) -> bool {
        let name = plain(name);
        let is_known = NAMES.iter().any(|end| if end.len() > 3 { name.ends_with(end) } else { name == *end });
        (is_known && !HARMLESS.contains(&name.as_str())) || self.names.contains(&name)
    }

    /// The text without secrets; `None` if it has none.
    fn without_secrets(&self, text: &str) -> Option<String> {
        let mut changed: Option<String> = None;
        if let Some(inner) = json(text) {
            let mut literals = Vec::new();
            self.literals(&inner, &mut literals);
            for literal in literals.iter().filter(|literal| literal.len() > 2) {
                let current = changed.as_deref().unwrap_or(text);
                changed = Some(current.replace(literal.as_str(), &format!("\"{REDACTED}\"")));
            }
        }
        for secret in &self.known {
            let current = changed.as_deref().unwrap_or(text);
            if current.contains(secret.as_str()) {
                changed = Some(current.replace(secret.as_str(), REDACTED));
            }
        }
        let shapes: [(&Regex, &str); 3] =
            [(&SHAPES, REDACTED), (&IN_URL, "${1}[redacted]@"), (&AFTER_NAME, "${1}[redacted]")];
        let own = self.patterns.iter().map(|pattern| (pattern, REDACTED));
        for (shape, replacement) in shapes.into_iter().chain(own) {
            let current = changed.as_deref().unwrap_or(text);
            if shape.is_match(current) {
                changed = Some(shape.replace_all(current, replacement).into_owned());
            }
        }
        changed
    }
}

/// All texts of a value.
fn leaves(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().flat_map(leaves).collect(),
        Value::Object(members) => members.values().flat_map(leaves).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Replaces all texts and numbers of a value.
fn redact_all(value: &mut Value) {
    match value {
        Value::String(_) | Value::Number(_) => *value = REDACTED.into(),
        Value::Array(all) => all.iter_mut().for_each(redact_all),
        Value::Object(members) => members.values_mut().for_each(redact_all),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The object or the list that a text is. Results often have one as the mirror of their structured content.
fn json(text: &str) -> Option<Value> {
    let is_candidate = text.len() <= MAX_JSON && text.trim_start().starts_with(['{', '[']);
    if is_candidate { serde_json::from_str(text).ok() } else { None }
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
    fn everything_below_a_secret_name_is_replaced() {
        let message = json!({"credentials": {"user": "ann", "key": "zebra"}, "secret": ["a", 5, null, true],
            "outputSchema": {"properties": {"token": {"type": "string"}}}, "structured": {"pin": 12}});
        let expected = json!({"credentials": {"user": REDACTED, "key": REDACTED}, "secret": [REDACTED, REDACTED, null, true],
            "outputSchema": {"properties": {"token": {"type": "string"}}}, "structured": {"pin": REDACTED}});
        assert_eq!(Redaction::default().redact(message), expected);
    }

    #[test]
    fn a_text_that_is_json_keeps_its_form_without_its_secrets() {
        for (text, expected) in [
            ("{\"user\": \"ann\",\n \"password\": \"cat\"}", "{\"user\": \"ann\",\n \"password\": \"[redacted]\"}"),
            ("[{\"a\":{\"apiKey\":[\"k1\",\"k2\"]}}]", "[{\"a\":{\"apiKey\":[\"[redacted]\",\"[redacted]\"]}}]"),
            ("{\"text\": \"password\"}", "{\"text\": \"password\"}"),
            ("{\"password\": \"\"}", "{\"password\": \"\"}"),
            ("{not json, password: cat}", "{not json, password: cat}"),
        ] {
            assert_eq!(Redaction::default().redact(json!({"text": text})), json!({"text": expected}), "{text}");
        }
        let mut redaction = Redaction::default();
        redaction.redact(json!("{\"token\": \"long enough\"}"));
        assert_eq!(redaction.redact(json!("it was long enough")), json!("it was [redacted]"));
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
            ("GET /a?page=2&access_token=abc&x=1", "GET /a?page=2&access_token=[redacted]&x=1"),
            ("DB_PASSWORD=cat\nUSER=ann", "DB_PASSWORD=[redacted]\nUSER=ann"),
            ("the token = a word; tokens=5", "the token = a word; tokens=5"),
            ("the bearer of news", "the bearer of news"),
            ("http://host:80/a@b", "http://host:80/a@b"),
        ] {
            assert_eq!(Redaction::default().redact(json!(text)), json!(expected));
        }
    }

    #[test]
    fn further_shapes_are_replaced() {
        let mut redaction = Redaction::default().with_patterns([r"\bcase-\d+", "Ann"]).unwrap();
        assert_eq!(redaction.redact(json!("case-17 of Ann")), json!("[redacted] of [redacted]"));
        for wrong in ["(", "a*", ""] {
            let why = Redaction::default().with_patterns([wrong]).unwrap_err().to_string();
            assert!(why.contains("is not a regular expression"), "{why}");
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

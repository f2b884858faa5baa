//! Passwords in texts: in URLs, and as literals after a name such as `password`.

use std::sync::LazyLock;

use regex::Regex;

/// A rule for the value of a shape.
type Rule = fn(&str) -> bool;

/// The shapes of passwords, as regular expressions with a group `value`, and the rule for the value.
const SHAPES: [(&str, Rule); 2] = [
    (r#"[a-z][a-z0-9+.-]*://[^/\s:@"'`<>]*:(?P<value>[^/\s@"'`]+)@"#, is_given),
    // The name can be a member in quotation marks, and have a type.
    (
        concat!(
            r"(?:password|passwd|passphrase|secret",
            r"|(?:secret|access|private|api)[_-]?key|(?:access|auth|api)[_-]?token)",
            r#"["'\]]*(?:\s*:\s*[a-z][\w\[\]|. ]*)?\s*(?::=|=>|[:=])\s*[bruf]{0,2}["'`](?P<value>[^"'`\s]{8,})["'`]"#,
        ),
        is_literal,
    ),
];

/// Marks of a value that is put in later, or left out.
const MARKS: [&str; 8] = ["{", "<", ">", "%s", "***", "...", "…", "xxx"];

/// Words that stand in the place of a value.
const WORDS: [&str; 26] = [
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "credential",
    "token",
    "username",
    "user",
    "name",
    "private",
    "access",
    "api",
    "key",
    "your",
    "the",
    "here",
    "changeme",
    "change",
    "example",
    "placeholder",
    "dummy",
    "redacted",
    "input",
    "field",
];

/// The fewest letters and digits of a value without these words.
const MIN_REST: usize = 4;
/// The fewest letters of a value that has nothing else: a shorter one is a word, such as a label.
const MIN_LETTERS: usize = 16;

static COMPILED: LazyLock<Vec<(Regex, Rule)>> = LazyLock::new(|| {
    let shape =
        |(shape, rule): (&str, Rule)| (Regex::new(&format!("(?i){shape}")).expect("the shapes are valid"), rule);
    SHAPES.into_iter().map(shape).collect()
});

/// The number of the first line with a password, from 1.
pub(super) fn line_of_password(text: &str) -> Option<usize> {
    let places = COMPILED.iter().filter_map(|(shape, rule)| {
        let mut values = shape.captures_iter(text).filter_map(|found| found.name("value"));
        values.find(|value| rule(value.as_str())).map(|value| value.start())
    });
    places.min().map(|place| text[..place].matches('\n').count() + 1)
}

/// True if the value is not one that readers put their own in place of.
fn is_given(value: &str) -> bool {
    let is_marked = value.starts_with('$') || MARKS.iter().any(|mark| value.to_lowercase().contains(mark));
    let rest = WORDS.iter().fold(value.to_lowercase(), |rest, word| rest.replace(word, ""));
    !is_marked && rest.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_REST
}

/// True if the value is a secret and not a label, the name of one, or its place.
fn is_literal(value: &str) -> bool {
    let is_place = value.contains("://") || value.starts_with(['/', '.', '~']);
    let is_name = value.chars().all(|c| c.is_alphabetic() || "_-.:/".contains(c));
    let is_long = value.chars().all(char::is_alphabetic) && value.chars().count() >= MIN_LETTERS;
    is_given(value) && !is_place && (!is_name || is_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found() {
        for text in [
            "postgres://ann:hunter2@db.example.com/app",
            "url = 'https://ann:s3same-open@example.com'",
            "redis://:swordfish@localhost:6379",
            "password = \"hunter2hunter2\"",
            "DB_PASSWORD='x7#kk29!'",
            "passwd: \"12345678\"",
            "{\"api_key\": \"0f9b3c5a7d\"}",
            "config[\"client_secret\"] = 'abc123def456'",
            "password: str = \"hunter2hunter2\"",
            "apiKey := \"a1b2c3d4e5\"",
            "SECRET_KEY = 'correcthorsebatterystaple'",
            "'access_token' => 'abc-123-def'",
        ] {
            assert_eq!(line_of_password(&format!("one\n{text}\nthree")), Some(2), "{text}");
        }
    }

    #[test]
    fn placeholders_and_names_are_not_found() {
        for text in [
            "postgres://user:password@localhost/db",
            "https://user:pass@example.com",
            "f\"postgres://{user}:{password}@{host}\"",
            "https://ann:${PASSWORD}@example.com",
            "https://ann:$PASSWORD@example.com",
            "http://localhost:8080/@scope/name",
            "https://example.com:443/a@b",
            "password = \"\"",
            "password = os.environ[\"DB_PASSWORD_2\"]",
            "api_key = os.getenv(\"API_KEY_2\")",
            "const secret = process.env.SECRET_2;",
            "password = \"your-password-here\"",
            "password = \"changeme\"",
            "api_key = \"<your key 123>\"",
            "api_key = \"OPENAI_API_KEY\"",
            "secret = \"${SECRET_2}\"",
            "secret: \"xxxxxxxx1\"",
            "\"password\": \"Contraseña\"",
            "password: \"Enter your password 2\"",
            "secret = \"/run/secrets/db1\"",
            "secret_name = \"db-credentials-2\"",
            "if password == \"\":",
        ] {
            assert_eq!(line_of_password(text), None, "{text}");
        }
    }
}

//! Names whose values are secrets.

use serde_json::{Map, Value};

/// The ends of names whose values are secrets, in lower case and without `-` and `_`.
const NAMES: [&str; 20] = [
    "token",
    "secret",
    "secrets",
    "secretkey",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passphrases",
    "apikey",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "cookies",
    "privatekey",
    "accesskey",
    "signature",
    "pin",
    "pwd",
];

/// The ends of names that end like a secret and are none.
const HARMLESS: [&str; 4] = ["progresstoken", "pagetoken", "nexttoken", "continuationtoken"];

/// Variables of the environment with a directory.
const DIRECTORIES: [&str; 2] = ["PWD", "OLDPWD"];

/// Members that hold JSON Schemas, in which a name is the name of a parameter.
const SCHEMAS: [&str; 3] = ["inputSchema", "outputSchema", "requestedSchema"];

/// Members of a schema with values in the place of an argument.
const EXAMPLES: [&str; 3] = ["default", "examples", "example"];

/// Members with the name of the value next to them, as in `{"name": "password", "value": "x"}`.
const TITLES: [&str; 4] = ["name", "key", "header", "field"];
/// That value.
const VALUES: [&str; 2] = ["value", "values"];

/// Words of MCP that are long enough to be remembered as a secret.
const WORDS: [&str; 22] = [
    "annotations",
    "arguments",
    "capabilities",
    "clientInfo",
    "contents",
    "description",
    "inputSchema",
    "instructions",
    "messages",
    "mimeType",
    "nextCursor",
    "outputSchema",
    "progress",
    "progressToken",
    "properties",
    "protocolVersion",
    "required",
    "resources",
    "resourceTemplates",
    "serverInfo",
    "structuredContent",
    "uriTemplate",
];

/// A place by the names above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Texts are searched for secrets.
    Plain,
    /// Texts and numbers are secrets.
    Secret,
    /// A JSON Schema.
    Schema,
    /// The properties of a schema, by their names.
    Properties,
    /// The schema of a secret.
    SecretSchema,
}

/// The names of secrets.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// Further names, without case and separators.
    own: Vec<String>,
}

impl Names {
    pub(super) fn with(own: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self { own: own.into_iter().map(|name| plain(name.as_ref())).collect() }
    }

    pub(super) fn is_secret(&self, name: &str) -> bool {
        let simple = plain(name);
        let is_known = NAMES.iter().any(|end| if *end == "pin" { simple == *end } else { simple.ends_with(end) });
        let is_harmless = is_harmless(name) || DIRECTORIES.contains(&name);
        (is_known && !is_harmless) || self.own.contains(&simple)
    }

    /// The place of a member. `is_named` says that another member has the name of a secret.
    pub(super) fn below(&self, place: Place, name: &str, is_named: bool) -> Place {
        let is_example = EXAMPLES.contains(&name);
        match place {
            Place::Secret => Place::Secret,
            Place::Plain if SCHEMAS.contains(&name) => Place::Schema,
            Place::Plain if self.is_secret(name) || (is_named && VALUES.contains(&name)) => Place::Secret,
            Place::Plain => Place::Plain,
            Place::Schema if name == "properties" => Place::Properties,
            Place::Schema if is_example => Place::Plain,
            Place::Schema => Place::Schema,
            Place::Properties if self.is_secret(name) => Place::SecretSchema,
            Place::Properties => Place::Schema,
            Place::SecretSchema if is_example => Place::Secret,
            Place::SecretSchema => Place::SecretSchema,
        }
    }

    /// The place of an element after this one in a list, as in `["--password", "x"]`.
    pub(super) fn after(&self, place: Place, before: Option<&str>, element: Option<&str>) -> Place {
        let is_flag = before.and_then(|word| word.strip_prefix("--")).is_some_and(|name| self.is_secret(name));
        let is_value = element.is_some_and(|word| !word.starts_with("--"));
        if place == Place::Plain && is_flag && is_value { Place::Secret } else { place }
    }

    /// True if an object names the secret that it holds.
    pub(super) fn is_named(&self, members: &Map<String, Value>) -> bool {
        TITLES.iter().any(|title| members.get(*title).and_then(Value::as_str).is_some_and(|name| self.is_secret(name)))
    }

    /// True if this member says that its object holds a secret.
    pub(super) fn is_title(&self, name: &str, text: &str) -> bool {
        TITLES.contains(&name) && self.is_secret(text)
    }
}

/// True for a name that ends like a secret and is none.
pub(super) fn is_harmless(name: &str) -> bool {
    let simple = plain(name);
    HARMLESS.iter().any(|end| simple.ends_with(end))
}

/// True for the name of a secret and for a word of MCP. As a secret it tells nothing, and messages need it.
pub(super) fn is_word(text: &str) -> bool {
    WORDS.contains(&text) || NAMES.contains(&plain(text).as_str())
}

/// A name without case and separators.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

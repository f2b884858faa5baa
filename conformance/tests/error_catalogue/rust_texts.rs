//! The texts of errors in a Rust file: literals within certain calls, macros, attributes, functions and constants.

use super::normal_form::{is_text, tidy, unescaped, with_placeholders};
use crate::architecture::tokens::{Kind, Token, tokens};

/// Calls, macros and attributes whose literals are errors. A name without a path is a function of the file, a closure,
/// a method or a variant.
#[rustfmt::skip]
const SINKS: &[&str] = &[
    // Attributes of thiserror, and results.
    "#error", "Err", "map_err", "ok_or", "ok_or_else",
    // Lines of the log.
    "warn!", "error!", "warn_once",
    // Errors of the command line.
    "Failure::usage", "Failure::failed", "refusal::failure",
    // Errors of JSON-RPC.
    "ErrorObject::new", "ErrorObject::parse_error", "ErrorObject::invalid_request", "ErrorObject::invalid_params",
    "ErrorObject::internal", "ErrorObject::overloaded", "ErrorObject::missing_capability",
    "ErrorObject::method_not_found", "Self::invalid_params", "Self::internal", "Self::invalid_request",
    "Malformed::invalid",
    // Faults of proto-mcp, and statuses of gRPC.
    "Fault::new", "Status::invalid_argument", "Status::unavailable", "Status::not_found", "Status::internal",
    "Status::unimplemented", "Status::deadline_exceeded", "Status::resource_exhausted", "Status::unauthenticated",
    // Bodies of HTTP responses.
    "reply::error", "reply::bad_request", "reply::not_found", "not_found", "error", "bad_request", "Refused::new",
    "Refused::bad",
    // Results of tools.
    "CallToolResult::error", "ToolError::new",
    // Errors of the crates.
    "Failure::new", "Failure::connection", "Failure::incomplete", "TokenError::Invalid", "TokenError::Unavailable",
    "BearerToken::Malformed", "CloseReason::Failed", "AuthorizationError::Unavailable", "AuthorizationError::Rejected",
    "AuthorizationError::SignInRequired", "AuthorizationError::Unsupported", "StoreError", "ResolveError::new",
    "EditError::Unsupported", "ScenarioError", "SchemaError::Invalid", "Error::other", "Error::new", "Error::custom",
    "E::custom", "Mismatch::new", "Step::GiveUp", "Cause::reported", "Cause::from", "InflateError::Corrupt",
    "ValidationError::Rules", "Error::General",
    // Functions of a file that make one of these.
    "unavailable", "refuse", "refused", "refusal", "failed", "invalid", "unusable", "untrusted", "malformed", "unfit",
    "fault", "wrong", "endless", "unresolved", "problem", "bad", "note_refusal", "close", "cancel",
    "retry_soon",
];

/// Variants of several enums.
const VARIANTS: &[&str] = &["InvalidAnswer", "NotAvailable", "Unreadable"];

/// Calls, macros and attributes whose literals are not errors, even inside of an error.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "debug!", "info!", "trace!", "expect", "unreachable!", "panic!", "assert!", "assert_eq!", "debug_assert!",
    "contains", "starts_with", "ends_with", "split_once", "rsplit_once", "strip_prefix", "strip_suffix",
    "concat!", "LazyLock::new", "#doc", "#cfg_attr", "#expect", "#allow", "#command", "#arg", "#serde",
];

/// Functions, constants and implementations of `Display` whose literals are errors, with the package.
#[rustfmt::skip]
const OWNERS: &[(&str, &[&str])] = &[
    ("auth", &["const CROWDED", "fn check", "fn discover", "fn new", "fn unavailable", "fn why"]),
    ("bridge", &[
        "Display for Failure", "Display for Report", "Display for RunError", "const NAMELESS", "const REPEATED",
        "const WHILE_REGISTERING", "const WHILE_TAKING_OVER", "const WITHOUT_UV", "fn before_it_connected",
        "fn call_failure", "fn for_clients", "fn line", "fn not_started", "fn others", "fn poll_task", "fn prompt",
        "fn reload_failed", "fn replace", "fn restart_failed", "fn search_for", "fn unanswered", "fn why",
    ]),
    ("bufmcp", &[
        "fn agree", "fn answered", "fn authenticate", "fn call_tool", "fn check_type", "fn opened", "fn parse",
        "fn referenced", "fn request", "fn summary", "fn take", "fn too_large",
    ]),
    ("check", &["Display for UnknownHost", "fn parse", "fn step"]),
    ("cli", &[
        "const ANSWER", "const NEEDS_HTTP", "const NO_POLL", "fn allowing_flag", "fn broken",
        "fn build", "fn check", "fn check_sign_in", "fn client", "fn expected", "fn gone", "fn hint", "fn hold",
        "fn lost", "fn names_one_url", "fn not_for_hosts", "fn problems", "fn read_bounded", "fn silent", "fn tcp",
        "fn token", "fn unknown", "fn unknown_tag", "fn unused", "fn value", "fn warning", "fn without_tools",
    ]),
    ("client", &["fn exceeded", "fn watch"]),
    ("descriptors", &["fn refusal", "fn schema"]),
    ("envelope", &["Display for UnexpectedMessage"]),
    ("gateway", &[
        "Display for Failure", "Display for Report", "fn attempt", "fn consequence", "fn lost", "fn merged",
        "fn probe", "fn wait",
    ]),
    ("grpc", &["fn of_unread", "fn refused", "fn with_cause"]),
    ("http", &[
        "const SLOW_PROBE", "fn answer", "fn check_arguments", "fn get", "fn holder_gone", "fn listen", "fn no_room",
        "fn read", "fn refuse", "fn resume", "fn route",
    ]),
    ("http-client", &["fn accepted", "fn open", "fn resume", "fn session_lost", "fn stream"]),
    ("install", &["fn error"]),
    ("link", &["fn handle_too_large", "fn refusal"]),
    ("listener", &["const REPLY_TO_PLAIN_TEXT", "fn error_at", "fn line"]),
    ("oauth", &[
        "Display for SignInNotice", "fn advance", "fn answer", "fn authentication", "fn challenge",
        "fn check_sign_in", "fn document", "fn grant", "fn is_bound", "fn prepare", "fn refresh", "fn subject_token",
    ]),
    ("playground", &["Display for NoToken", "fn open"]),
    ("schema", &[
        "Display for Mismatch", "fn ambiguous", "fn describe", "fn elements", "fn forbidden", "fn of_action",
        "fn of_arguments", "fn of_result", "fn unknown",
    ]),
    ("sdk", &["fn call", "fn report", "fn send", "fn skipped", "fn status"]),
    ("server", &[
        "fn ask", "fn batch", "fn dropped", "fn explain", "fn flushed", "fn in_other_process", "fn listener", "fn no_store",
        "fn parked_elsewhere", "fn replica_gone", "fn request", "fn unknown",
    ]),
    ("session", &["const CANCELLED", "fn check", "fn filter", "fn listen", "fn request", "fn unanswered"]),
    ("skills", &["Display for Omission"]),
    ("supervisor", &["Display for Status", "fn no_interpreter", "fn notice", "fn take"]),
    ("trace", &["fn receive", "fn refusal"]),
    ("transport", &["fn refusal"]),
    ("typed", &["fn begin", "fn call", "fn complete"]),
    ("types", &[
        "const TOO_MANY", "fn method_not_found", "fn missing_capability", "fn resource_not_found", "fn try_from",
        "fn unsupported_version",
    ]),
    ("websocket", &["const FULL", "fn close_frame", "fn too_large"]),
    ("wire", &["Display for InvalidStructured", "fn to_envelope", "fn to_mcp"]),
];

/// The texts of errors with the lines on which they begin.
pub(super) fn texts(package: &str, source: &str) -> Vec<(usize, String)> {
    let all: Vec<_> = tokens(source).into_iter().filter(|token| token.kind != Kind::Comment).collect();
    let code = without_tests(&all);
    let mut scan = Scan { package, openers: Vec::new(), item: None, constant: None };
    let mut found = Vec::new();
    for (at, token) in code.iter().enumerate() {
        match token.kind {
            Kind::Text if scan.is_error() => {
                let text = tidy(&with_placeholders(&unescaped(token.text)));
                found.extend(is_text(&text).then_some((token.line, text)));
            }
            Kind::Word => scan.word(&code[at..]),
            Kind::Mark => scan.mark(&code[..=at]),
            Kind::Text | Kind::Comment => {}
        }
    }
    found
}

/// The tokens without items for tests.
fn without_tests<'a>(code: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut rest = code;
    let mut kept = Vec::new();
    while let Some(first) = rest.first() {
        let is_test = rest.len() > 6
            && ["#", "[", "cfg", "(", "test", ")", "]"].iter().zip(rest).all(|(mark, token)| token.is(mark));
        if is_test {
            rest = &rest[7 + item(&rest[7..])..];
        } else {
            kept.push(*first);
            rest = &rest[1..];
        }
    }
    kept
}

/// The number of tokens of the item, field or statement that the code begins with.
fn item(code: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in code.iter().enumerate().filter(|(_, token)| token.kind == Kind::Mark) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text == "}" {
                    return at + 1;
                }
            }
            ";" | "," if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// The place in the code: the calls, attributes and items around it.
struct Scan<'a> {
    package: &'a str,
    /// The name before each open bracket, empty if it has none.
    openers: Vec<String>,
    /// The item whose body comes next.
    item: Option<String>,
    /// The constant whose value comes next.
    constant: Option<String>,
}

impl Scan<'_> {
    /// True if a literal here is an error.
    fn is_error(&self) -> bool {
        if self.constant.as_ref().is_some_and(|name| self.is_owner(name)) {
            return true;
        }
        for name in self.openers.iter().rev().filter(|name| !name.is_empty()) {
            let (path, last) = name.rsplit_once("::").unwrap_or(("", name.as_str()));
            if OTHERS.contains(&last) || OTHERS.contains(&name.as_str()) {
                return false;
            }
            let is_variant = !path.is_empty() && VARIANTS.contains(&last);
            if SINKS.contains(&name.as_str()) || is_variant || self.is_owner(name) {
                return true;
            }
        }
        false
    }

    fn is_owner(&self, name: &str) -> bool {
        OWNERS.iter().any(|(package, owners)| *package == self.package && owners.contains(&name))
    }

    fn word(&mut self, rest: &[Token<'_>]) {
        let next = rest.get(1).filter(|token| token.kind == Kind::Word);
        match (rest[0].text, next) {
            ("fn", Some(name)) => self.item = Some(format!("fn {}", name.text)),
            ("const" | "static", name) => self.constant = name.map(|name| format!("const {}", name.text)),
            ("impl", _) => {
                let head = rest.iter().take_while(|token| !token.is("{") && !token.is(";"));
                let head: Vec<_> = head.map(|token| token.text).collect();
                let place = head.iter().position(|word| *word == "for").filter(|place| *place > 0);
                if let Some(place) = place
                    && head[place - 1] == "Display"
                    && let Some(name) = head.get(place + 1)
                {
                    self.item = Some(format!("Display for {name}"));
                }
            }
            _ => {}
        }
    }

    /// Handles the last mark of `code`.
    fn mark(&mut self, code: &[Token<'_>]) {
        let Some((mark, before)) = code.split_last() else { return };
        match mark.text {
            ";" => self.constant = None,
            "(" => {
                let name = callee(before);
                let is_attribute = self.openers.last().is_some_and(|outer| outer == "#");
                self.openers.push(if is_attribute { format!("#{name}") } else { name });
            }
            "[" => self.openers.push(if before.last().is_some_and(|token| token.is("#")) {
                "#".into()
            } else {
                String::new()
            }),
            "{" => self.openers.push(self.item.take().unwrap_or_default()),
            ")" | "]" | "}" => drop(self.openers.pop()),
            _ => {}
        }
    }
}

/// The name of the function or macro before a bracket, with the last part of its path.
fn callee(before: &[Token<'_>]) -> String {
    match before {
        [.., outer, path, name] if name.kind == Kind::Word && path.is("::") => format!("{}::{}", outer.text, name.text),
        [.., name] if name.kind == Kind::Word => name.text.to_owned(),
        [.., name, mark] if mark.is("!") => format!("{}!", name.text),
        _ => String::new(),
    }
}

#[test]
fn texts_of_errors_are_found() {
    for (source, expected) in [
        ("#[error(\"no file {0} here\")]\nNone(String),", &["no file … here"][..]),
        ("Err(Failure::usage(format!(\"no {x} with \\\"{y}\\\"\")))", &["no … with \"…\""]),
        ("tracing::warn!(name, %error, \"it has failed: {error}\");", &["it has failed: …"]),
        ("tracing::debug!(\"it is well\"); let text = \"not an error\";", &[]),
        ("Err(why).expect(\"it has a why\")", &[]),
        (
            "#[cfg(test)]\nmod tests { fn x() { Err(\"of a test\") } }\nfn y() { Err(\"of the code\") }",
            &["of the code"],
        ),
        ("#[cfg(test)]\nmod tests;\nfn y() { Err(\"of the code\") }", &["of the code"]),
        ("RequestError::InvalidAnswer(\"it is empty\".into())", &["it is empty"]),
        ("// Err(\"in a comment\")\nok_or(\"a name is missing\")", &["a name is missing"]),
        ("impl<'a> fmt::Display for Failure { fn fmt() { write!(f, \"it is {x}\") } }", &["it is …"]),
        ("impl fmt::Display for Other { fn fmt() { write!(f, \"it is {x}\") } }", &[]),
    ] {
        let found: Vec<_> = texts("bridge", source).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, expected, "{source}");
    }
}

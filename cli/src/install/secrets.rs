//! Texts about a server without its secrets: terminals are shared, and their output is pasted into reports.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_install::ListedServer;
use protomcp_trace::{REDACTED, Redaction};
use serde_json::{Value, json};

use crate::install::known::Known;
use crate::install::shell;

/// Removes the secrets of one server from texts.
pub(super) struct Secrets<'a> {
    server: &'a ListedServer,
    redaction: Redaction,
    /// The parts of the entry that the output of the server must not have.
    known: Known,
}

impl<'a> Secrets<'a> {
    /// Secrets are the values of all headers, the user and the query of the URL, the variables whose names say so, and the
    /// words of the command that are shown in part.
    pub(super) fn of(server: &'a ListedServer) -> Self {
        let mut redaction = Redaction::default();
        let pair = |(name, value): &(String, String)| (name.clone(), Value::from(value.as_str()));
        let env: serde_json::Map<_, _> = server.env.iter().map(pair).collect();
        let mut secrets: Vec<String> = server.headers.iter().flat_map(|(_, value)| of_header(value)).collect();
        secrets.extend(server.url.iter().flat_map(|url| parts(url)).map(str::to_owned));
        let urls = server.command.iter().filter(|word| word.contains("://"));
        secrets.extend(urls.flat_map(|url| parts(url)).map(str::to_owned));
        let fields = server.command.windows(2).filter(|pair| pair[0] == "--header" || pair[0] == "-H");
        secrets.extend(fields.filter_map(|pair| pair[1].split_once(':')).flat_map(|(_, value)| of_header(value)));
        let shown = redaction.redact(json!({"env": env, "args": server.command, "secrets": secrets}));
        let hidden = server.env.iter().filter(|(name, _)| shown["env"][name.as_str()] == REDACTED);
        let mut known = Known::default();
        for text in secrets.iter().chain(hidden.map(|(_, value)| value)) {
            known.secret(text);
        }
        for (word, shown) in hidden_words(server) {
            let value = shown.strip_suffix(REDACTED).and_then(|start| word.strip_prefix(start));
            value.into_iter().for_each(|value| known.secret(value));
            if shown != REDACTED {
                known.word(&word, &shown);
            }
        }
        Self { server, redaction, known }
    }

    /// The words of its command. The value of each flag and of each `NAME=VALUE` is left out.
    pub(super) fn command(&mut self) -> Vec<String> {
        match self.redaction.redact(json!(self.server.shown_command())) {
            Value::Array(words) => words.into_iter().map(plain).collect(),
            other => vec![plain(other)],
        }
    }

    /// Its URL, without user, query and fragment.
    pub(super) fn url(&mut self) -> Option<String> {
        self.server.shown_url().map(|url| self.text(&url))
    }

    /// Its command or its URL, for people.
    pub(super) fn shown(&mut self) -> String {
        self.url().unwrap_or_else(|| self.command().join(" "))
    }

    /// A text that the server has printed, or that is about it.
    pub(super) fn text(&mut self, text: &str) -> String {
        let text = self.known.without(text);
        self.redacted(&text)
    }

    fn redacted(&mut self, text: &str) -> String {
        plain(self.redaction.redact(Value::from(text)))
    }

    /// The text of a file with its entry, in JSON or TOML. Paths of programs stay.
    pub(super) fn file(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        let pairs = self.server.env.iter().filter(|(name, _)| !shell::is_of_programs(name)).chain(&self.server.headers);
        for (name, value) in pairs {
            let name = [quoted(name), name.clone()];
            for (before, after) in name.iter().flat_map(|name| [(name, ": "), (name, " = ")]) {
                let start = format!("{before}{after}");
                text = text.replace(&format!("{start}{}", quoted(value)), &format!("{start}{}", quoted(REDACTED)));
            }
        }
        for (word, shown) in hidden_words(self.server) {
            text = text.replace(&quoted(&word), &quoted(&shown));
        }
        self.redacted(&text)
    }
}

/// The words of the command, and the URL, of which a part is left out, each with the rest.
fn hidden_words(server: &ListedServer) -> Vec<(String, String)> {
    let words = server.command.iter().cloned().zip(server.shown_command());
    let url = server.url.iter().cloned().zip(server.shown_url());
    words.chain(url).filter(|(word, shown)| word != shown && !word.is_empty()).collect()
}

/// The secrets of the value of a header: all of it, the part after the scheme, and the user and the password in it
/// (RFC 7617, section 2).
fn of_header(value: &str) -> Vec<String> {
    let value = value.trim();
    let mut secrets = vec![value.to_owned()];
    if let Some((scheme, rest)) = value.split_once(' ') {
        secrets.push(rest.trim().to_owned());
        let decoded = STANDARD.decode(rest.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"));
        if let Some(pair) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
            secrets.extend(pair.splitn(2, ':').map(str::to_owned));
            secrets.push(pair);
        }
    }
    secrets
}

/// A text without keys in the shape of a known service, such as `ghp_…`, and without values after names such as `password`.
pub(super) fn without_keys(text: &str) -> String {
    plain(Redaction::default().redact(Value::from(text)))
}

/// The parts of a URL that may be secrets.
fn parts(url: &str) -> Vec<&str> {
    let (before, query) = url.split_once(['?', '#']).unwrap_or((url, ""));
    let authority = before.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(rest));
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let values = query.split(['&', '#', '?']).map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    user.split(':').chain(values).filter(|part| !part.is_empty()).collect()
}

fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use protomcp_install::Server;

    use super::*;

    fn texts(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_secrets_of_an_entry_are_in_no_text() {
        let args = ["run", "--upstream", "https://ann:pass-1234@h/mcp?key=que-ry-1", "--header", "X-Key: head-er-1"];
        let more = ["--api-key=flag-value", "-k", "short-flag", "NAME=assign-ment", "--quiet"];
        let command = Server::Command {
            program: "/bin/pmcp".into(),
            args: args.iter().chain(&more).map(|word| (*word).to_owned()).collect(),
            env: texts(&[("PLAIN", "env-value-1"), ("API_TOKEN", "env-value-2"), ("PATH", "/bin")]),
        };
        let url = Server::Url {
            url: "https://ann:pass-1234@h/mcp?key=que-ry-1#frag-ment".into(),
            headers: texts(&[("Authorization", "head-er-1"), ("X-Other", "head-er-2")]),
        };
        let hidden = [
            "pass-1234",
            "que-ry-1",
            "head-er-1",
            "head-er-2",
            "flag-value",
            "short-flag",
            "assign-ment",
            "env-value-1",
            "env-value-2",
            "frag-ment",
        ];
        for (server, shown) in [
            (
                command,
                "/bin/pmcp run --upstream https://h/mcp --header [redacted] --api-key=[redacted] \
             -k [redacted] NAME=[redacted] --quiet",
            ),
            (url, "https://h/mcp"),
        ] {
            let listed = ListedServer::of("tools", &server);
            let mut secrets = Secrets::of(&listed);
            assert_eq!(secrets.shown(), shown);
            let json = protomcp_install::snippet(None, "tools", &server).expect("there is a notation");
            let toml = protomcp_install::snippet(protomcp_install::host("codex"), "tools", &server);
            for text in [json, toml.expect("it has a notation")] {
                let file = secrets.file(&text);
                let found: Vec<_> = hidden.iter().filter(|secret| file.contains(*secret)).collect();
                assert!(found.is_empty() && file.contains("tools"), "{found:?} {file}");
            }
        }
    }

    #[test]
    fn the_words_of_a_server_are_redacted() {
        let url = "https://ann:pass-1234@h/mcp?key=que-ry-1";
        let mut server = ListedServer::of("a", &Server::Url { url: url.into(), headers: texts(&[("X", "head-er-1")]) });
        server.env = texts(&[("TOKEN", "env-value-2"), ("KEY", "luck")]);
        let mut secrets = Secrets::of(&server);
        for (text, expected) in [
            (format!("{url} cannot be reached").as_str(), "https://h/mcp cannot be reached"),
            ("at ?key=que-ry-1, by ann:pass-1234", "at ?key=[redacted], by ann:[redacted]"),
            ("got head-er-1 and env-value-2", "got [redacted] and [redacted]"),
            ("no luck", "no luck"),
            ("password=geheim", "password=[redacted]"),
        ] {
            assert_eq!(secrets.text(text), expected);
        }
    }

    #[test]
    fn each_part_of_an_entry_is_redacted() {
        let words = ["pmcp", "run", "--", "db", "NAME=assigned", "--key", "flag-1", "-pgeheim", "--log", "info", "-H"];
        let command: Vec<_> = words.into_iter().chain(["X-Key: Token head-1"]).map(str::to_owned).collect();
        let mut server = ListedServer::of("a", &Server::Url { url: "http://h".into(), headers: Vec::new() });
        let headers =
            [("Authorization", "Basic YW5uYTpodW50ZXIy"), ("X-Tenant", "acme"), ("Cookie", "Bearer tok-1234")];
        (server.command, server.headers, server.env) = (command, texts(&headers), texts(&[("API_TOKEN", "env-1")]));
        let mut secrets = Secrets::of(&server);
        for (text, expected) in [
            ("no user anna with hunter2", "no user [redacted] with [redacted]"),
            ("got YW5uYTpodW50ZXIy", "got [redacted]"),
            ("tenant acme, not acmes", "tenant [redacted], not acmes"),
            ("tok-1234 head-1 flag-1 env-1", "[redacted] [redacted] [redacted] [redacted]"),
            ("geheim, -pgeheim", "[redacted], -p[redacted]"),
            ("NAME=assigned is assigned", "NAME=[redacted] is [redacted]"),
            ("info: the answer is tok-12", "info: the answer is [redacted]"),
        ] {
            assert_eq!(secrets.text(text), expected);
        }
    }
}

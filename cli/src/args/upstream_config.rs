//! The file that names servers: the `mcpServers` object that hosts read, with the comments that some of them allow.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use protomcp_http_client::HttpTransport;
use protomcp_install::without_comments;
use protomcp_types::{JsonObject, Kind, RawJson};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::args::address::Address;
use crate::exit::Failure;
use crate::{json_names, text_file};

/// A server with its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) location: Location,
}

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Url { url: String, headers: Vec<(String, String)> },
    Proto { server: Address, token: Option<String> },
    Command(StdioCommand),
}

/// A command that is a server on its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StdioCommand {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// Beside the environment of this program.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) protocol: CommandProtocol,
}

/// The protocol of a command on its standard input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum CommandProtocol {
    /// JSON-RPC in lines
    #[default]
    Json,
    /// proto-mcp, or JSON-RPC if the command does not answer in proto-mcp
    Proto,
}

/// An entry as it is written. Members that only matter to hosts are ignored, and one that is null counts as absent.
#[derive(Debug, Deserialize)]
struct Written {
    /// `proto-mcp` is ours. Hosts write others, which follow from the members.
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    args: Option<Vec<Word>>,
    env: Option<BTreeMap<String, Option<Word>>>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(rename = "serverUrl")]
    server_url: Option<String>,
    #[serde(rename = "httpUrl")]
    http_url: Option<String>,
    headers: Option<BTreeMap<String, Option<Word>>>,
    disabled: Option<bool>,
    enabled: Option<bool>,
    #[serde(rename = "isActive")]
    is_active: Option<bool>,
}

/// A text, or a number or a boolean as its text.
#[derive(Debug)]
struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = RawJson::deserialize(deserializer)?;
        match value.kind() {
            Kind::String => value.to().map(Self).map_err(D::Error::custom),
            Kind::Number | Kind::Boolean => Ok(Self(value.as_str().to_owned())),
            Kind::Object | Kind::Array | Kind::Null => {
                Err(D::Error::custom(format!("expected a string, a number or a boolean, got {}", value.as_str())))
            }
        }
    }
}

impl Written {
    fn is_off(&self) -> bool {
        self.disabled == Some(true) || self.enabled == Some(false) || self.is_active == Some(false)
    }

    /// The URL, which hosts give different names.
    fn url(&mut self) -> Result<Option<String>, String> {
        let mut urls = [self.url.take(), self.server_url.take(), self.http_url.take()].into_iter().flatten();
        let url = urls.next();
        if urls.next().is_some() {
            return Err("it has more than one of \"url\", \"serverUrl\" and \"httpUrl\"".into());
        }
        Ok(url)
    }
}

/// Variables of hosts, which know them without a prefix.
const OF_HOSTS: &[&str] = &[
    "cwd",
    "extensionInstallFolder",
    "extensionPath",
    "file",
    "pathSeparator",
    "userHome",
    "workspaceFolder",
    "workspaceFolderBasename",
    "workspacePath",
    "workspaceRoot",
    "/",
];

/// The servers of a file, in its order.
pub(super) fn read(path: &Path, variable: &impl Fn(&str) -> Option<String>) -> Result<Vec<Entry>, Failure> {
    let invalid = |why: String| Failure::usage(format!("invalid --config {}: {why}", path.display()));
    let text = text_file::read(path).map_err(|error| invalid(error.to_string()))?;
    let entries = parse(&text, variable).map_err(invalid)?;
    if entries.is_empty() { Err(invalid("it names no server".into())) } else { Ok(entries) }
}

fn parse(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<Vec<Entry>, String> {
    let json = without_comments(text).map_err(|error| error.to_string())?;
    let file = RawJson::parse(json).and_then(|raw| JsonObject::from_raw(&raw)).map_err(|error| error.to_string())?;
    let is_value = |value: &&RawJson| value.kind() != Kind::Null;
    let servers = file.member("mcpServers").filter(is_value).or_else(|| file.member("servers").filter(is_value));
    let servers = servers.ok_or("it has no object \"mcpServers\"")?;
    let no_object = |_| "\"mcpServers\" is not an object";
    if let Some(name) = json_names::repeated(servers.as_str()).map_err(no_object)? {
        return Err(format!("two servers have the name \"{name}\""));
    }
    let servers = JsonObject::from_raw(servers).map_err(no_object)?;
    let mut entries = Vec::new();
    for (name, entry) in servers.iter().filter(|(_, entry)| is_value(entry)) {
        if name.is_empty() {
            return Err("a server has an empty name".into());
        }
        let entry: Written = entry.to().map_err(|error| format!("server \"{name}\": {error}"))?;
        if entry.is_off() {
            continue;
        }
        let location = location(entry, variable).map_err(|why| format!("server \"{name}\": {why}"))?;
        entries.push(Entry { name: name.to_owned(), location });
    }
    Ok(entries)
}

fn location(mut entry: Written, variable: &impl Fn(&str) -> Option<String>) -> Result<Location, String> {
    let fill = |text: String| expand(&text, variable);
    let pairs = |pairs: Option<BTreeMap<String, Option<Word>>>| {
        let pairs = pairs.unwrap_or_default().into_iter().filter_map(|(name, value)| Some((name, value?.0)));
        pairs.map(|(name, value)| Ok((name, fill(value)?))).collect::<Result<Vec<_>, String>>()
    };
    let url = entry.url()?;
    let location = match (entry.command, url) {
        (Some(program), None) => Location::Command(StdioCommand {
            program: fill(program)?.into(),
            arguments: entry
                .args
                .unwrap_or_default()
                .into_iter()
                .map(|Word(word)| fill(word).map(OsString::from))
                .collect::<Result<_, _>>()?,
            environment: pairs(entry.env)?,
            directory: entry.cwd.map(fill).transpose()?.map(PathBuf::from),
            protocol: match entry.kind.as_deref() {
                Some("proto-mcp") => CommandProtocol::Proto,
                _ => CommandProtocol::Json,
            },
        }),
        (None, Some(url)) => Location::of_url(fill(url)?, pairs(entry.headers)?)?,
        _ => return Err("it needs either \"command\" or \"url\"".into()),
    };
    location.check()?;
    Ok(location)
}

/// Replaces `${NAME}`, `${NAME:-default}` and `${env:NAME}` by environment variables, as hosts do.
pub(super) fn expand(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inner, behind)) = after.split_once('}') else { break };
        filled.push_str(before);
        filled.push_str(&value(inner, variable)?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The value for the text between the brackets.
fn value(inner: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let (name, default) = inner.split_once(":-").map_or((inner, None), |(name, default)| (name, Some(default)));
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_of_host = name.contains(':');
    let found = if is_of_host { None } else { variable(name).or_else(|| default.map(str::to_owned)) };
    found.ok_or_else(|| match is_of_host || OF_HOSTS.contains(&name) {
        true => {
            format!("${{{inner}}} cannot be filled in: only environment variables can, as ${{NAME}} or ${{env:NAME}}")
        }
        false => format!("the environment variable {name} is not set"),
    })
}

impl Location {
    /// A server over HTTP, or one of proto-mcp.
    ///
    /// # Errors
    /// For an address of proto-mcp without host or port, and for headers that proto-mcp has no place for.
    pub(super) fn of_url(url: String, headers: Vec<(String, String)>) -> Result<Self, String> {
        match Address::of(&url) {
            Some(server) => Ok(Self::Proto { server: server?, token: Address::token(&headers)? }),
            None => Ok(Self::Url { url, headers }),
        }
    }

    /// Refuses addresses and header fields that cannot be used.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Url { url, headers } => {
                let transport = HttpTransport::new(url).map_err(|error| error.to_string())?;
                let header = |transport: HttpTransport, (name, value): &(String, String)| transport.header(name, value);
                headers.iter().try_fold(transport, header).map(drop).map_err(|error| error.to_string())
            }
            Self::Command(command) if command.program.is_empty() => Err("the command is empty".into()),
            Self::Proto { .. } | Self::Command(_) => Ok(()),
        }
    }
}

impl Entry {
    pub(crate) fn is_command(&self) -> bool {
        matches!(self.location, Location::Command(_))
    }

    /// The prefix of its tools, in letters that all hosts accept.
    pub(crate) fn prefix(&self) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        self.name.chars().map(|c| if allowed(c) { c } else { '_' }).chain(['_']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Entry>, String> {
        parse(text, &|name| (name == "TOKEN").then(|| "secret".into()))
    }

    fn command(text: &str) -> StdioCommand {
        let entries = parsed(&format!(r#"{{"mcpServers":{{"a":{text}}}}}"#)).unwrap();
        match &entries[0].location {
            Location::Command(command) => command.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn of_url(text: &str) -> (String, Vec<(String, String)>) {
        let entries = parsed(&format!(r#"{{"mcpServers":{{"a":{text}}}}}"#)).unwrap();
        match &entries[0].location {
            Location::Url { url, headers } => (url.clone(), headers.clone()),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn members_that_are_null_count_as_absent() {
        let nulls = r#""type":null,"args":null,"env":null,"cwd":null,"url":null,"serverUrl":null,"headers":null"#;
        let flags = r#""disabled":null,"enabled":null,"isActive":null"#;
        let plain = command(r#"{"command":"x"}"#);
        assert_eq!(command(&format!(r#"{{"command":"x",{nulls},{flags}}}"#)), plain);
        let command = command(r#"{"command":"x","env":{"A":null,"B":"b"}}"#);
        assert_eq!(command.environment, [pair("B", "b")]);
        let web = of_url(r#"{"command":null,"url":"http://a/","serverUrl":null,"headers":{"X":null,"Y":"y"}}"#);
        assert_eq!(web, ("http://a/".to_owned(), vec![pair("Y", "y")]));
        for text in [
            r#"{"mcpServers":null,"servers":{"a":{"command":"x"}}}"#,
            r#"{"mcpServers":{"b":null,"a":{"command":"x"}},"servers":null}"#,
        ] {
            let entries = parsed(text).unwrap();
            assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a"], "{text}");
        }
    }

    #[test]
    fn comments_and_commas_after_the_last_member_are_skipped() {
        let entries = parsed("{ // mine\n \"servers\": { /* a */ \"a\": {\"url\": \"http://a//b\",},\n },\n}").unwrap();
        let url = Location::Url { url: "http://a//b".into(), headers: vec![] };
        assert_eq!(entries, [Entry { name: "a".into(), location: url }]);
    }

    #[test]
    fn numbers_and_booleans_become_their_text() {
        let command = command(r#"{"command":"x","args":["-p",8080,1.50,true],"env":{"A":1e3,"B":false}}"#);
        assert_eq!(command.arguments, ["-p", "8080", "1.50", "true"].map(OsString::from));
        assert_eq!(command.environment, [pair("A", "1e3"), pair("B", "false")]);
        let (_, headers) = of_url(r#"{"url":"http://a/","headers":{"X-N":12345678901234567890123}}"#);
        assert_eq!(headers, [pair("X-N", "12345678901234567890123")]);
    }

    #[test]
    fn servers_that_are_off_are_left_out() {
        for flag in [r#""disabled":true"#, r#""enabled":false"#, r#""isActive":false"#] {
            let entries = parsed(&format!(r#"{{"mcpServers":{{"a":{{"command":"x",{flag}}}}}}}"#)).unwrap();
            assert!(entries.is_empty(), "{flag}");
        }
        command(r#"{"command":"x","disabled":false,"enabled":true,"isActive":true}"#);
    }

    #[test]
    fn a_url_has_one_of_several_names() {
        for name in ["url", "serverUrl", "httpUrl"] {
            assert_eq!(of_url(&format!(r#"{{"{name}":"http://a/"}}"#)).0, "http://a/");
        }
    }

    #[test]
    fn only_environment_variables_are_filled_in() {
        let expand = |text: &str| expand(text, &|name| (name == "TOKEN").then(|| "secret".into()));
        for (text, filled) in [
            ("${TOKEN}-${env:TOKEN}", "secret-secret"),
            ("${A:-http://x:1}${env:A:-b}", "http://x:1b"),
            ("${workspaceFolder:-.}", "."),
            ("$TOKEN ${", "$TOKEN ${"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(filled), "{text}");
        }
        for (text, why) in [
            ("${input:key}", "${input:key} cannot be filled in"),
            ("${input:key:-x}", "${input:key:-x} cannot be filled in"),
            ("a/${workspaceFolder}", "${workspaceFolder} cannot be filled in"),
            ("${workspaceFolder:one}", "${workspaceFolder:one} cannot be filled in"),
            ("${env:A}", "the environment variable A is not set"),
            ("${A}", "the environment variable A is not set"),
        ] {
            let error = expand(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }

    #[test]
    fn the_file_is_that_of_hosts() {
        let entries = parsed(
            r#"{"mcpServers": {
                "my files": {"command": "npx", "args": ["-y", "files", "${HOME:-/root}"], "env": {"A": "${TOKEN}"}, "cwd": "/tmp"},
                "off": {"command": "x", "disabled": true},
                "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
            }, "other": 1}"#,
        );
        let entries = entries.unwrap();
        assert_eq!(entries.iter().map(Entry::prefix).collect::<Vec<_>>(), ["my_files_", "web_"]);
        let files = Location::Command(StdioCommand {
            program: "npx".into(),
            arguments: vec!["-y".into(), "files".into(), "/root".into()],
            environment: vec![("A".into(), "secret".into())],
            directory: Some("/tmp".into()),
            protocol: CommandProtocol::Json,
        });
        assert_eq!(entries[0].location, files);
        let headers = vec![("Authorization".into(), "Bearer secret".into())];
        assert_eq!(entries[1].location, Location::Url { url: "https://example.com/mcp".into(), headers });
    }

    #[test]
    fn servers_of_proto_mcp_have_an_address_or_a_command() {
        let entries = parsed(
            r#"{"mcpServers": {
                "a": {"url": "proto://localhost:7000"},
                "b": {"url": "proto://localhost:7001", "headers": {"Authorization": "Bearer ${TOKEN}"}},
                "c": {"type": "proto-mcp", "command": "x"},
                "d": {"type": "stdio", "command": "x"}
            }}"#,
        );
        let entries = entries.unwrap();
        let proto = |port: u16, token: Option<&str>| {
            let server = Address::of(&format!("proto://localhost:{port}")).unwrap().unwrap();
            Location::Proto { server, token: token.map(str::to_owned) }
        };
        assert_eq!(entries[0].location, proto(7000, None));
        assert_eq!(entries[1].location, proto(7001, Some("secret")));
        let protocols = entries.iter().filter_map(|entry| match &entry.location {
            Location::Command(command) => Some(command.protocol),
            Location::Url { .. } | Location::Proto { .. } => None,
        });
        assert_eq!(protocols.collect::<Vec<_>>(), [CommandProtocol::Proto, CommandProtocol::Json]);
    }

    #[test]
    fn a_file_that_cannot_be_used_says_why() {
        for (text, why) in [
            ("[]", "expected"),
            (r#"{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}"#, "two servers have the name \"a\""),
            (r#"{"mcpServers":{"":{"command":"x"}}}"#, "a server has an empty name"),
            ("{}", "it has no object \"mcpServers\""),
            (r#"{"mcpServers":5}"#, "is not an object"),
            (r#"{"mcpServers":{"a":{}}}"#, "server \"a\": it needs either \"command\" or \"url\""),
            (r#"{"mcpServers":{"a":{"command":"x","url":"y"}}}"#, "either"),
            (r#"{"mcpServers":{"a":{"command":5}}}"#, "server \"a\": "),
            (r#"{"mcpServers":{"a":{"command":"x","args":[null]}}}"#, "server \"a\": expected a string"),
            (r#"{"mcpServers":{"a":{"command":"x","env":{"A":[1]}}}}"#, "server \"a\": expected a string"),
            (r#"{"mcpServers":{"a":{"url":"http://a","httpUrl":"http://b"}}}"#, "it has more than one of \"url\""),
            (r#"{"mcpServers":null}"#, "it has no object \"mcpServers\""),
            ("{ /* x", "line 1, column 3: this comment has no end"),
            (r#"{"mcpServers":{"a":{"command":"${MISSING}"}}}"#, "the environment variable MISSING is not set"),
            (r#"{"mcpServers":{"a":{"url":"ftp://x"}}}"#, "server \"a\": "),
            (r#"{"mcpServers":{"a":{"url":"proto://x"}}}"#, "server \"a\": expected proto://HOST:PORT"),
            (r#"{"mcpServers":{"a":{"url":"proto://x:1","headers":{"k":"v"}}}}"#, "invalid --header \"k\""),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

//! The file that names servers: the `mcpServers` object that hosts read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use protomcp_http_client::HttpTransport;
use protomcp_types::{JsonObject, RawJson};
use serde::Deserialize;

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

/// An entry as it is written. Members that only matter to hosts are ignored.
#[derive(Debug, Deserialize)]
struct Written {
    /// `proto-mcp` is ours. Hosts write others, which follow from the members.
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// The servers of a file, in its order.
pub(super) fn read(path: &Path, variable: &impl Fn(&str) -> Option<String>) -> Result<Vec<Entry>, Failure> {
    let invalid = |why: String| Failure::usage(format!("invalid --config {}: {why}", path.display()));
    let text = text_file::read(path).map_err(|error| invalid(error.to_string()))?;
    let entries = parse(text.into_bytes(), variable).map_err(invalid)?;
    if entries.is_empty() { Err(invalid("it names no server".into())) } else { Ok(entries) }
}

fn parse(text: Vec<u8>, variable: &impl Fn(&str) -> Option<String>) -> Result<Vec<Entry>, String> {
    let file = RawJson::parse(text).and_then(|raw| JsonObject::from_raw(&raw)).map_err(|error| error.to_string())?;
    let servers = file.member("mcpServers").or_else(|| file.member("servers"));
    let servers = servers.ok_or("it has no object \"mcpServers\"")?;
    let no_object = |_| "\"mcpServers\" is not an object";
    if let Some(name) = json_names::repeated(servers.as_str()).map_err(no_object)? {
        return Err(format!("two servers have the name \"{name}\""));
    }
    let servers = JsonObject::from_raw(servers).map_err(no_object)?;
    let mut entries = Vec::new();
    for (name, entry) in servers.iter() {
        if name.is_empty() {
            return Err("a server has an empty name".into());
        }
        let entry: Written = entry.to().map_err(|error| format!("server \"{name}\": {error}"))?;
        if entry.disabled {
            continue;
        }
        let location = location(entry, variable).map_err(|why| format!("server \"{name}\": {why}"))?;
        entries.push(Entry { name: name.to_owned(), location });
    }
    Ok(entries)
}

fn location(entry: Written, variable: &impl Fn(&str) -> Option<String>) -> Result<Location, String> {
    let fill = |text: String| expand(&text, variable);
    let pairs = |pairs: BTreeMap<String, String>| {
        pairs.into_iter().map(|(name, value)| Ok((name, fill(value)?))).collect::<Result<Vec<_>, String>>()
    };
    let location = match (entry.command, entry.url) {
        (Some(program), None) => Location::Command(StdioCommand {
            program: fill(program)?.into(),
            arguments: entry.args.into_iter().map(|word| fill(word).map(OsString::from)).collect::<Result<_, _>>()?,
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

/// Replaces `${NAME}` and `${NAME:-default}` by environment variables, as hosts do.
pub(super) fn expand(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inner, behind)) = after.split_once('}') else { break };
        let (name, default) = inner.split_once(":-").map_or((inner, None), |(name, default)| (name, Some(default)));
        let value = variable(name).or_else(|| default.map(str::to_owned));
        filled.push_str(before);
        filled.push_str(&value.ok_or_else(|| format!("the environment variable {name} is not set"))?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
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
        parse(text.into(), &|name| (name == "TOKEN").then(|| "secret".into()))
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

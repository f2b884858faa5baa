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
use crate::args::oauth_client::RegisteredClient;
use crate::exit::Failure;
use crate::json_names;
use crate::text_file::{read_bounded, without_mark};

/// The longest file, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// A server with its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) location: Location,
}

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Url { url: String, headers: Vec<(String, String)>, client: Option<RegisteredClient> },
    Proto { server: Address, token: Option<String> },
    Command(StdioCommand),
}

/// A command that is a server on its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StdioCommand {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// In addition to the environment of this program.
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
    /// An object, or `false` for hosts.
    oauth: Option<RawJson>,
    #[serde(rename = "oauthClientId")]
    oauth_client_id: Option<String>,
    disabled: Option<bool>,
    enabled: Option<bool>,
    #[serde(rename = "isActive")]
    is_active: Option<bool>,
}

/// The OAuth client of an entry, with the names of hosts. `issuer` is ours.
#[derive(Debug, Default, Deserialize)]
struct WrittenClient {
    #[serde(rename = "clientId")]
    id: Option<String>,
    #[serde(rename = "clientSecret")]
    secret: Option<String>,
    issuer: Option<String>,
    #[serde(rename = "callbackPort")]
    port: Option<u16>,
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

    /// The OAuth client that it names.
    fn client(&mut self, fill: impl Fn(String) -> Result<String, String>) -> Result<Option<RegisteredClient>, String> {
        let object = self.oauth.take().filter(|oauth| oauth.kind() == Kind::Object);
        let invalid = |why: String| format!("\"oauth\": {why}");
        let written: Option<WrittenClient> =
            object.map(|oauth| oauth.to()).transpose().map_err(|error| invalid(error.to_string()))?;
        let WrittenClient { id, secret, issuer, port } = written.unwrap_or_default();
        let Some(id) = id.or(self.oauth_client_id.take()).map(&fill).transpose()? else { return Ok(None) };
        let (secret, issuer) = (secret.map(&fill).transpose()?, issuer.map(fill).transpose()?);
        RegisteredClient::new(&id, secret, issuer.as_deref(), port).map(Some).map_err(invalid)
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
    let text = text(path).map_err(invalid)?;
    let (entries, off) = parse(without_mark(&text), variable).map_err(invalid)?;
    match (entries.is_empty(), off) {
        (false, _) => Ok(entries),
        (true, 0) => Err(invalid("it names no server".into())),
        (true, off) => Err(invalid(format!("all servers in it are disabled ({off}): enable one of them"))),
    }
}

/// Refuses a file that cannot be read.
pub(super) fn check_readable(path: &Path) -> Result<(), Failure> {
    let invalid = |why: String| Failure::usage(format!("invalid --config {}: {why}", path.display()));
    text(path).map(drop).map_err(invalid)
}

fn text(path: &Path) -> Result<String, String> {
    read_bounded(path, MAX_FILE, "a configuration").map_err(|error| error.to_string())
}

/// The servers, and the number of those that are disabled.
fn parse(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<(Vec<Entry>, usize), String> {
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
    let (mut entries, mut off) = (Vec::new(), 0);
    for (name, entry) in servers.iter().filter(|(_, entry)| is_value(entry)) {
        if name.is_empty() {
            return Err("a server has an empty name".into());
        }
        let entry: Written = entry.to().map_err(|error| format!("server \"{name}\": {error}"))?;
        if entry.is_off() {
            off += 1;
            continue;
        }
        let location = location(entry, variable).map_err(|why| format!("server \"{name}\": {why}"))?;
        entries.push(Entry { name: name.to_owned(), location });
    }
    Ok((entries, off))
}

fn location(mut entry: Written, variable: &impl Fn(&str) -> Option<String>) -> Result<Location, String> {
    let fill = |text: String| expand(&text, variable);
    let pairs = |pairs: Option<BTreeMap<String, Option<Word>>>| {
        let pairs = pairs.unwrap_or_default().into_iter().filter_map(|(name, value)| Some((name, value?.0)));
        pairs.map(|(name, value)| Ok((name, fill(value)?))).collect::<Result<Vec<_>, String>>()
    };
    let (url, client) = (entry.url()?, entry.client(fill)?);
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
        (None, Some(url)) => Location::of_url(fill(url)?, pairs(entry.headers)?, client)?,
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
    found.ok_or_else(|| {
        if is_of_host || OF_HOSTS.contains(&name) {
            format!("${{{inner}}} cannot be filled in: only environment variables can, as ${{NAME}} or ${{env:NAME}}")
        } else {
            format!("the environment variable {name} is not set")
        }
    })
}

impl Location {
    /// A server over HTTP, or one of proto-mcp.
    ///
    /// # Errors
    /// For an address of proto-mcp without host or port, and for headers and OAuth clients that proto-mcp has no place for.
    pub(super) fn of_url(
        url: String,
        headers: Vec<(String, String)>,
        client: Option<RegisteredClient>,
    ) -> Result<Self, String> {
        match Address::of(&url) {
            Some(_) if client.is_some() => Err("an OAuth client is for http and https".into()),
            Some(server) => Ok(Self::Proto { server: server?, token: Address::token(&headers)? }),
            None => Ok(Self::Url { url, headers, client }),
        }
    }

    /// Refuses addresses and header fields that cannot be used.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Url { url, headers, .. } => {
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
mod tests;

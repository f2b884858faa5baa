//! The command line of `install`, `uninstall` and `status`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use protomcp_install::{check_name, name_for};

use crate::args::client::{headers, no_server};
use crate::args::values::http_url;
use crate::exit::Failure;

/// The flags that choose files of hosts.
#[derive(Debug, Args)]
pub(crate) struct HostFlags {
    /// Host, such as claude-desktop, claude-code, cursor, vscode, zed, gemini, codex or opencode; all for those on this
    /// machine; may be repeated [default: the only one on this machine]. For hosts that pmcp does not know the JSON to
    /// paste is printed
    #[arg(long = "client", value_name = "HOST")]
    pub(crate) clients: Vec<String>,

    /// The files of hosts to use
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: ScopeChoice,

    /// The same as --scope project
    #[arg(long, conflicts_with = "scope")]
    project: bool,
}

/// The files of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeChoice {
    /// The files of this user, for all projects
    User,
    /// The files of the project in the current directory, where a host has one
    Project,
}

impl HostFlags {
    /// True for the files of the project in the current directory.
    pub(crate) fn is_project(&self) -> bool {
        self.project || self.scope == ScopeChoice::Project
    }
}

/// Add a tool file or a server to the configuration of a host
#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub(crate) struct Install {
    /// A tool file, or the URL of an MCP server over HTTP; neither with the command of a server after --
    target: Option<String>,

    #[command(flatten)]
    hosts: HostFlags,

    /// Name of the server in the host [default: from the name of the file, or the host of the URL]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Environment variable of the server, as NAME=VALUE; may be repeated. The value is written into the host's file
    #[arg(long = "env", value_name = "NAME=VALUE")]
    variables: Vec<String>,

    /// A header of each request to a URL, as "name: value"; may be repeated. The value is written into the host's file
    #[arg(long = "header", value_name = "HEADER")]
    headers: Vec<String>,

    /// Replace a server of this name, also one that starts something else
    #[arg(long)]
    replace: bool,

    /// Serve without a reload after each save
    #[arg(long)]
    no_reload: bool,

    /// Print the change, and make none
    #[arg(long)]
    dry_run: bool,

    /// Flags of pmcp dev for this file; without a file or a URL, a command that is an MCP server on its standard input and
    /// output
    #[arg(last = true, value_name = "FLAGS or COMMAND")]
    words: Vec<String>,
}

const INSTALL_EXAMPLES: &str = "\
Examples:
  pmcp install tools.py                          into the only host on this machine
  pmcp install tools.py --client claude-code     into Claude Code
  pmcp install tools.py --client all --dry-run   show the changes of all hosts on this machine
  pmcp install tools.py --client cursor --scope project
                                                 into .cursor/mcp.json of this directory
  pmcp install https://example.com/mcp --client claude-desktop
                                                 a remote server, with pmcp in between where the host needs it
  pmcp install tools.py -- --call-timeout 30s    with flags of pmcp dev
  pmcp install --name time -- uvx mcp-server-time
                                                 the server that a command starts

The file keeps everything else, comments included. It is copied before the first change (….pmcp-backup), and pmcp uninstall \
brings back the bytes from before.";

/// Remove a server from the configuration of hosts
#[derive(Debug, Args)]
#[command(after_help = UNINSTALL_EXAMPLES, mut_arg("clients", |flag| flag.help(SEARCHED)))]
pub(crate) struct Uninstall {
    /// The name of the server, its tool file or its URL
    pub(crate) target: String,

    #[command(flatten)]
    pub(crate) hosts: HostFlags,

    /// Print the change, and make none
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The help of `--client` where the files of hosts are searched.
const SEARCHED: &str = "Host, such as claude-desktop, claude-code, cursor, vscode, zed, gemini, codex or opencode; may be \
repeated [default: all hosts]";

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  pmcp uninstall tools                       from every host
  pmcp uninstall tools.py --client cursor    from Cursor

Without --client the files of all hosts are searched, and the file of the project in the current directory with \
--project. Servers that do not run pmcp stay.";

/// Print the servers that run pmcp in the configuration of hosts, and try each of them
#[derive(Debug, Args)]
#[command(after_help = STATUS_EXAMPLES, mut_arg("clients", |flag| flag.help(SEARCHED)))]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) hosts: HostFlags,

    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Start no server, and connect to none
    #[arg(long)]
    pub(crate) no_start: bool,
}

const STATUS_EXAMPLES: &str = "\
Examples:
  pmcp status                      all servers of all hosts
  pmcp status --client cursor      the servers of Cursor
  pmcp status --no-start --json    only what the files say, as JSON

Each server is started with the environment that its host gives, or reached at its URL, and has ten seconds to list \
its tools. The exit code is 1 if one does not. In the file of a project an entry is tried only if pmcp install has written \
it and it was not changed since; an entry with a reference such as ${NAME} is not tried.";

/// The options of `pmcp install`.
#[derive(Debug)]
pub(crate) struct InstallOptions {
    pub(crate) server: Installable,
    pub(crate) hosts: HostFlags,
    pub(crate) name: String,
    /// Replace any server of this name.
    pub(crate) replaces: bool,
    pub(crate) dry_run: bool,
}

/// The server to install.
#[derive(Debug)]
pub(crate) enum Installable {
    /// A tool file, by its absolute path.
    File {
        path: PathBuf,
        variables: Vec<(String, String)>,
        /// Serve it with `dev`.
        reload: bool,
        /// Flags of the command.
        flags: Vec<String>,
    },
    /// A command that is a server on its standard input and output, as it was given.
    Command {
        words: Vec<String>,
        variables: Vec<(String, String)>,
        /// Serve it with `dev`, if it names a file.
        reload: bool,
    },
    /// A server over HTTP.
    Url { url: String, headers: Vec<(String, String)> },
}

impl Install {
    /// The options. `variable` looks up the environment, and `check` refuses a command line that serves nothing.
    pub(super) fn options(
        self,
        variable: impl Fn(&str) -> Option<String>,
        check: impl Fn(Vec<OsString>) -> Result<(), Failure>,
    ) -> Result<InstallOptions, Failure> {
        let Self { target, hosts, name, variables, headers: fields, replace, no_reload, dry_run, words } = self;
        let url = target.as_deref().and_then(http_url);
        let name = match (name, target.as_deref()) {
            (_, None) if words.is_empty() => return Err(no_server("install")),
            (Some(name), _) => name,
            (None, Some(target)) if url.is_some() => name_for(host_of(target)),
            (None, Some(target)) => name_for(&Path::new(target).file_stem().unwrap_or_default().to_string_lossy()),
            (None, None) => return Err(Failure::usage("a server that a command starts needs a name: add --name NAME")),
        };
        check_name(&name).map_err(|error| Failure::usage(error.to_string()))?;
        let server = match url {
            Some(url) => {
                if authority(&url).contains('@') {
                    return Err(Failure::usage(
                        "a URL for a host has no user and no password, because requests do not carry them: leave them out, \
                         and pass --header \"Authorization: Basic ...\" with both in base64",
                    ));
                }
                let idle = [
                    ("--env", !variables.is_empty()),
                    ("--no-reload", no_reload),
                    ("flags after --", !words.is_empty()),
                ];
                if let Some((flag, _)) = idle.into_iter().find(|(_, is_given)| *is_given) {
                    return Err(Failure::usage(format!("{flag}: only for tool files, not for URLs")));
                }
                Installable::Url { url, headers: headers(&fields, &variable)? }
            }
            None if !fields.is_empty() => return Err(Failure::usage("--header is for servers at a URL")),
            None => {
                // A command is served with dev only if it names a file, whatever the current directory is.
                let command = if no_reload || target.is_none() { "run" } else { "dev" };
                // The host would show a mistake as a server that does not start.
                let line = ["pmcp", command, target.as_deref().unwrap_or("--")].into_iter();
                check(line.chain(words.iter().map(String::as_str)).map(OsString::from).collect())?;
                let variables = pairs(&variables)?;
                match target {
                    Some(target) => file(&target, variables, !no_reload, words)?,
                    None => Installable::Command { words, variables, reload: !no_reload },
                }
            }
        };
        Ok(InstallOptions { server, hosts, name, replaces: replace, dry_run })
    }
}

fn pairs(variables: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
        let invalid = || Failure::usage("invalid --env: expected NAME=VALUE");
        pair.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(invalid)
    };
    variables.iter().map(pair).collect()
}

fn file(
    target: &str,
    variables: Vec<(String, String)>,
    reload: bool,
    flags: Vec<String>,
) -> Result<Installable, Failure> {
    let path = std::path::absolute(target).map_err(|error| Failure::usage(format!("{target}: {error}")))?;
    Ok(Installable::File { path, variables, reload, flags })
}

/// The part of a URL that names the server best.
fn host_of(url: &str) -> &str {
    let host = authority(url);
    let name = host.strip_prefix("www.").or(host.strip_prefix("mcp.")).unwrap_or(host);
    name.split(['.', ':']).next().unwrap_or(name)
}

/// The part of a URL with the host, its port, and a user (RFC 3986, 3.2).
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<InstallOptions, Failure> {
        let line = line.replace("FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let words = ["pmcp", "install"].into_iter().chain(line.split(' ')).map(OsString::from);
        match super::super::parse(words)? {
            super::super::Parsed::Install(options) => Ok(*options),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn servers_are_named_after_files_and_hosts() {
        for (line, name) in [
            ("FILE", "cargo"),
            ("FILE --name My_tools", "My_tools"),
            ("https://mcp.example.com/v1", "example"),
            ("http://localhost:8080/@scope", "localhost"),
            ("https://127.0.0.1:9/mcp", "tools"),
            ("HTTPS://example.com/mcp", "example"),
        ] {
            assert_eq!(options(line).unwrap().name, name, "{line}");
        }
    }

    #[test]
    fn mistakes_are_named_before_a_host_is_changed() {
        for (line, text) in [
            ("nothing.py", "file not found: nothing.py"),
            ("src", "src is a directory"),
            ("FILE --name a.b", "invalid name \"a.b\""),
            ("FILE --env A", "invalid --env: expected NAME=VALUE"),
            ("FILE --env =A", "invalid --env"),
            ("FILE --header a:b", "--header is for servers at a URL"),
            ("FILE -- --call-timout 1s", "did you mean --call-timeout?"),
            ("FILE -- --help", "only flags of pmcp dev"),
            ("FILE -- --transport http", "on standard input and output: leave out --transport"),
            ("FILE -- --transport tcp --port 1", "leave out --transport"),
            ("FILE -- --port 1", "leave out --port"),
            ("FILE -- --metrics", "on standard input and output: leave out --metrics"),
            ("-- npx -y server", "needs a name: add --name NAME"),
            ("--name a", "missing server: name a tool file, a URL, or a command after --"),
            ("--name a --header a:b -- npx", "--header is for servers at a URL"),
            ("--name a --env A -- npx", "invalid --env: expected NAME=VALUE"),
            ("FILE --scope team", "invalid"),
            ("FILE --scope user --project", "--project"),
            ("https://example.com/mcp --env A=b", "--env: only for tool files"),
            ("http://ann:secret@localhost:8080/mcp", "pass --header \"Authorization: Basic ...\""),
            ("https://ann@example.com?a=b", "a URL for a host has no user and no password"),
            ("https://example.com/mcp --header secret", "expected \"name: value\""),
        ] {
            let failure = options(line).expect_err(line).to_string();
            assert!(failure.contains(text), "{line}: {failure}");
        }
    }

    #[test]
    fn the_scheme_of_a_url_may_have_capitals() {
        let Installable::Url { url, .. } = options("HTTPS://Example.com/Mcp").unwrap().server else {
            panic!("it is a URL");
        };
        assert_eq!(url, "https://Example.com/Mcp");
    }

    #[test]
    fn a_file_is_installed_by_its_absolute_path() {
        let Installable::File { path, variables, reload, flags } =
            options("Cargo.toml --env A=b=c --no-reload -- --call-timeout 1s").unwrap().server
        else {
            panic!("it is a file");
        };
        assert!(path.is_absolute() && !reload, "{}", path.display());
        assert_eq!(variables, [("A".to_owned(), "b=c".to_owned())]);
        assert_eq!(flags, ["--call-timeout", "1s"]);
    }

    #[test]
    fn a_command_is_installed_without_a_file() {
        let InstallOptions { server, hosts, name, .. } =
            options("--name time --scope project --env A=b -- uvx mcp-server-time --local").unwrap();
        let Installable::Command { words, variables, reload } = server else { panic!("it is a command") };
        assert_eq!(words, ["uvx", "mcp-server-time", "--local"]);
        assert_eq!((variables, name.as_str()), (vec![("A".to_owned(), "b".to_owned())], "time"));
        assert!(reload && hosts.is_project() && !options("FILE").unwrap().hosts.is_project());
        assert!(options("FILE --project").unwrap().hosts.is_project());
    }
}

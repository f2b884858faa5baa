//! The rule for flags that only matter to tool files, in front of servers.

use std::path::Path;

use clap::ArgMatches;
use protomcp_bridge::ToolFile;

use crate::args::grammar::Grammar;
use crate::args::settings::tool_file;
use crate::args::tool::{FOR_WATCHED_FILES, server_words};
use crate::exit::Failure;

/// Servers in place of a tool file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Served<'a> {
    /// The command after `--`.
    Command,
    /// A file that is an MCP server with another SDK.
    File(&'a Path),
    /// The servers of `--upstream` or `--config`.
    Named,
}

impl Served<'_> {
    /// Refuses flags without a meaning for these servers. `given` are the flags for tool files on the command line.
    pub(super) fn check<'a>(self, given: impl IntoIterator<Item = &'a String>) -> Result<(), Failure> {
        let Some(flag) = given.into_iter().find(|flag| !self.has_meaning(flag)) else { return Ok(()) };
        let why = match self {
            Self::Command => format!("it has no meaning for a command after --{}", hint(flag)),
            Self::File(path) => format!("{} is an MCP server with another SDK{}", path.display(), hint(flag)),
            Self::Named => "it has no meaning for the servers of --upstream and --config".to_owned(),
        };
        Err(Failure::usage(format!("{flag} is for tool files: {why}")))
    }

    /// Like [`check`](Self::check), for servers whose files are watched.
    pub(super) fn check_watched(self, given: &[String]) -> Result<(), Failure> {
        let is_for_watched = |flag: &String| FOR_WATCHED_FILES.contains(&flag.trim_start_matches('-'));
        self.check(given.iter().filter(|flag| !is_for_watched(flag)))
    }

    /// True if the flag means something: the program that runs a file also runs one that is a server.
    fn has_meaning(self, flag: &str) -> bool {
        matches!(self, Self::File(_)) && flag == "--runtime"
    }
}

/// Refuses `--sdk` for a file that is an MCP server with another SDK. `given` are the flags for tool files on the command
/// line.
pub(super) fn check_sdk(grammar: &Grammar, matches: &ArgMatches, given: &[String]) -> Result<(), Failure> {
    let Some(flag) = given.iter().find(|flag| *flag == "--sdk") else { return Ok(()) };
    let Some((verb, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(file) = grammar.command(verb).and_then(|command| tool_file(command, matches)) else {
        return Ok(());
    };
    match server_words(&ToolFile::new(&file)) {
        Some(_) => Served::File(&file).check([flag]),
        None => Ok(()),
    }
}

/// The reason why a flag is not needed, where that is not obvious.
fn hint(flag: &str) -> &'static str {
    match flag {
        "--hot-reload" => "; the new version always starts while the old one finishes its calls",
        "--runtime" => "; name the program in the command",
        "--max-retiring" => "; only pmcp dev reloads servers",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::args::parse;

    #[test]
    fn each_command_refuses_an_sdk_for_a_file_on_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let [server, tools] = ["server.py", "tools.py"].map(|name| folder.path().join(name));
        std::fs::write(&server, "from fastmcp import FastMCP\n").unwrap();
        std::fs::write(&tools, "from protomcp import tool\n").unwrap();
        for verb in ["run", "dev", "list", "call", "read", "prompt", "validate", "playground"] {
            let refusal = |file: &Path, rest: &[&str]| {
                let words = ["pmcp", verb, file.to_str().unwrap(), "x"];
                let words = words.into_iter().take(if ["call", "read", "prompt"].contains(&verb) { 4 } else { 3 });
                let parsed = parse(words.chain(rest.iter().copied()).map(OsString::from));
                parsed.err().map(|failure| failure.to_string()).unwrap_or_default()
            };
            let refused = refusal(&server, &["--sdk", "bundled"]);
            assert!(
                refused.starts_with("--sdk is for tool files: ") && refused.contains("server.py"),
                "{verb}: {refused}"
            );
            assert_eq!(refusal(&server, &[]), "", "{verb}");
            assert_eq!(refusal(&tools, &["--sdk", "bundled"]), "", "{verb}");
        }
    }

    #[test]
    fn flags_without_a_meaning_for_servers_are_refused() {
        let file = Served::File(Path::new("server.py"));
        for (served, given, refusal) in [
            (Served::Command, "--max-retiring", Some("only pmcp dev reloads servers")),
            (
                Served::Command,
                "--workers",
                Some("--workers is for tool files: it has no meaning for a command after --"),
            ),
            (Served::Command, "--runtime", Some("name the program in the command")),
            (Served::Named, "--sdk", Some("no meaning for the servers of --upstream and --config")),
            (file, "--runtime", None),
            (file, "--sdk", Some("--sdk is for tool files: server.py is an MCP server with another SDK")),
            (file, "--hot-reload", Some("with another SDK; the new version always starts while the old one")),
        ] {
            let failure = served.check(&[given.to_owned()]).err().map(|failure| failure.to_string());
            match (&failure, refusal) {
                (Some(failure), Some(refusal)) => assert!(failure.contains(refusal), "{failure}"),
                _ => assert_eq!(failure.as_deref(), refusal, "{served:?} {given}"),
            }
        }
        let watched = |flag: &str| Served::Command.check_watched(&[flag.to_owned()]);
        assert!(watched("--poll").is_ok() && watched("--max-retiring").is_ok() && watched("--sdk").is_err());
    }
}

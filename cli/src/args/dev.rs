//! The flags of `pmcp dev`: a tool file, or a command that is any MCP server.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

#[cfg(not(feature = "upstream"))]
use crate::args::features::lacking;
#[cfg(feature = "upstream")]
use crate::args::file_flags::Served;
use crate::args::options::Source;
use crate::args::serve::Serve;
#[cfg(feature = "upstream")]
use crate::args::tool::FileServer;
#[cfg(feature = "upstream")]
use crate::args::upstream::{PolicyFlags, ProtocolFlag, SessionFlags, Upstreams};
use crate::args::watched_paths;
use crate::exit::Failure;

/// Serve a tool file, or any MCP server, and reload it when it changes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Dev {
    #[command(flatten)]
    pub(super) serve: Serve,

    #[command(flatten)]
    command: CommandFlags,

    /// In a terminal, log the status as lines: no view below the log, and no keys
    #[arg(long)]
    no_view: bool,
}

const EXAMPLES: &str = "\
Examples:
  pmcp dev tools.py                  serve a tool file and reload it after each save
  pmcp dev tools.py --transport http the same over HTTP; in a terminal, a view shows each call
  pmcp dev tools.py --watch words.json
                                     reload it after a save of this file, too
  pmcp dev -- uv run server.py       the same for any MCP server, with any SDK, as it is
  pmcp dev -- cargo run              the new version compiles while the old one serves
  pmcp dev --watch src --watch server.toml -- node dist/server.js
                                     watch these files instead

After a save the command is started again. Once the new server has answered the handshake, new requests go there, and \
the old one ends with its last call. A version that does not start changes nothing, and the host's session stays.";

/// A server that is started again when its files change.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
struct CommandFlags {
    /// Watch this file, or the source files below this directory: in addition to a tool file, instead of the files of a
    /// command; may be repeated [default: files that the command names, and source files below the current directory]
    #[arg(long = "watch", value_name = "PATH", value_parser = PathBufValueParser::new().try_map(watched_paths::existing))]
    watches: Vec<PathBuf>,

    #[cfg(feature = "upstream")]
    #[command(flatten)]
    sessions: SessionFlags,

    #[cfg(feature = "upstream")]
    #[command(flatten)]
    policy: PolicyFlags,

    #[cfg(feature = "upstream")]
    #[command(flatten)]
    protocol: ProtocolFlag,

    /// Serve the MCP server that this command runs on its standard input and output, and reload it after each save
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Dev {
    /// The tool file to serve.
    #[cfg(not(feature = "upstream"))]
    pub(super) fn source(&mut self, _tool_flags: &[String]) -> Result<Source, Failure> {
        if !self.command.command.is_empty() {
            return lacking("servers in place of a tool file", "upstream");
        }
        self.serve.tool.watching.no_view = self.no_view;
        self.serve.tool.watch_skills();
        self.serve.tool.watching.also = watched_paths::distinct(std::mem::take(&mut self.command.watches))?;
        self.serve.file(true)
    }

    /// The tool file or the command to serve. `tool_flags` are the flags for tool files on the command line.
    #[cfg(feature = "upstream")]
    pub(super) fn source(&mut self, tool_flags: &[String]) -> Result<Source, Failure> {
        self.serve.tool.watching.no_view = self.no_view;
        self.serve.tool.watch_skills();
        let flags = &mut self.command;
        flags.watches = watched_paths::distinct(std::mem::take(&mut flags.watches))?;
        let mut words = std::mem::take(&mut flags.command);
        let mut of_file = None;
        if words.is_empty()
            && let Some(FileServer { words: command, file }) = self.serve.tool.take_server()
        {
            (words, of_file) = (command, Some(file));
        }
        if words.is_empty() {
            let without = [
                ("--upstream-protocol", flags.protocol.is_given()),
                ("--allow-tools or --block-tools", flags.policy.policy().is_some()),
            ];
            let without = without.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag));
            if let Some(flag) = flags.sessions.given().or(without) {
                return Err(Failure::usage(format!(
                    "{flag} is for a command after --, such as: pmcp dev -- uv run server.py"
                )));
            }
            self.serve.tool.watching.also = std::mem::take(&mut flags.watches);
            return self.serve.file(true);
        }
        if self.serve.tool.file.is_some() {
            return Err(Failure::usage("name either a tool file or a command after --, not both"));
        }
        of_file.as_ref().map_or(Served::Command, |file| Served::File(file.path())).check_watched(tool_flags)?;
        let limits = &self.serve.tool.limits;
        let poll = self.serve.tool.watching.poll;
        let watches = watched_paths::of_command(&flags.watches, &words, of_file.is_some(), poll);
        if watches.is_empty() {
            return Err(Failure::usage(
                "the command names no file, and the current directory is too large to watch: add --watch PATH",
            ));
        }
        let servers = Upstreams::of_command(words, flags.protocol.chosen(), flags.sessions, limits);
        let servers = servers.watching(watches, flags.policy.policy()).of_file(of_file);
        Ok(Source::Servers(Box::new(servers)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parse;
    use crate::args::parsed::Parsed;

    #[test]
    fn a_tool_file_is_watched_with_the_paths_that_are_named() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let line = ["pmcp", "dev", manifest, "--watch", "src", "--watch", "Cargo.toml"];
        let Ok(Parsed::Serve(options)) = parse(line.map(OsString::from)) else { panic!("it is a command line") };
        assert_eq!(options.tool.watching.also, ["src", "Cargo.toml"].map(PathBuf::from));
        assert!(matches!(options.source, Source::File { watch: true, .. }));
    }
}

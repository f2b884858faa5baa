//! The options of `pmcp playground`, for programs that have its page.

use std::net::SocketAddr;
use std::path::PathBuf;

use protomcp_http::{Config, Disallowed};

use crate::args::environment::variable;
use crate::args::exposure::beyond_this_machine;
use crate::args::file_flags::Served;
use crate::args::http::{allowing_flag, in_url};
use crate::args::options::Source;
use crate::args::playground::Playground;
use crate::args::tool::{FileServer, ToolFlags};
use crate::args::upstream::{UpstreamFlags, Upstreams};
use crate::args::watched_paths;
use crate::exit::Failure;

/// The options of `pmcp playground`.
#[derive(Debug)]
pub(crate) struct PlaygroundOptions {
    pub(crate) source: Source,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tool: ToolFlags,
    allow_host: Vec<String>,
    insecure_plaintext: bool,
}

impl Playground {
    /// The options; `tool_flags` are the flags for tool files on the command line.
    pub(in crate::args) fn options(self, tool_flags: &[String]) -> Result<PlaygroundOptions, Failure> {
        let Self { host, port, allow_host, insecure_plaintext, mut tool, watches, mut upstream } = self;
        tool.registry.check()?;
        upstream.take_url(&mut tool)?;
        let watches = watched_paths::distinct(watches)?;
        let source = match servers(upstream, &mut tool, &watches, tool_flags)? {
            Some(servers) => Source::Servers(Box::new(servers)),
            None => {
                tool.watching.also = watches;
                tool.watch_skills();
                Source::File { path: tool.path()?, watch: true }
            }
        };
        Ok(PlaygroundOptions { source, host, port, tool, allow_host, insecure_plaintext })
    }
}

/// The servers that flags, a command or a file name, and that are started again when their files change.
fn servers(
    mut upstream: UpstreamFlags,
    tool: &mut ToolFlags,
    watches: &[PathBuf],
    tool_flags: &[String],
) -> Result<Option<Upstreams>, Failure> {
    let of_file = if upstream.names_server() { None } else { tool.take_server() };
    let of_file = of_file.map(|FileServer { words, file }| {
        upstream.serve_command(words);
        file
    });
    let words = upstream.command_words().to_vec();
    let Some(mut servers) = upstream.servers(&tool.limits, variable)? else { return Ok(None) };
    if tool.file.is_some() {
        return Err(Failure::usage("name either a tool file or servers, not both"));
    }
    if words.is_empty() {
        Served::Named.check(tool_flags)?;
        if !watches.is_empty() {
            return Err(Failure::usage("--watch is for a tool file or a command after --, which are started again"));
        }
    } else {
        of_file.as_ref().map_or(Served::Command, |file| Served::File(file.path())).check_watched(tool_flags)?;
        servers.watches = watched_paths::of_command(watches, &words, of_file.is_some(), tool.watching.poll);
    }
    Ok(Some(servers.of_file(of_file)))
}

impl PlaygroundOptions {
    /// The names under which browsers and clients reach the page.
    pub(crate) fn access(&self) -> Config {
        let config = Config::default().with_rejection_hint(|disallowed| match disallowed {
            Disallowed::Origin(_) => "no flag allows it".to_owned(),
            other => allowing_flag(other),
        });
        self.allow_host.iter().cloned().chain([in_url(&self.host)]).fold(config, Config::allow_host)
    }

    /// Checks the addresses to listen on. The page always asks for its secret.
    pub(crate) fn permit(&self, addresses: &[SocketAddr]) -> Result<(), Failure> {
        match beyond_this_machine(addresses) {
            Some(refuse) if !self.insecure_plaintext => refuse(
                "traffic would be unencrypted; put a proxy with TLS in front of localhost, or add --insecure-plaintext",
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::args::parse;
    use crate::args::parsed::Parsed;

    fn options(words: &[&str]) -> Result<PlaygroundOptions, String> {
        let words = ["pmcp", "playground"].into_iter().chain(words.iter().copied()).map(OsString::from);
        match parse(words).map_err(|failure| failure.to_string())? {
            Parsed::Playground(options) => Ok(*options),
            other => panic!("not a playground: {other:?}"),
        }
    }

    fn source(words: &[&str]) -> Result<Source, String> {
        options(words).map(|options| options.source)
    }

    #[test]
    fn the_page_is_reached_under_its_names() {
        for (words, names) in [
            (&["--host", "::1"][..], &["[::1]"][..]),
            (&["--host", "[fd00::1]"], &["[fd00::1]"]),
            (&["--host", "0.0.0.0", "--allow-host", "a", "--allow-host", "b"], &["a", "b", "0.0.0.0"]),
        ] {
            let words = [words, &["--", "some-server"]].concat();
            let access = options(&words).expect("the flags are right").access().access;
            assert_eq!(access.allowed_hosts, names, "{words:?}");
        }
    }

    #[test]
    fn the_page_is_for_this_machine_unless_the_user_says_otherwise() {
        let permit = |words: &[&str], address: &str| {
            let options = options(&[words, &["--", "some-server"]].concat()).expect("the flags are right");
            options.permit(&[address.parse().expect("it is an address")]).map_err(|failure| failure.to_string())
        };
        assert_eq!(permit(&[], "127.0.0.1:80"), Ok(()));
        assert_eq!(permit(&[], "[::ffff:127.0.0.1]:80"), Ok(()));
        assert_eq!(permit(&["--insecure-plaintext"], "192.168.1.5:80"), Ok(()));
        let refused = permit(&[], "192.168.1.5:80").unwrap_err();
        assert!(refused.contains("--insecure-plaintext") && !refused.contains("--tls-cert"), "{refused}");
    }

    #[test]
    fn a_file_a_command_and_a_url_have_a_page() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(matches!(source(&[manifest]), Ok(Source::File { watch: true, .. })));
        let servers = |words: &[&str]| match source(words) {
            Ok(Source::Servers(servers)) => (servers.names(), servers.watches.len()),
            other => panic!("no servers: {other:?}"),
        };
        assert_eq!(servers(&["--watch", "src", "--", "some-server", "-x"]), ("some-server".into(), 1));
        assert_eq!(servers(&["https://a.example/mcp", "--header", "x: y"]), ("https://a.example/mcp".into(), 0));
        assert_eq!(servers(&["--upstream-era", "stateless", "--upstream", "https://a.example/mcp"]).1, 0);
        for (words, why) in [
            (&["https://a.example/mcp", "--", "x"][..], "both https://a.example/mcp and a command"),
            (&["https://a.example/mcp", "--watch", "src"], "--watch is for a tool file or a command"),
            (&["https://a.example/mcp", "--hot-reload", "swap"], "--hot-reload is for tool files"),
            (&[manifest, "--", "x"], "name either a tool file or servers"),
            (&["--header", "x: y", manifest], "--header is for servers at a URL"),
        ] {
            let error = source(words).expect_err("the words contradict each other");
            assert!(error.contains(why), "{words:?}: {error}");
        }
    }
}

//! The rule for servers that hosts start: on standard input and output.

use std::ffi::OsString;

use crate::args::http::NEEDS_HTTP;
use crate::args::options::{Endpoint, StdioOptions};
use crate::args::parse;
use crate::args::parsed::Parsed;
use crate::exit::Failure;

/// Refuses a command line for hosts that does not serve on standard input and output.
pub(super) fn check(words: Vec<OsString>) -> Result<(), Failure> {
    // With another transport the flag would have an effect, but not for hosts.
    let reworded = |text: &str| text.strip_suffix(NEEDS_HTTP).map_or_else(|| text.to_owned(), not_for_hosts);
    let Parsed::Serve(options) = parse(words).map_err(|failure| failure.map(reworded))? else {
        return Err(Failure::usage("only flags of pmcp dev can follow --"));
    };
    let idle = match options.endpoint {
        Endpoint::Stdio(StdioOptions { idle, .. }) => idle.into_iter().next(),
        Endpoint::Http(_) | Endpoint::Tcp(_) => Some("--transport".to_owned()),
    };
    match idle {
        None => Ok(()),
        Some(flag) => Err(Failure::usage(not_for_hosts(&flag))),
    }
}

fn not_for_hosts(flag: &str) -> String {
    format!(
        "hosts start a server on standard input and output: leave out {flag}, also in pmcp.toml; a server that you start \
         yourself with --transport http is installed by its URL"
    )
}

//! The live status of `pmcp dev` in a terminal.

use std::io::{self, IsTerminal};
use std::path::Path;

use crate::args::options::Source;
use crate::init::shell_word;

/// True if the author of a tool file or a server has started this program in a terminal, to see what becomes of each save. On
/// stdio a client would be at the other end of a pipe.
pub(super) fn is_watched(source: &Source) -> bool {
    let is_dev = match source {
        Source::File { watch, .. } => *watch,
        Source::Servers(servers) => !servers.watches.is_empty(),
    };
    is_dev && io::stdin().is_terminal()
}

/// The ways in which clients reach the tools of a file, for a server on the standard input of a terminal.
pub(super) fn advice(file: &Path) -> String {
    let file = shell_word(&file.to_string_lossy());
    format!(
        "clients do not connect to a terminal. To use the tools, run one of these in its place, or in another window:\n\
         pmcp playground {file}               tries them in a web page\n\
         pmcp dev {file} --transport http     serves clients over HTTP, with this status\n\
         pmcp install {file}                  adds them to a host, which starts pmcp itself\n\
         Ctrl-C ends this one."
    )
}

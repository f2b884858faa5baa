//! The live status of `pmcp dev` in a terminal.

use std::env;
use std::io::{self, IsTerminal};
use std::path::Path;

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use crate::args::options::Source;
use crate::args::tool::ToolFlags;
use crate::log::live::LiveView;
use crate::log::{LogLevel, Status, queue};
use crate::shell_word::shell_word;

/// The form of the status: a view where the log goes to the terminal that a person types in, lines where it goes elsewhere.
pub(super) fn status(source: &Source, tool: &ToolFlags) -> Status {
    if !is_watched(source) {
        Status::Hidden
    } else if tool.wants_view() && tool.log.is_text() && !tool.log.is_quiet() && is_informed(tool) && shows_views() {
        Status::View(LiveView::new(&title(source), queue::wake))
    } else {
        Status::Lines
    }
}

/// False if the log has warnings alone.
fn is_informed(tool: &ToolFlags) -> bool {
    matches!(tool.log_level, LogLevel::Debug | LogLevel::Info)
}

/// True if the terminal can show a view, and this program may change its settings: it is in the foreground.
fn shows_views() -> bool {
    io::stderr().is_terminal()
        && env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb")
        && tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground == getpgrp())
}

fn title(source: &Source) -> String {
    match source {
        Source::File { path, .. } => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        #[cfg(feature = "upstream")]
        Source::Servers(servers) => servers.names(),
    }
}

/// True if the author of a tool file or a server has started this program in a terminal, to see what becomes of each save. On
/// stdio a client would be at the other end of a pipe.
fn is_watched(source: &Source) -> bool {
    let is_dev = match source {
        Source::File { watch, .. } => *watch,
        #[cfg(feature = "upstream")]
        Source::Servers(servers) => !servers.watches.is_empty(),
    };
    is_dev && io::stdin().is_terminal()
}

/// The ways in which clients reach the tools of a file, for a server on the standard input of a terminal.
pub(super) fn advice(file: &Path) -> String {
    let file = shell_word(&file.to_string_lossy());
    format!(
        "clients do not connect to a terminal. To use the tools from elsewhere, run one of these in another window:\n\
         pmcp playground {file}               tries them in a web page\n\
         pmcp dev {file} --transport http     serves clients over HTTP, with this status\n\
         pmcp install {file}                  adds them to a host, which starts pmcp itself\n\
         Ctrl-C ends this one."
    )
}

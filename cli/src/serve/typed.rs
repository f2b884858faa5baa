//! Commands that the author of the tools types into the terminal of `pmcp dev`: `r` reloads, `c` calls a tool, `q` ends.
//!
//! They are lines, not keys: the terminal keeps its settings, whatever becomes of this program.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::sync::mpsc;

use crate::exit::printable;
use crate::serve::run::Wish;

/// The commands, for the log.
pub(super) const HELP: &str = "type r to reload, c TOOL NAME=VALUE to call a tool, or q to end, and Enter";

/// The longest line, in bytes.
const MAX_LINE: u64 = 64 * 1024;
/// The most calls that run at a time.
const MAX_CALLS: usize = 8;
/// The pause between looks at a terminal that another program has in the foreground.
const SECOND: Duration = Duration::from_secs(1);

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Wish(Wish),
    /// The words of `pmcp call` after the server.
    Call(Vec<String>),
    Nothing,
    Unknown,
}

impl Typed {
    fn of(line: &str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (word, rest.trim()) {
            ("", _) => Self::Nothing,
            ("q" | "quit", "") => Self::Wish(Wish::Stop),
            ("r" | "reload", "") => Self::Wish(Wish::Reload),
            ("c" | "call", rest) if !rest.is_empty() => {
                let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let arguments = arguments.trim();
                let words: Vec<&str> = match arguments.starts_with('{') {
                    // One JSON object, with its blanks.
                    true => vec![arguments],
                    false => arguments.split_whitespace().collect(),
                };
                Self::Call([tool].into_iter().chain(words).map(str::to_owned).collect())
            }
            _ => Self::Unknown,
        }
    }
}

/// Reads commands on a thread of the terminal. Calls go to the server at this URL with these headers, as those of any client.
pub(super) fn commands(url: String, headers: Vec<String>) -> io::Result<mpsc::Receiver<Wish>> {
    let terminal = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (wishes, receiver) = mpsc::channel(1);
    let calls = Calls { url, headers, running: Arc::default() };
    thread::Builder::new().name("terminal".into()).spawn(move || read(terminal, &calls, &wishes))?;
    Ok(receiver)
}

/// Reads until the terminal is gone, or the server.
fn read(terminal: File, calls: &Calls, wishes: &mpsc::Sender<Wish>) {
    let mut input = BufReader::new(terminal);
    while !wishes.is_closed() {
        // A read in the background would stop this program.
        if input.buffer().is_empty() && !has_line(input.get_ref()) {
            continue;
        }
        let mut line = Vec::new();
        match Read::take(&mut input, MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line);
        match Typed::of(&line) {
            Typed::Wish(wish) => {
                if wishes.blocking_send(wish).is_err() {
                    return;
                }
            }
            Typed::Call(words) => calls.start(words),
            Typed::Nothing => {}
            Typed::Unknown => say(&format!("{:?} is not a command: {HELP}", line.trim())),
        }
    }
}

/// Waits a limited time for input in the foreground.
fn has_line(terminal: &File) -> bool {
    // A read of a terminal that does not control this program stops it nowhere.
    if tcgetpgrp(terminal).is_ok_and(|foreground| foreground != getpgrp()) {
        thread::sleep(SECOND);
        return false;
    }
    let time = Timespec { tv_sec: 1, tv_nsec: 0 };
    let mut ready = [PollFd::new(terminal, PollFlags::IN)];
    poll(&mut ready, Some(&time)).is_ok_and(|count| count > 0)
}

/// The calls of the terminal, with this program as their client.
struct Calls {
    url: String,
    headers: Vec<String>,
    running: Arc<AtomicUsize>,
}

impl Calls {
    /// Calls a tool beside the other commands, and prints the outcome.
    fn start(&self, words: Vec<String>) {
        if self.running.fetch_add(1, Ordering::Relaxed) >= MAX_CALLS {
            self.running.fetch_sub(1, Ordering::Relaxed);
            say(&format!("{MAX_CALLS} calls are running: wait for one of them, or type r"));
            return;
        }
        let (url, running) = (self.url.clone(), Arc::clone(&self.running));
        let headers = self.headers.iter().flat_map(|header| ["--header".to_owned(), header.clone()]);
        let arguments: Vec<String> = ["call".to_owned(), url].into_iter().chain(words).chain(headers).collect();
        let call = move || {
            match std::env::current_exe()
                .and_then(|own| Command::new(own).args(arguments).stdin(Stdio::null()).output())
            {
                Ok(output) => say(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat())),
                Err(error) => say(&format!("cannot call a tool: {error}")),
            }
            running.fetch_sub(1, Ordering::Relaxed);
        };
        if let Err(error) = thread::Builder::new().name("call".into()).spawn(call) {
            self.running.fetch_sub(1, Ordering::Relaxed);
            say(&format!("cannot call a tool: {error}"));
        }
    }
}

/// Answers in the terminal, whatever the log shows.
fn say(text: &str) {
    // A terminal that is gone has no reader.
    let _ = writeln!(io::stderr(), "{}", printable(text.trim_end()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_wish_or_a_call() {
        let call = |words: &[&str]| Typed::Call(words.iter().map(|word| (*word).to_owned()).collect());
        for (line, expected) in [
            ("r\n", Typed::Wish(Wish::Reload)),
            (" q ", Typed::Wish(Wish::Stop)),
            ("\n", Typed::Nothing),
            ("c add a=1  b=2\n", call(&["add", "a=1", "b=2"])),
            ("c add {\"a\": 1}", call(&["add", "{\"a\": 1}"])),
            ("call status", call(&["status"])),
            ("c", Typed::Unknown),
            ("q now", Typed::Unknown),
            ("x", Typed::Unknown),
        ] {
            assert_eq!(Typed::of(line), expected, "{line:?}");
        }
    }
}

//! Commands that the author of the tools types into the terminal of `pmcp dev` where no view is: `r` reloads, `c` calls a
//! tool, `q` ends.
//!
//! They are lines, not keys: the terminal keeps its settings, whatever becomes of this program.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::sync::mpsc;

use crate::exit::printable;
use crate::log::queue::say;
use crate::serve::calls::Calls;
use crate::serve::run::Wish;

/// The commands, for the log.
pub(super) const HELP: &str = "type r to reload, c TOOL NAME=VALUE to call a tool, or q to end, and Enter";

/// The longest line, in bytes.
const MAX_LINE: u64 = 64 * 1024;
/// The pause between looks at a terminal that another program has in the foreground.
pub(super) const SECOND: Duration = Duration::from_secs(1);

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
            ("c" | "call", rest) if !rest.is_empty() => Self::Call(words(rest)),
            _ => Self::Unknown,
        }
    }
}

/// The words of `pmcp call` after the server: a tool, and its arguments as words or as one JSON object with its blanks.
pub(super) fn words(line: &str) -> Vec<String> {
    let (tool, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let arguments = arguments.trim();
    let words = if arguments.starts_with('{') { vec![arguments.to_owned()] } else { unquoted(arguments) };
    [tool.to_owned()].into_iter().chain(words).collect()
}

/// The words between blanks. Quotation marks keep the blanks of a word: `name="Ada L"`.
fn unquoted(text: &str) -> Vec<String> {
    let (mut words, mut word, mut mark) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (c, mark) {
            ('"' | '\'', None) => {
                mark = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => mark = None,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Reads commands on a thread of the terminal.
pub(super) fn commands(calls: Arc<Calls>) -> io::Result<mpsc::Receiver<Wish>> {
    let terminal = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (wishes, receiver) = mpsc::channel(1);
    thread::Builder::new().name("terminal".into()).spawn(move || read(terminal, &calls, &wishes))?;
    Ok(receiver)
}

/// Reads until the terminal is gone, or the server.
fn read(terminal: File, calls: &Arc<Calls>, wishes: &mpsc::Sender<Wish>) {
    let mut input = BufReader::new(terminal);
    while !wishes.is_closed() {
        // A read in the background would stop this program.
        if input.buffer().is_empty() && !has_input(input.get_ref()) {
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
            Typed::Unknown => say(&printable(&format!("{:?} is not a command: {HELP}", line.trim()))),
        }
    }
}

/// True if this program may read the terminal, and change its settings. A terminal that does not control it stops it
/// nowhere.
pub(super) fn is_in_foreground(terminal: &File) -> bool {
    !tcgetpgrp(terminal).is_ok_and(|foreground| foreground != getpgrp())
}

/// Waits a limited time for input in the foreground.
pub(super) fn has_input(terminal: &File) -> bool {
    if !is_in_foreground(terminal) {
        thread::sleep(SECOND);
        return false;
    }
    let time = Timespec { tv_sec: 1, tv_nsec: 0 };
    let mut ready = [PollFd::new(terminal, PollFlags::IN)];
    poll(&mut ready, Some(&time)).is_ok_and(|count| count > 0)
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
            ("c say text=\"a  b\" who='c d' e=", call(&["say", "text=a  b", "who=c d", "e="])),
            ("c", Typed::Unknown),
            ("q now", Typed::Unknown),
            ("x", Typed::Unknown),
        ] {
            assert_eq!(Typed::of(line), expected, "{line:?}");
        }
    }
}

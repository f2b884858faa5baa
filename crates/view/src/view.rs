//! The state of the view: facts and keys in, lines and wishes out.

mod lines;

use std::collections::VecDeque;
use std::time::Duration;

use crate::keys::Key;
use crate::prompt::{Edit, Prompt};

/// The most running calls with an entry.
const MAX_RUNNING: usize = 256;
/// The most calls that have ended with an entry.
const MAX_ENDED: usize = 32;
/// The most characters of a name or a reason.
const MAX_TEXT: usize = 200;
/// The most lines of the history.
const MAX_HISTORY: usize = 50;

/// The state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It starts for the first time.
    Starting,
    /// It takes calls.
    Ready,
    /// It has not started.
    NotStarted,
    /// The newest version does not start, and the one before takes calls.
    Outdated,
    /// It has crashed, and is started again.
    Crashed,
    /// It has crashed too often.
    GivenUp,
    /// Running calls end, and then the server.
    Draining,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A result.
    Ok,
    /// The client has cancelled it.
    Cancelled,
    /// An error of the tool, or no answer.
    Failed,
}

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// The server has this state.
    State(State),
    /// The server has this many tools, with these names.
    Tools {
        /// Their number.
        count: usize,
        /// Their names, or some of them.
        names: String,
    },
    /// The tools differ from those before.
    Changed(String),
    /// A call has begun.
    Started {
        /// Its number, which no other running call has.
        call: u64,
        /// The name of its tool.
        tool: String,
    },
    /// A call has ended.
    Ended {
        /// Its number. A call that has not begun here is shown, too.
        call: u64,
        /// The name of its tool.
        tool: String,
        /// Its outcome.
        outcome: Outcome,
        /// Its duration.
        took: Duration,
        /// The size of its result in bytes; 0 without one.
        bytes: u64,
        /// The reason of a failure.
        why: String,
    },
    /// The names of the tools, with which a call can begin.
    Names(Vec<String>),
    /// Clients reach the server at this URL.
    Address(String),
}

/// A wish of the person at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Reload the tools.
    Reload,
    /// Drain and end.
    Quit,
    /// Send [`Fact::Names`]: a call is going to be typed.
    Names,
    /// Call a tool: its name and arguments, as `pmcp call` takes them.
    Call(String),
    /// The answer to a question.
    Answer(String),
    /// The question is dismissed.
    Dismiss,
}

/// A running call.
#[derive(Debug, Clone)]
struct Running {
    call: u64,
    tool: String,
    began: Duration,
}

/// A call that has ended.
#[derive(Debug, Clone)]
struct Ended {
    tool: String,
    outcome: Outcome,
    took: Duration,
    bytes: u64,
    why: String,
}

/// The line at which a person types.
#[derive(Debug, Clone)]
enum Input {
    Call(Prompt),
    /// The answer to a question, and the call that was being typed when it came.
    Answer(Prompt, Option<Prompt>),
}

/// A view of a server.
#[derive(Debug, Clone)]
pub struct View {
    title: String,
    address: String,
    state: State,
    tools: Option<(usize, String)>,
    change: Option<String>,
    running: Vec<Running>,
    /// The running calls without an entry.
    uncounted: u64,
    /// The newest at the end.
    ended: VecDeque<Ended>,
    input: Option<Input>,
    names: Vec<String>,
    history: Vec<String>,
}

impl View {
    /// A server that is starting. `title`: the file or the command.
    #[must_use]
    pub fn new(title: &str) -> Self {
        Self {
            title: clipped(title),
            address: String::new(),
            state: State::Starting,
            tools: None,
            change: None,
            running: Vec::new(),
            uncounted: 0,
            ended: VecDeque::new(),
            input: None,
            names: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Takes note of something that has happened. `now` is the time since any moment that stays the same.
    pub fn note(&mut self, fact: Fact, now: Duration) {
        match fact {
            // A server that drains stays so, whatever becomes of its process.
            Fact::State(_) if self.state == State::Draining => {}
            Fact::State(state) => self.state = state,
            Fact::Tools { count, names } => self.tools = Some((count, names)),
            Fact::Changed(text) => self.change = Some(text),
            Fact::Started { call, tool } if self.running.len() < MAX_RUNNING => {
                self.running.push(Running { call, tool: clipped(&tool), began: now });
            }
            Fact::Started { .. } => self.uncounted += 1,
            Fact::Ended { call, tool, outcome, took, bytes, why } => {
                match self.running.iter().position(|running| running.call == call) {
                    Some(at) => drop(self.running.remove(at)),
                    None => self.uncounted = self.uncounted.saturating_sub(1),
                }
                self.ended.push_back(Ended { tool: clipped(&tool), outcome, took, bytes, why: clipped(&why) });
                if self.ended.len() > MAX_ENDED {
                    self.ended.pop_front();
                }
            }
            Fact::Names(names) => self.names = names,
            Fact::Address(url) => self.address = clipped(&url),
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: &Key) -> Option<Wish> {
        let Some(input) = self.input.take() else { return self.command(*key) };
        match input {
            Input::Call(mut prompt) => match prompt.key(*key, &self.names, &self.history) {
                Edit::Open => self.input = Some(Input::Call(prompt)),
                Edit::Entered(line) if !line.trim().is_empty() => {
                    let line = line.trim().to_owned();
                    self.remember(&line);
                    return Some(Wish::Call(line));
                }
                Edit::Entered(_) | Edit::Left => {}
            },
            Input::Answer(mut prompt, call) => match prompt.key(*key, &[], &[]) {
                Edit::Open => self.input = Some(Input::Answer(prompt, call)),
                Edit::Entered(line) => {
                    self.input = call.map(Input::Call);
                    return Some(Wish::Answer(line));
                }
                Edit::Left => {
                    self.input = call.map(Input::Call);
                    return Some(Wish::Dismiss);
                }
            },
        }
        None
    }

    fn command(&mut self, key: Key) -> Option<Wish> {
        match key {
            Key::Char('r') => Some(Wish::Reload),
            Key::Char('q') | Key::Control('d') => Some(Wish::Quit),
            Key::Char('c') => {
                self.input = Some(Input::Call(Prompt::new("call")));
                Some(Wish::Names)
            }
            _ => None,
        }
    }

    /// Asks for a line, which is [`Wish::Answer`] or [`Wish::Dismiss`]. A call that is being typed waits. The program asks
    /// one question at a time.
    pub fn ask(&mut self, label: &str) {
        let call = match self.input.take() {
            Some(Input::Call(prompt) | Input::Answer(_, Some(prompt))) => Some(prompt),
            _ => None,
        };
        self.input = Some(Input::Answer(Prompt::new(&clipped(label)), call));
    }

    /// Takes back the question: its answer is not needed any longer.
    pub fn withdraw(&mut self) {
        if let Some(Input::Answer(_, call)) = &mut self.input {
            self.input = call.take().map(Input::Call);
        }
    }

    /// True if the lines differ from second to second.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        !self.running.is_empty()
    }

    fn remember(&mut self, line: &str) {
        self.history.retain(|known| known != line);
        self.history.push(line.to_owned());
        if self.history.len() > MAX_HISTORY {
            self.history.remove(0);
        }
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;

//! Questions of tools, asked in the live view.

use std::io::{self, BufRead, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_types::{Elicit, ElicitResult, ErrorObject};

use crate::client::form::ask;
use crate::exit::printable;
use crate::log::live::LiveView;
use crate::log::queue::say;

/// The questions of all calls, which are asked one after the other. Cloning is cheap.
#[derive(Clone)]
pub(super) struct Questions {
    view: LiveView,
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Takes the lines of the question that is asked. `None` dismisses it.
    answers: Arc<Mutex<Option<SyncSender<Option<String>>>>>,
}

impl Questions {
    pub(super) fn new(view: LiveView) -> Self {
        Self { view, turn: Arc::default(), answers: Arc::default() }
    }

    /// The line that the view asked for; `None` dismisses the question.
    pub(super) fn typed(&self, line: Option<String>) {
        if let Some(answers) = &*self.lock() {
            // The question may be withdrawn by now.
            let _late = answers.try_send(line);
        }
    }

    /// Asks in turn. A call that ends withdraws its question.
    pub(super) async fn answer(self, question: Elicit) -> Result<ElicitResult, ErrorObject> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let (sender, answers) = sync_channel(1);
        *self.lock() = Some(sender);
        let _asked = Withdrawn(self.clone());
        let view = self.view.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let label = Arc::new(Mutex::new(String::new()));
            let mut input = Typed { view: view.clone(), label: Arc::clone(&label), answers, line: Vec::new(), at: 0 };
            let answer = ask(&question, &mut input, &mut Above { label, text: Vec::new() });
            view.withdraw();
            answer
        });
        asked.await.map_err(|_| ErrorObject::internal("the question was interrupted"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<SyncSender<Option<String>>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the question back when it is dropped: its thread reads the end of the input.
struct Withdrawn(Questions);

impl Drop for Withdrawn {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// The lines that a person types in the view.
struct Typed {
    view: LiveView,
    label: Arc<Mutex<String>>,
    answers: Receiver<Option<String>>,
    line: Vec<u8>,
    at: usize,
}

impl BufRead for Typed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.line.len() {
            let label = std::mem::take(&mut *self.label.lock().unwrap_or_else(PoisonError::into_inner));
            self.view.ask(label.trim_end());
            self.line = match self.answers.recv() {
                Ok(Some(line)) => {
                    say(&printable(&format!("{} {line}", label.trim_end())));
                    format!("{line}\n").into_bytes()
                }
                // Dismissed, or withdrawn: the input ends.
                Ok(None) | Err(_) => Vec::new(),
            };
            self.at = 0;
        }
        Ok(&self.line[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

impl Read for Typed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

/// Text above the view. A line that is not complete when an answer is read is the label of the answer.
struct Above {
    label: Arc<Mutex<String>>,
    text: Vec<u8>,
}

impl Write for Above {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.text)).into_owned();
        let (lines, rest) = text.rsplit_once('\n').unwrap_or(("", &text));
        if !lines.is_empty() {
            say(lines);
        }
        rest.clone_into(&mut self.label.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}

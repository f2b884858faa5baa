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
    /// Takes the lines of the question that is asked.
    answers: Arc<Mutex<Option<Arc<Lines>>>>,
}

/// Takes lines; `None` dismisses the question.
type Lines = SyncSender<Option<String>>;

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
        let sender = Arc::new(sender);
        *self.lock() = Some(Arc::clone(&sender));
        let _asked = Asked { questions: self.clone(), sender };
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

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Lines>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question, which is taken back when this is dropped: its thread reads the end of the input.
struct Asked {
    questions: Questions,
    sender: Arc<Lines>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut answers = self.questions.lock();
        // The next question may have been asked: the turn of this one ends with its thread.
        if answers.as_ref().is_some_and(|current| Arc::ptr_eq(current, &self.sender)) {
            *answers = None;
        }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join_all;
    use protomcp_types::{ElicitAction, RawJson};

    use super::*;

    /// Questions wait for each other. Each is answered as soon as it is asked.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_answer_leaves_the_next_question_alone() {
        let questions = Questions::new(LiveView::new("a.py", || {}));
        let schema = RawJson::parse(r#"{"type":"object","properties":{"name":{"type":"string"}}}"#).unwrap();
        let asked: Vec<_> = (0..10)
            .map(|number| tokio::spawn(questions.clone().answer(Elicit::form(format!("{number}?"), schema.clone()))))
            .collect();
        let typing = async {
            loop {
                questions.typed(Some("y".into()));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let answered = async {
            tokio::select! { answers = join_all(asked) => answers, () = typing => unreachable!() }
        };
        let answers = tokio::time::timeout(Duration::from_secs(60), answered).await;
        for answer in answers.expect("each question is answered") {
            assert_eq!(answer.unwrap().unwrap().action, ElicitAction::Accept);
        }
    }
}

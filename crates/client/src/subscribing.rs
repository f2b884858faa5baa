//! Subscriptions whose outcome is not known yet. The subscriptions of callers that go away end.

use protomcp_session::RequestError;
use tokio::sync::{mpsc, oneshot};

use crate::command::{Command, Subscribed, Watched};

/// The way to the task of the connection. Without a receiver it is over, which each caller finds out by itself.
type Commands = mpsc::UnboundedSender<Command>;

/// A request for a subscription with a session.
#[must_use = "the subscription ends when this is dropped"]
pub(crate) struct Subscribing<'a> {
    commands: &'a Commands,
    /// Until the outcome is known.
    uri: Option<String>,
}

impl<'a> Subscribing<'a> {
    /// Notes that the request is about to be sent.
    pub(crate) fn begin(commands: &'a Commands, uri: String) -> Self {
        drop(commands.send(Command::Subscribing(uri.clone())));
        Self { commands, uri: Some(uri) }
    }

    /// The request has ended.
    pub(crate) fn end(mut self, error: Option<&RequestError>) {
        let outcome = match error {
            None => Subscribed::Done,
            Some(RequestError::TimedOut(_) | RequestError::InvalidAnswer(_) | RequestError::Unanswered { .. }) => {
                Subscribed::Unknown
            }
            Some(_) => Subscribed::Refused,
        };
        self.tell(outcome);
    }

    fn tell(&mut self, outcome: Subscribed) {
        if let Some(uri) = self.uri.take() {
            drop(self.commands.send(Command::Subscribed(uri, outcome)));
        }
    }
}

impl Drop for Subscribing<'_> {
    fn drop(&mut self) {
        self.tell(Subscribed::Unknown);
    }
}

/// A change of what is watched without a session.
#[must_use = "a new subscription ends when this is dropped"]
pub(crate) struct Watching<'a> {
    commands: &'a Commands,
    /// The resource that is to be watched, until the outcome is known.
    uri: Option<String>,
    answer: oneshot::Receiver<Watched>,
}

impl<'a> Watching<'a> {
    /// Begins or ends a subscription.
    pub(crate) fn begin(commands: &'a Commands, uri: String, is_wanted: bool) -> Self {
        let (done, answer) = oneshot::channel();
        let wanted = is_wanted.then(|| uri.clone());
        drop(commands.send(Command::Watch { uri, is_wanted, done }));
        Self { commands, uri: wanted, answer }
    }

    /// Waits until the server has acknowledged it; `None` if the connection is over.
    pub(crate) async fn outcome(mut self) -> Option<Watched> {
        let outcome = (&mut self.answer).await;
        self.uri = None;
        outcome.ok()
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let Some(uri) = self.uri.take() else { return };
        self.answer.close();
        match self.answer.try_recv() {
            // The caller has not seen its answer.
            Ok(Ok(true)) => {
                let (done, _) = oneshot::channel();
                drop(self.commands.send(Command::Watch { uri, is_wanted: false, done }));
            }
            Ok(_) => {}
            Err(_) => drop(self.commands.send(Command::Unwatched)),
        }
    }
}

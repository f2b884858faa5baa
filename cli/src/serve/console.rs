//! The terminal of `pmcp dev`: the status of the server, and the commands of its author.

use std::sync::Arc;
use std::time::Duration;

use protomcp_server::{Server, Service};
use protomcp_view::{Fact, State};

use crate::log::Status;
use crate::log::live::LiveView;
use crate::serve::calls::Calls;
use crate::serve::keyboard::Keyboard;
use crate::serve::questions::Questions;
use crate::serve::run::Signals;
use crate::serve::typed;

/// The console of a server. Without a terminal it does nothing.
pub(super) struct Console {
    view: Option<LiveView>,
    calls: Arc<Calls>,
    /// Gives the terminal back at the end.
    _keyboard: Option<Keyboard>,
}

impl Console {
    /// Takes commands in the form of the status: keys in a view, or lines. Must be called within a runtime, after the log has
    /// begun.
    pub(super) fn open(status: &Status, signals: &mut Signals) -> Self {
        let (view, questions) = match status {
            Status::View(view) => (Some(view.clone()), Some(Questions::new(view.clone()))),
            Status::Lines | Status::Hidden => (None, None),
        };
        let calls = Calls::new(view.clone(), questions.clone());
        let mut keyboard = None;
        let opened = match (status, &view, questions) {
            (Status::Hidden, ..) => return Self { view, calls, _keyboard: None },
            (_, Some(view), Some(questions)) => {
                Keyboard::open(view.clone(), Arc::clone(&calls), questions).map(|(opened, commands)| {
                    keyboard = Some(opened);
                    commands
                })
            }
            _ => typed::commands(Arc::clone(&calls)).inspect(|_| tracing::info!("{}", typed::HELP)),
        };
        match opened {
            Ok(commands) => signals.listen_to(commands),
            Err(error) => tracing::debug!("the terminal is not read: {error}"),
        }
        Self { view, calls, _keyboard: keyboard }
    }

    /// Calls go to this server.
    pub(super) fn serve<S: Service>(&self, server: Server<S>) {
        self.calls.serve(server);
    }

    /// Serves these connections, and then waits for the calls that were typed, for this time at most.
    pub(super) async fn with_calls<T>(&self, connections: impl Future<Output = T>, drain_timeout: Duration) -> T {
        let outcome = connections.await;
        self.calls.ended(drain_timeout).await;
        outcome
    }

    /// Clients reach the server at this URL.
    #[cfg(feature = "http")]
    pub(super) fn address(&self, url: &str) {
        if let Some(view) = &self.view {
            view.note(Fact::Address(url.to_owned()));
        }
    }

    /// Shows that the server takes calls, when it is called.
    pub(super) fn ready(&self) -> impl FnOnce() + Send + use<> {
        let (state, calls) = (self.state(State::Ready), Arc::clone(&self.calls));
        move || {
            state();
            calls.list();
        }
    }

    /// Shows that running calls end, when it is called.
    pub(super) fn draining(&self) -> impl FnOnce() + Send + use<> {
        self.state(State::Draining)
    }

    fn state(&self, state: State) -> impl FnOnce() + Send + use<> {
        let view = self.view.clone();
        move || {
            if let Some(view) = view {
                view.note(Fact::State(state));
            }
        }
    }
}

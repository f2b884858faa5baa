//! The shutdown of the server, as one request notices it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::records::clock::now;
use crate::serve::shutdown::{Due, Shutdown};
use crate::serve::timer::Timer;
use crate::state::handle::ServerHandle;

/// The shutdown of the server, as one request notices it: first it may finish, then it is cancelled, then abandoned.
pub(super) struct Ending {
    begun: Pin<Box<WaitForCancellationFutureOwned>>,
    shutdown: Shutdown,
    timer: Timer,
}

impl Ending {
    pub(super) fn new(sessions: &ServerHandle) -> Self {
        let limits = sessions.limits();
        Self {
            begun: Box::pin(sessions.shutdown_token().cancelled_owned()),
            shutdown: Shutdown::new(limits.drain_timeout, limits.cancel_grace),
            timer: Timer::default(),
        }
    }

    /// True once the server shuts down.
    pub(super) fn has_begun(&self) -> bool {
        !self.shutdown.is_open()
    }

    /// The next step that is due: [`Due::Cancel`], then [`Due::GiveUp`].
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Due> {
        if self.shutdown.is_open() {
            ready!(self.begun.as_mut().poll(cx));
            self.shutdown.drain(now());
        }
        loop {
            let Some(deadline) = self.shutdown.deadline() else { return Poll::Pending };
            ready!(self.timer.poll(deadline, cx));
            match self.shutdown.poll(now(), 0) {
                Due::Nothing => {}
                due => return Poll::Ready(due),
            }
        }
    }
}

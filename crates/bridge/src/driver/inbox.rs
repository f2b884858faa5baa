//! Receives messages for the driver, by priority.

use std::time::Instant;

use protomcp_server::SessionId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::clock::now;
use crate::core::io::Input;
use crate::dispatcher::load_event::LoadEvent;
use crate::driver::message::Message;

/// The sources of messages.
pub(crate) struct Inbox {
    pub(crate) stop: CancellationToken,
    pub(crate) loads: mpsc::UnboundedReceiver<LoadEvent>,
    pub(crate) closed: mpsc::UnboundedReceiver<SessionId>,
    pub(crate) inputs: mpsc::Receiver<Message>,
}

impl Inbox {
    /// The next message; `None` when the bridge stops. A process can send messages without a pause, so they come last,
    /// and a deadline does not wait for a gap between them.
    pub(crate) async fn next(&mut self, deadline: Option<Instant>) -> Option<Message> {
        if self.stop.is_cancelled() {
            return None;
        }
        if deadline.is_some_and(|at| at <= now()) {
            return Some(Input::Elapsed.into());
        }
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            Some(event) = self.loads.recv() => Some(Input::from(event).into()),
            Some(session) = self.closed.recv() => Some(Input::SessionClosed(session).into()),
            message = self.inputs.recv() => message,
            () = sleep_until(deadline) => Some(Input::Elapsed.into()),
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::generation::Generation;

    const SECOND: Duration = Duration::from_secs(1);

    struct Senders {
        stop: CancellationToken,
        loads: mpsc::UnboundedSender<LoadEvent>,
        closed: mpsc::UnboundedSender<SessionId>,
        inputs: mpsc::Sender<Message>,
    }

    fn inbox() -> (Inbox, Senders) {
        let stop = CancellationToken::new();
        let (to_loads, loads) = mpsc::unbounded_channel();
        let (to_closed, closed) = mpsc::unbounded_channel();
        let (to_inputs, inputs) = mpsc::channel(8);
        let senders = Senders { stop: stop.clone(), loads: to_loads, closed: to_closed, inputs: to_inputs };
        (Inbox { stop, loads, closed, inputs }, senders)
    }

    fn name(message: Option<&Message>) -> &'static str {
        match message.map(|message| &message.input) {
            None => "the end",
            Some(Input::Idle(_)) => "idle",
            Some(Input::SessionClosed(_)) => "session closed",
            Some(Input::Elapsed) => "elapsed",
            Some(_) => "input",
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_of_inputs_delays_neither_deadlines_nor_stops() {
        let (mut inbox, senders) = inbox();
        let flood = || senders.inputs.try_send(Input::Changed.into()).unwrap();
        let deadline = Some(now() + SECOND);
        flood();
        assert_eq!(name(inbox.next(deadline).await.as_ref()), "input");
        flood();
        senders.closed.send(SessionId::new(1)).unwrap();
        senders.loads.send(LoadEvent::Idle(Generation::FIRST)).unwrap();
        assert_eq!(name(inbox.next(deadline).await.as_ref()), "idle");
        assert_eq!(name(inbox.next(deadline).await.as_ref()), "session closed");
        tokio::time::advance(SECOND).await;
        assert_eq!(name(inbox.next(deadline).await.as_ref()), "elapsed");
        assert_eq!(name(inbox.next(None).await.as_ref()), "input");
        flood();
        senders.stop.cancel();
        assert_eq!(name(inbox.next(deadline).await.as_ref()), "the end");
    }

    #[tokio::test(start_paused = true)]
    async fn without_inputs_the_deadline_is_awaited() {
        let (mut inbox, _senders) = inbox();
        let begun = now();
        assert_eq!(name(inbox.next(Some(begun + SECOND)).await.as_ref()), "elapsed");
        assert!(now() - begun >= SECOND);
    }
}

//! The sender of events to the owner.
//!
//! The driver must never wait for its owner: the owner may itself wait for a call, and calls have deadlines. Events
//! that do not fit the owner's queue wait here, and until the owner has caught up the socket is not read. One read
//! brings a bounded number of events, so this backlog is bounded too, and no event is lost.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use protomcp_envelope::{Msg, ToolDefinition};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::event::Event;

/// The most events in the owner's queue.
const EVENTS: usize = 1024;
/// The most bytes of messages in the owner's queue before the driver waits.
const EVENT_BYTES: usize = 64 << 20;

/// The cost of a name beyond its characters: a string, in a list with room for twice as many, and its allocation.
const NAME: usize = 2 * size_of::<String>() + 32;

type Waiting<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(super) struct EventSender {
    queue: mpsc::Sender<Event>,
    backlog: VecDeque<Event>,
    /// The bytes sent to the owner since its queue was last empty, and the bytes of the backlog.
    bytes: usize,
    catching_up: Option<Waiting<()>>,
    owner_left: Waiting<()>,
}

impl EventSender {
    pub(super) fn new() -> (Self, mpsc::Receiver<Event>) {
        let (queue, receiver) = mpsc::channel(EVENTS);
        let watched = queue.clone();
        let owner_left = Box::pin(async move { watched.closed().await });
        (Self { queue, backlog: VecDeque::new(), bytes: 0, catching_up: None, owner_left }, receiver)
    }

    /// Sends an event, or queues it until there is room.
    pub(super) fn push(&mut self, event: Event) {
        if self.queue.capacity() == EVENTS && self.backlog.is_empty() {
            self.bytes = 0;
        }
        self.bytes += size(&event);
        if self.backlog.is_empty() {
            match self.queue.try_send(event) {
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(TrySendError::Full(event)) => self.backlog.push_back(event),
            }
        } else {
            self.backlog.push_back(event);
        }
    }

    /// Ready if the owner keeps up. Otherwise the task is woken once it has caught up.
    pub(super) fn poll_keeps_up(&mut self, cx: &mut Context<'_>) -> bool {
        while !self.backlog.is_empty() || self.bytes > EVENT_BYTES {
            let queue = &self.queue;
            let emptied = self.catching_up.get_or_insert_with(|| {
                let queue = queue.clone();
                Box::pin(async move {
                    // Permits for the whole capacity mean an empty queue; they are returned immediately. An error means
                    // that the owner dropped its end, which `poll_owner_left` reports.
                    let _permits = queue.reserve_many(EVENTS).await.ok();
                })
            });
            if emptied.as_mut().poll(cx).is_pending() {
                return false;
            }
            self.catching_up = None;
            self.bytes = 0;
            let batch = self.backlog.len().min(EVENTS);
            let events: Vec<_> = self.backlog.drain(..batch).collect();
            for event in events {
                self.bytes += size(&event);
                // There is room for a batch, and this is the only sender.
                let _left = self.queue.try_send(event);
            }
        }
        true
    }

    /// Ready if the owner dropped its end. Otherwise the task is woken when it does.
    pub(super) fn poll_owner_left(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.owner_left.as_mut().poll(cx)
    }

    /// Waits until the owner has taken the remaining events, or is gone.
    pub(super) async fn finish(self) {
        let Self { queue, backlog, catching_up, .. } = self;
        drop(catching_up);
        for event in backlog {
            if queue.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// The approximate bytes that an event keeps alive beyond itself. Answers and progress never pass here.
fn size(event: &Event) -> usize {
    match event {
        Event::Request { id, message, for_call, question } => {
            id.len() + for_call.len() + question.key.len() + message_size(message)
        }
        Event::Notification { message, for_call } => for_call.len() + message_size(message),
        Event::Listed(tools) => tools.iter().map(tool_size).sum(),
        Event::Ready(handshake) => handshake.tools.iter().flatten().map(tool_size).sum(),
        Event::HandshakeFailed(_)
        | Event::ReloadFailed(_)
        | Event::Answer { .. }
        | Event::Progress { .. }
        | Event::LateMiddleware(_)
        | Event::Noticed(_)
        | Event::Closed(_) => 0,
    }
}

/// An empty name takes two bytes on the wire, and more in memory.
fn message_size(message: &Msg) -> usize {
    let names = match message {
        Msg::EnableTools(request) => request.tool_names.len(),
        Msg::DisableTools(request) => request.tool_names.len(),
        Msg::SetAllowed(request) => request.tool_names.len(),
        Msg::SetBlocked(request) => request.tool_names.len(),
        Msg::Batch(request) => request.enable.len() + request.disable.len() + request.allow.len() + request.block.len(),
        Msg::SdkInfo(info) => info.features.len() + info.skill_folders.len(),
        _ => 0,
    };
    message.encoded_len() + names * NAME
}

fn tool_size(tool: &ToolDefinition) -> usize {
    let ToolDefinition { name, description, input_schema_json, output_schema_json, .. } = tool;
    size_of::<ToolDefinition>() + name.len() + description.len() + input_schema_json.len() + output_schema_json.len()
}

#[cfg(test)]
mod tests;

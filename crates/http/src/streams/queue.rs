//! Messages that wait in one stream, in order and bounded.

use std::borrow::Borrow;
use std::collections::VecDeque;

use protomcp_types::Message;

/// The number of messages in the queue of one stream. Beyond it, notifications for a POST are dropped, and the
/// standalone stream loses its oldest notification. Answers and questions are never dropped; they are bounded because
/// no requests are accepted while all of them wait for one connection ([`Streams::is_full`](super::Streams::is_full)).
pub(crate) const MAX_QUEUED: usize = 256;

/// The bytes of queued notifications at which a stream is full for them.
pub(super) const MAX_QUEUED_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(crate) struct Queue<M> {
    messages: VecDeque<M>,
    /// Bytes of the notifications among them.
    bytes: usize,
    dropped: usize,
}

impl<M: Borrow<Message>> Queue<M> {
    pub(crate) fn of(answers: Vec<M>) -> Self {
        Self { messages: answers.into(), bytes: 0, dropped: 0 }
    }

    /// Queues a message, and drops those beyond the limit: the oldest notifications if `drop_oldest`, otherwise this
    /// one. Returns the queued message, if it is not dropped.
    pub(crate) fn push(&mut self, message: M, drop_oldest: bool) -> Option<&mut M> {
        let weight = weight(message.borrow());
        while self.messages.len() >= MAX_QUEUED || (weight.is_some() && self.bytes >= MAX_QUEUED_BYTES) {
            let oldest = if drop_oldest {
                self.messages.iter().position(|message| is_notification(message.borrow()))
            } else {
                None
            };
            match oldest.and_then(|oldest| self.messages.remove(oldest)) {
                Some(oldest) => self.lighten(oldest.borrow()),
                None if weight.is_none() => break,
                None => {
                    self.dropped += 1;
                    return None;
                }
            }
            self.dropped += 1;
        }
        self.bytes += weight.unwrap_or_default();
        self.messages.push_back(message);
        self.messages.back_mut()
    }

    pub(crate) fn pop(&mut self) -> Option<M> {
        let message = self.messages.pop_front()?;
        self.lighten(message.borrow());
        Some(message)
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = M> {
        self.bytes = 0;
        self.messages.drain(..)
    }

    pub(super) fn front(&self) -> Option<&M> {
        self.messages.front()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut M> {
        self.messages.iter_mut()
    }

    pub(super) fn has_only_answers(&self) -> bool {
        self.messages.iter().all(|message| matches!(message.borrow(), Message::Response(_)))
    }

    /// True if the limit is reached, and none of the messages may be dropped.
    pub(super) fn is_full(&self) -> bool {
        self.messages.len() >= MAX_QUEUED && !self.messages.iter().any(|message| is_notification(message.borrow()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.bytes = 0;
    }

    /// The number of messages dropped since the last call.
    pub(crate) fn take_dropped(&mut self) -> usize {
        std::mem::take(&mut self.dropped)
    }

    fn lighten(&mut self, message: &Message) {
        self.bytes -= weight(message).unwrap_or_default();
    }
}

fn is_notification(message: &Message) -> bool {
    weight(message).is_some()
}

/// The weight of a message; `None`: it may not be dropped.
fn weight(message: &Message) -> Option<usize> {
    match message {
        Message::Notification(notification) => Some(notification.params.weight()),
        Message::Request(_) | Message::Response(_) => None,
    }
}

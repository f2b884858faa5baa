//! Messages that wait in one stream, in order and bounded.

use std::borrow::Borrow;
use std::collections::VecDeque;

use protomcp_types::Message;

/// The number of messages in the queue of one stream. Beyond it, notifications for a POST are dropped, and the
/// standalone stream loses its oldest notification. Answers and questions are never dropped; they are bounded because
/// no requests are accepted while all of them wait for one connection ([`Streams::is_full`](super::Streams::is_full)).
pub(crate) const MAX_QUEUED: usize = 256;

/// The bytes of queued notifications at which a stream is full for them.
pub(crate) const MAX_QUEUED_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(crate) struct Queue<M> {
    messages: VecDeque<Weighed<M>>,
    /// The limit of their number.
    max: usize,
    /// Bytes of the notifications among them.
    bytes: usize,
    dropped: usize,
}

/// A message that waits. Its weight is the one that it has on its arrival.
#[derive(Debug)]
struct Weighed<M> {
    /// `None`: it may not be dropped.
    weight: Option<usize>,
    message: M,
}

impl<M: Borrow<Message>> Queue<M> {
    /// Of answers, with this limit of messages.
    pub(crate) fn of(answers: Vec<M>, max: usize) -> Self {
        let weighed = |message| Weighed { weight: None, message };
        Self { messages: answers.into_iter().map(weighed).collect(), max, bytes: 0, dropped: 0 }
    }

    /// Queues a message, unless it is beyond the limit. Returns the queued message, if it is not dropped.
    pub(crate) fn push(&mut self, message: M) -> Option<&mut M> {
        self.enter(message, false, drop)
    }

    /// Queues a message, and drops the oldest notifications beyond the limit; `dropped` gets each of them. Returns the
    /// queued message, if it is not dropped.
    pub(super) fn push_over(&mut self, message: M, dropped: impl FnMut(M)) -> Option<&mut M> {
        self.enter(message, true, dropped)
    }

    fn enter(&mut self, message: M, drop_oldest: bool, mut dropped: impl FnMut(M)) -> Option<&mut M> {
        let weight = weight(message.borrow());
        while self.messages.len() >= self.max || (weight.is_some() && self.bytes >= MAX_QUEUED_BYTES) {
            let oldest =
                if drop_oldest { self.messages.iter().position(|message| message.weight.is_some()) } else { None };
            match oldest.and_then(|oldest| self.messages.remove(oldest)) {
                Some(oldest) => {
                    self.bytes -= oldest.weight.unwrap_or_default();
                    dropped(oldest.message);
                }
                None if weight.is_none() => break,
                None => {
                    self.dropped += 1;
                    return None;
                }
            }
            self.dropped += 1;
        }
        self.bytes += weight.unwrap_or_default();
        self.messages.push_back(Weighed { weight, message });
        self.messages.back_mut().map(|weighed| &mut weighed.message)
    }

    pub(crate) fn pop(&mut self) -> Option<M> {
        let Weighed { weight, message } = self.messages.pop_front()?;
        self.bytes -= weight.unwrap_or_default();
        Some(message)
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = M> {
        self.bytes = 0;
        self.messages.drain(..).map(|weighed| weighed.message)
    }

    pub(super) fn front(&self) -> Option<&M> {
        self.messages.front().map(|weighed| &weighed.message)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut M> {
        self.messages.iter_mut().map(|weighed| &mut weighed.message)
    }

    pub(super) fn has_only_answers(&self) -> bool {
        self.messages.iter().all(|weighed| matches!(weighed.message.borrow(), Message::Response(_)))
    }

    /// True if the limit is reached, and none of the messages may be dropped.
    pub(super) fn is_full(&self) -> bool {
        self.messages.len() >= self.max && self.messages.iter().all(|message| message.weight.is_none())
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
}

/// The weight of a message; `None`: it may not be dropped.
fn weight(message: &Message) -> Option<usize> {
    match message {
        Message::Notification(notification) => Some(notification.params.weight()),
        Message::Request(_) | Message::Response(_) => None,
    }
}

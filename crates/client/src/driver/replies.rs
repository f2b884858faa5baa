//! The replies that a server has caused and does not read. With too many of them the server is not read either.
//!
//! Only replies count. Requests must not: a server that writes an answer before it reads the next request would wait for
//! this side to read, while this side waits for the server to read.

use std::collections::VecDeque;

/// The replies among everything that was sent. A value: the amounts come from a sink, in its own unit.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// The amount of everything that was sent.
    sent: u64,
    /// The replies that are not written, oldest first: the amount sent with each of them, and its own.
    waiting: VecDeque<(u64, u64)>,
    /// The amount of these replies.
    amount: u64,
}

/// The kinds of messages, by their cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The server has asked.
    Server,
    /// This side has something to say.
    Client,
}

impl Replies {
    /// A message was sent; the amounts that waited to be written before it and with it.
    pub(super) fn sent(&mut self, cause: Cause, before: usize, after: usize) {
        let own = after.saturating_sub(before) as u64;
        self.sent += own;
        if cause == Cause::Server && own > 0 {
            self.waiting.push_back((self.sent, own));
            self.amount += own;
        }
    }

    /// This amount waits to be written.
    pub(super) fn written(&mut self, unwritten: usize) {
        let written = self.sent.saturating_sub(unwritten as u64);
        while let Some((_, own)) = self.waiting.front().copied().filter(|(until, _)| *until <= written) {
            self.amount -= own;
            self.waiting.pop_front();
        }
    }

    /// True if the server is not read until it has read some of them.
    pub(super) fn are_too_many(&self) -> bool {
        self.waiting.len() >= MAX_REPLIES || self.amount >= MAX_AMOUNT
    }
}

/// Replies that wait to be written. With this many, nothing more is read.
const MAX_REPLIES: usize = 4096;

/// The amount of these replies, in bytes where the sink counts bytes.
const MAX_AMOUNT: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_replies_hold_up_reading_and_only_until_they_are_written() {
        let mut replies = Replies::default();
        for message in 0..10 * MAX_REPLIES {
            replies.sent(Cause::Client, message * 5, message * 5 + 5);
        }
        assert!(!replies.are_too_many(), "requests do not count");
        let requests = 10 * MAX_REPLIES * 5;
        for reply in 0..MAX_REPLIES {
            assert!(!replies.are_too_many());
            replies.sent(Cause::Server, requests + reply * 2, requests + reply * 2 + 2);
        }
        assert!(replies.are_too_many());
        replies.written(MAX_REPLIES * 2);
        assert!(replies.are_too_many(), "the requests before them are written");
        replies.written(MAX_REPLIES * 2 - 1);
        assert!(replies.are_too_many(), "a part of one");
        replies.written(MAX_REPLIES * 2 - 2);
        assert!(!replies.are_too_many());
        replies.written(0);
        assert_eq!((replies.waiting.len(), replies.amount), (0, 0));
    }

    #[test]
    fn few_large_replies_are_too_many_as_well() {
        let mut replies = Replies::default();
        replies.sent(Cause::Server, 0, 64 << 20);
        assert!(replies.are_too_many());
        replies.written((64 << 20) - 1);
        assert!(replies.are_too_many());
        replies.written(0);
        assert!(!replies.are_too_many());
        replies.sent(Cause::Server, 0, 0);
        assert!(replies.waiting.is_empty(), "a sink without a backlog");
    }
}

//! The limits of a transport.

use std::time::Duration;

use crate::reconnect::Pace;

/// The limits and deadlines of an [`HttpTransport`](crate::HttpTransport). A server that exceeds one of them gets its
/// request failed, and the others continue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most requests that are open concurrently. Others wait, in order, and their time for an answer begins after
    /// that. Default 64. Notifications, answers to requests of the server and subscription streams are not counted;
    /// pings, handshakes and cancellations of tasks have 64 separate slots.
    pub max_concurrent_requests: usize,
    /// The longest message, in bytes. Default 64 MiB.
    pub max_message: usize,
    /// The most bytes of messages that have arrived, wholly or in part, and were not taken yet; at least 1 MiB more than
    /// `max_message`. Default 256 MiB. A response that finds no room waits, no longer than `message_timeout`. One at a
    /// time always finds room.
    pub max_buffered: usize,
    /// The most bytes of the head of a response, from 8 KiB to 1 GiB. Default 64 KiB.
    pub max_head: usize,
    /// The time for a connection, with TLS and proxies. Default 10 s.
    pub connect_timeout: Duration,
    /// The time until the head of the response to a request, and from there to the first byte of a JSON body. Default
    /// 10 minutes: a server that replies with JSON sends the head with the answer. The caller's deadline is usually
    /// shorter. The GET for messages that belong to no request has this time, too: some servers send the head with the
    /// first event.
    pub answer_timeout: Duration,
    /// The time until the head of any other response: to a notification, to an answer, to a GET that resumes a response.
    /// Default 30 s. A notification or an answer has a second more for each 16 KiB, up to `answer_timeout`.
    pub head_timeout: Duration,
    /// The time from the first byte of a JSON body, or of an event, to its last. Default 2 minutes.
    pub message_timeout: Duration,
    /// The time for the end of a session. Default 5 s.
    pub end_timeout: Duration,
    /// The most attempts in a row to open a stream again that bring no event. Default 8.
    pub max_reconnects: u32,
    /// The delay before the first of these attempts if the server asks for none, at least 1 ms; it doubles up to 30 s.
    /// Default 1 s.
    pub reconnect_delay: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_concurrent_requests: 64,
            max_message: 64 * 1024 * 1024,
            max_buffered: 256 * 1024 * 1024,
            max_head: 64 * 1024,
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(600),
            head_timeout: Duration::from_secs(30),
            message_timeout: Duration::from_secs(120),
            end_timeout: Duration::from_secs(5),
            max_reconnects: 8,
            reconnect_delay: Duration::from_secs(1),
        }
    }
}

/// The shortest head that a connection can be limited to.
const LEAST_HEAD: usize = 8192;

/// The longest head that a connection can be limited to.
const MOST_HEAD: usize = 1 << 30;

/// Longer times are cut, so that they can be added to any moment and doubled.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// The shortest delay between two attempts: none at all would stay none when it is doubled.
const SHORTEST_DELAY: Duration = Duration::from_millis(1);

/// The longest delay between two attempts to open a stream again, unless the server asks for more.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

impl Limits {
    /// Sets [`Limits::max_concurrent_requests`], at least 1.
    #[must_use]
    pub fn with_max_concurrent_requests(mut self, requests: usize) -> Self {
        self.max_concurrent_requests = requests.max(1);
        self
    }

    /// Sets [`Limits::max_message`].
    #[must_use]
    pub fn with_max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// Sets [`Limits::max_buffered`].
    #[must_use]
    pub fn with_max_buffered(mut self, bytes: usize) -> Self {
        self.max_buffered = bytes;
        self
    }

    /// Sets [`Limits::max_head`].
    #[must_use]
    pub fn with_max_head(mut self, bytes: usize) -> Self {
        self.max_head = bytes;
        self
    }

    /// Sets [`Limits::connect_timeout`].
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets [`Limits::answer_timeout`].
    #[must_use]
    pub fn with_answer_timeout(mut self, timeout: Duration) -> Self {
        self.answer_timeout = timeout;
        self
    }

    /// Sets [`Limits::head_timeout`].
    #[must_use]
    pub fn with_head_timeout(mut self, timeout: Duration) -> Self {
        self.head_timeout = timeout;
        self
    }

    /// Sets [`Limits::message_timeout`].
    #[must_use]
    pub fn with_message_timeout(mut self, timeout: Duration) -> Self {
        self.message_timeout = timeout;
        self
    }

    /// Sets [`Limits::end_timeout`].
    #[must_use]
    pub fn with_end_timeout(mut self, timeout: Duration) -> Self {
        self.end_timeout = timeout;
        self
    }

    /// Sets [`Limits::max_reconnects`].
    #[must_use]
    pub fn with_max_reconnects(mut self, attempts: u32) -> Self {
        self.max_reconnects = attempts;
        self
    }

    /// Sets [`Limits::reconnect_delay`].
    #[must_use]
    pub fn with_reconnect_delay(mut self, delay: Duration) -> Self {
        self.reconnect_delay = delay;
        self
    }

    /// These limits with values that can be used: fields can be set to any.
    pub(crate) fn bounded(mut self) -> Self {
        self.max_head = self.max_head.clamp(LEAST_HEAD, MOST_HEAD);
        self.message_timeout = self.message_timeout.min(LONGEST);
        self.reconnect_delay = self.reconnect_delay.clamp(SHORTEST_DELAY, LONGEST);
        self
    }

    pub(crate) fn pace(&self) -> Pace {
        Pace { attempts: self.max_reconnects, first: self.reconnect_delay, longest: LONGEST_DELAY }
    }
}

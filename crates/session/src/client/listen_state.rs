//! The subscription of a stateless connection: one stream that is open, and one that replaces it.
//!
//! ```text
//!             listen                    acknowledged
//!   nothing ─────────▶ next (unheard) ───────────────▶ open
//!                        ▲                               │ ended by the server
//!                        └──── after a pause ── retry ◀──┘
//! ```

use std::time::{Duration, Instant};

use protomcp_types::SubscriptionFilter;

/// The state of a subscription.
#[derive(Debug, Default)]
pub(super) struct Listening {
    pub(super) wanted: SubscriptionFilter,
    /// Acknowledged by the server.
    pub(super) open: Option<OpenStream>,
    /// Sent, and not acknowledged yet.
    pub(super) next: Option<NextStream>,
    /// An acknowledged stream has ended, and no other was acknowledged since.
    pub(super) has_gap: bool,
    /// The time at which to listen again.
    pub(super) retry: Option<Instant>,
    /// Ends in a row, each soon after the beginning.
    pub(super) failures: u32,
}

/// A stream that the server has acknowledged.
#[derive(Debug)]
pub(super) struct OpenStream {
    pub(super) request: u64,
    pub(super) filter: SubscriptionFilter,
    pub(super) honoured: SubscriptionFilter,
    pub(super) since: Instant,
    /// It has brought a notification.
    pub(super) has_delivered: bool,
}

/// A stream that the server has not acknowledged yet.
#[derive(Debug)]
pub(super) struct NextStream {
    pub(super) request: u64,
    pub(super) filter: SubscriptionFilter,
    pub(super) until: Instant,
}

impl OpenStream {
    /// True if the server honours all of the resources that it was asked for.
    pub(super) fn has_resources(&self) -> bool {
        let honoured = &self.honoured.resource_subscriptions;
        self.filter.resource_subscriptions.iter().all(|uri| honoured.contains(uri))
    }
}

impl Listening {
    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.next.as_ref().map(|next| next.until), self.retry].into_iter().flatten().min()
    }

    /// True if a stream with this id exists.
    pub(super) fn has(&self, request: u64) -> bool {
        self.open.as_ref().is_some_and(|open| open.request == request)
            || self.next.as_ref().is_some_and(|next| next.request == request)
    }

    /// A stream has ended, which may have been open. Returns the pause before the next attempt; `None`: there were
    /// enough.
    pub(super) fn pause(&mut self, now: Instant, open: Option<&OpenStream>) -> Option<Duration> {
        let has_worked =
            |open: &OpenStream| open.has_delivered || now.saturating_duration_since(open.since) >= LONG_LIVED;
        if open.is_some_and(has_worked) {
            self.failures = 0;
        }
        self.failures += 1;
        (self.failures <= MAX_FAILURES).then(|| FIRST_PAUSE * 2u32.pow(self.failures - 1))
    }
}

/// A stream that lasts this long has not failed. Proxies end streams after 30 s and more.
const LONG_LIVED: Duration = Duration::from_secs(10);
/// The pause after a failure that a caller was told.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// With doubled pauses, some two minutes.
const MAX_FAILURES: u32 = 8;

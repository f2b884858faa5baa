//! The silence of a connection, as a value.

use std::time::Duration;

use tokio::time::Instant;

/// The calls that a connection carries, and the time since which it has been silent.
///
/// A connection answers calls in their order, so any answer shows that it leads to a server. A caller may stop waiting
/// before a connection counts as silent; the time goes on with the next call.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    calls: usize,
    /// The sending of a call that has no answer, or the last answer after it.
    since: Option<Instant>,
}

impl Silence {
    /// A call is sent.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.calls += 1;
        self.since.get_or_insert(now);
    }

    /// A call has its answer.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.calls = self.calls.saturating_sub(1);
        self.since = (self.calls > 0).then_some(now);
    }

    /// A caller waits no longer. Returns true if the connection has been silent for this time.
    pub(crate) fn dropped(&mut self, now: Instant, limit: Duration) -> bool {
        self.calls = self.calls.saturating_sub(1);
        self.since.is_some_and(|since| now.saturating_duration_since(since) >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True after each drop at which a connection has been silent for 100 ms. `s` a call is sent, `a` it is answered,
    /// `d` it is dropped; with the milliseconds.
    fn drops(events: &[(char, u64)]) -> Vec<bool> {
        let (start, mut silence, mut drops) = (Instant::now(), Silence::default(), Vec::new());
        for (event, millis) in events {
            let now = start + Duration::from_millis(*millis);
            match event {
                's' => silence.sent(now),
                'a' => silence.answered(now),
                _ => drops.push(silence.dropped(now, Duration::from_millis(100))),
            }
        }
        drops
    }

    #[test]
    fn a_connection_without_an_answer_is_silent() {
        assert_eq!(drops(&[('s', 0), ('d', 99)]), [false]);
        assert_eq!(drops(&[('s', 0), ('d', 100)]), [true]);
        assert_eq!(drops(&[('s', 0), ('d', 60), ('s', 60), ('d', 120)]), [false, true], "both were dropped early");
        assert_eq!(drops(&[('s', 0), ('s', 90), ('d', 95), ('d', 150)]), [false, true]);
    }

    #[test]
    fn an_answer_ends_the_silence() {
        assert_eq!(drops(&[('s', 0), ('a', 90), ('s', 500), ('d', 590)]), [false]);
        assert_eq!(drops(&[('s', 0), ('s', 0), ('a', 90), ('d', 180)]), [false], "another call was answered");
        assert_eq!(drops(&[('s', 0), ('s', 0), ('a', 90), ('d', 190)]), [true]);
        assert_eq!(drops(&[('s', 0), ('d', 50), ('s', 60), ('a', 70), ('s', 80), ('d', 170)]), [false, false]);
    }
}

//! The position in a stream of events, and the next step when the stream ends. A value: no I/O.

use std::time::Duration;

use http::HeaderValue;

use crate::reconnect::{Pace, Reconnect};
use crate::sse::Event;

/// A stream of events that can be opened again.
#[derive(Debug)]
pub(crate) struct Resumption {
    kind: StreamKind,
    reconnect: Reconnect,
    /// The position after the last event; `None` if the stream has none.
    position: Option<HeaderValue>,
}

/// The kinds of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The response to a request of a session. The caller has a deadline.
    Response,
    /// The response to a request without a session. It cannot be resumed (MCP 2026-07-28, basic/transports).
    Stateless,
    /// Messages that belong to no request. It has no deadline, is opened at its end if it has no position, and is never
    /// given up.
    Standalone,
}

/// The next step when a stream has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// To open it again after this time, from this position.
    Open { after: Duration, position: Option<HeaderValue> },
    /// To give up, for this reason.
    GiveUp(&'static str),
}

impl Resumption {
    pub(crate) fn new(kind: StreamKind, pace: Pace) -> Self {
        Self { kind, reconnect: Reconnect::new(pace), position: None }
    }

    /// An event has come.
    pub(crate) fn event(&mut self, event: &Event) {
        if let Some(delay) = event.retry {
            self.reconnect.retry(delay);
        }
        let before = self.position.clone();
        if let Some(id) = &event.id {
            // In UTF-8 (WHATWG HTML, server-sent events, `Last-Event-ID`).
            self.position = HeaderValue::from_bytes(id.as_bytes()).ok().filter(|id| !id.is_empty());
        }
        // A server may end the response to a long request again and again, with a new position each time (MCP
        // 2025-11-25, basic/transports). The deadline of the request bounds this; the standalone stream has none.
        let has_moved = self.kind != StreamKind::Standalone && self.position != before;
        if !event.data.is_empty() {
            self.reconnect.progressed();
        } else if has_moved {
            self.reconnect.moved();
        }
    }

    /// The stream was open for this long.
    pub(crate) fn stayed_open(&mut self, time: Duration) {
        self.reconnect.stayed_open(time);
    }

    /// The server does not know the position.
    pub(crate) fn forget_position(&mut self) {
        self.position = None;
    }

    /// The next attempt has the longest delay: the server would send too much again.
    pub(crate) fn slow_down(&mut self) {
        self.reconnect.slow_down();
    }

    pub(crate) fn position(&self) -> Option<&HeaderValue> {
        self.position.as_ref()
    }

    /// The stream has ended, or could not be opened; see [`Reconnect::next_delay`] for `random`.
    pub(crate) fn ended(&mut self, random: u32) -> Step {
        match (self.kind, &self.position) {
            (StreamKind::Stateless, _) => return Step::GiveUp("this revision cannot resume it"),
            (StreamKind::Response, None) => return Step::GiveUp("its events have no ids to resume it from"),
            (StreamKind::Response, Some(_)) | (StreamKind::Standalone, _) => {}
        }
        let position = || self.position.clone();
        match self.reconnect.next_delay(random) {
            Some(after) => Step::Open { after, position: position() },
            None if self.kind == StreamKind::Standalone => {
                Step::Open { after: self.reconnect.longest_delay(random), position: position() }
            }
            None => Step::GiveUp("all attempts to resume it brought no event"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { attempts: 2, first: Duration::from_secs(1), longest: Duration::from_secs(30) };

    fn event(id: Option<&str>, data: &'static str) -> Event {
        Event { id: id.map(Into::into), data: data.into(), ..Event::default() }
    }

    /// The attempts after these events; each attempt brings nothing.
    fn attempts(resumption: &mut Resumption) -> usize {
        std::iter::from_fn(|| match resumption.ended(0) {
            Step::Open { after, .. } if after < PACE.longest => Some(()),
            Step::Open { .. } | Step::GiveUp(_) => None,
        })
        .count()
    }

    #[test]
    fn a_response_is_resumed_from_its_last_position() {
        let mut resumption = Resumption::new(StreamKind::Response, PACE);
        assert_eq!(attempts(&mut resumption), 0);
        resumption.event(&Event { retry: Some(Duration::from_millis(500)), ..event(Some("1-0"), "") });
        let open = |after, position| Step::Open { after, position: Some(HeaderValue::from_static(position)) };
        assert_eq!(resumption.ended(9), open(Duration::from_millis(500), "1-0"));
        resumption.event(&event(Some("1-1"), "{}"));
        resumption.event(&event(None, "{}"));
        assert_eq!(resumption.ended(9), open(Duration::from_millis(500), "1-1"));
        resumption.event(&event(Some(""), "{}"));
        assert!(matches!(resumption.ended(0), Step::GiveUp(_)));
    }

    #[test]
    fn a_position_that_no_header_can_carry_is_none() {
        let mut resumption = Resumption::new(StreamKind::Response, PACE);
        resumption.event(&event(Some("a\u{1}b"), "{}"));
        assert_eq!(resumption.position(), None);
        resumption.event(&event(Some("é-1"), "{}"));
        assert_eq!(resumption.position().map(HeaderValue::as_bytes), Some("é-1".as_bytes()));
    }

    #[test]
    fn a_stateless_response_is_never_resumed() {
        let mut resumption = Resumption::new(StreamKind::Stateless, PACE);
        resumption.event(&event(Some("1"), "{}"));
        assert_eq!(attempts(&mut resumption), 0);
    }

    #[test]
    fn only_what_brings_something_renews_the_attempts() {
        for (kind, id, data, expected) in [
            (StreamKind::Response, Some("2"), "", 2),
            (StreamKind::Response, Some("1"), "", 0),
            (StreamKind::Response, None, "{}", 2),
            (StreamKind::Standalone, Some("2"), "", 0),
            (StreamKind::Standalone, None, "{}", 2),
            (StreamKind::Standalone, None, "", 0),
        ] {
            let mut resumption = Resumption::new(kind, PACE);
            resumption.event(&event(Some("1"), "{}"));
            assert_eq!(attempts(&mut resumption), 2);
            resumption.event(&event(id, data));
            assert_eq!(attempts(&mut resumption), expected, "{kind:?} {id:?} {data}");
        }
    }

    #[test]
    fn the_standalone_stream_needs_no_position() {
        let mut resumption = Resumption::new(StreamKind::Standalone, PACE);
        assert_eq!(resumption.ended(0), Step::Open { after: PACE.first, position: None });
        resumption.event(&event(Some("0-1"), "{}"));
        resumption.forget_position();
        assert_eq!(resumption.ended(0), Step::Open { after: PACE.first, position: None });
        resumption.stayed_open(Duration::from_secs(3600));
        assert_eq!(attempts(&mut resumption), 2);
        for _ in 0..99 {
            assert_eq!(resumption.ended(0), Step::Open { after: PACE.longest, position: None }, "it is never given up");
        }
        resumption.event(&event(None, "{}"));
        assert_eq!(resumption.ended(0), Step::Open { after: PACE.first, position: None });
    }
}

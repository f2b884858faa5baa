//! The streams whose opening was not written.
//!
//! A store that had an event of such a stream would give it to a client, and a process that takes the session over
//! would not know the requests of the stream.

use std::collections::{HashMap, HashSet};

use crate::keys::SessionName;

/// The most streams. Further ones take the place of others.
const MAX_STREAMS: usize = 65_536;

/// The part of a log that a write concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Opening(u64),
    Event(u64),
    End(u64),
    /// The log as a whole.
    Log,
}

/// Streams by session, until they end or are opened.
#[derive(Debug, Default)]
pub(crate) struct FailedOpenings {
    sessions: HashMap<SessionName, HashSet<u64>>,
    count: usize,
}

impl FailedOpenings {
    /// True if this write must fail, because the opening of its stream did.
    pub(crate) fn has(&self, session: &SessionName, subject: Subject) -> bool {
        match subject {
            Subject::Event(stream) | Subject::End(stream) => {
                self.sessions.get(session).is_some_and(|streams| streams.contains(&stream))
            }
            Subject::Opening(_) | Subject::Log => false,
        }
    }

    /// A write has failed, or the log is gone.
    pub(crate) fn note(&mut self, session: &SessionName, subject: Subject) {
        match subject {
            Subject::Opening(stream) => {
                if self.count >= MAX_STREAMS
                    && let Some(other) = self.sessions.keys().next().cloned()
                {
                    self.forget(&other);
                }
                if self.sessions.entry(session.clone()).or_default().insert(stream) {
                    self.count += 1;
                }
            }
            Subject::End(stream) => self.opened(session, stream),
            Subject::Log => self.forget(session),
            Subject::Event(_) => {}
        }
    }

    /// A stream is open, or has ended.
    pub(crate) fn opened(&mut self, session: &SessionName, stream: u64) {
        if let Some(streams) = self.sessions.get_mut(session)
            && streams.remove(&stream)
        {
            self.count -= 1;
            if streams.is_empty() {
                self.sessions.remove(session);
            }
        }
    }

    fn forget(&mut self, session: &SessionName) {
        self.count -= self.sessions.remove(session).map_or(0, |streams| streams.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_a_stream_fail_until_its_end() {
        let (mut failed, s, t) = (FailedOpenings::default(), SessionName::of("s"), SessionName::of("t"));
        failed.note(&s, Subject::Event(1));
        assert!(!failed.has(&s, Subject::Event(1)), "its opening was written");
        failed.note(&s, Subject::Opening(1));
        failed.note(&s, Subject::Opening(1));
        failed.note(&s, Subject::Opening(2));
        for subject in [Subject::Event(1), Subject::End(1), Subject::Event(2)] {
            assert!(failed.has(&s, subject), "{subject:?}");
        }
        for (session, subject) in [(&s, Subject::Event(3)), (&t, Subject::Event(1)), (&s, Subject::Log)] {
            assert!(!failed.has(session, subject), "{subject:?}");
        }
        failed.note(&s, Subject::End(1));
        assert!(!failed.has(&s, Subject::Event(1)) && failed.has(&s, Subject::Event(2)));
        failed.note(&s, Subject::Opening(3));
        failed.opened(&s, 3);
        assert!(!failed.has(&s, Subject::Event(3)) && failed.count == 1, "it was opened again");
        failed.note(&s, Subject::Log);
        assert!(!failed.has(&s, Subject::Event(2)) && failed.sessions.is_empty() && failed.count == 0);
    }

    #[test]
    fn the_number_of_streams_is_bounded() {
        let mut failed = FailedOpenings::default();
        for stream in 0..=MAX_STREAMS as u64 {
            failed.note(&SessionName::of(&(stream % 100).to_string()), Subject::Opening(stream));
        }
        assert!(failed.count <= MAX_STREAMS && failed.count > MAX_STREAMS / 2, "{}", failed.count);
    }
}

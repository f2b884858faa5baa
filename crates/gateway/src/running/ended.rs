//! The callers of calls that have ended without an answer of the server, as a value: the time is an argument.

use std::time::Instant;

use crate::running::origin::Origin;

/// The most callers that are remembered. With more of them no message can be attributed until the last is forgotten.
const MAX_ENDED: usize = 256;

/// The callers of calls that have ended without an answer, each once.
#[derive(Debug, Default)]
pub(super) struct EndedCalls {
    callers: Vec<(Origin, Instant)>,
    /// There are more callers, until then.
    more: Option<Instant>,
}

impl EndedCalls {
    /// A call has ended. Its caller is remembered until `until`.
    pub(super) fn add(&mut self, origin: Origin, until: Instant) {
        if let Some((_, known)) = self.callers.iter_mut().find(|(known, _)| *known == origin) {
            *known = until;
        } else if self.callers.len() < MAX_ENDED {
            self.callers.push((origin, until));
        } else {
            self.more = Some(until);
        }
    }

    /// Forgets the callers whose time is over.
    pub(super) fn forget(&mut self, now: Instant) {
        self.callers.retain(|(_, until)| *until > now);
        self.more = self.more.filter(|until| *until > now);
    }

    /// True if some are not among [`EndedCalls::origins`].
    pub(super) fn are_too_many(&self) -> bool {
        self.more.is_some()
    }

    pub(super) fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.callers.iter().map(|(origin, _)| origin)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protomcp_server::{Owner, SessionId};

    use super::*;

    #[test]
    fn callers_are_remembered_once_and_forgotten_in_time() {
        let (mut ended, start) = (EndedCalls::default(), Instant::now());
        let caller = |session| Origin { session: SessionId::new(session), owner: Owner::Local };
        let at = |seconds| start + Duration::from_secs(seconds);
        ended.add(caller(1), at(1));
        ended.add(caller(2), at(2));
        ended.add(caller(1), at(3));
        ended.forget(at(2));
        assert_eq!(ended.origins().collect::<Vec<_>>(), [&caller(1)]);
        for number in 0..1000 {
            ended.add(caller(number), at(4));
        }
        assert!(ended.origins().count() == MAX_ENDED && ended.are_too_many());
        ended.forget(at(4));
        assert!(ended.origins().count() == 0 && !ended.are_too_many());
    }
}

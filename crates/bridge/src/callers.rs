//! For whom each running call is made: a value, kept by `gate`.
//!
//! A process that asks something in the middle of a call is answered by the host of that call. One that knows our
//! extension of the envelope names the call. Published SDKs do not, so the bridge goes by what is running: a single call,
//! or several of a single session, leave no doubt.

use std::collections::{HashMap, VecDeque};

use protomcp_link::CallId;
use protomcp_mcp::{CallerKey, Context, Conversation, Owner, SessionId};

use crate::generation::Generation;

/// On whose behalf a call is made.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// A request that is waiting for the answer, or was answered with a task.
    Request(Context),
    /// A session, of which several calls are running.
    Session(SessionId),
}

impl Caller {
    /// With which other calls the call takes turns.
    pub(crate) fn key(&self) -> CallerKey {
        match self {
            Self::Request(context) => context.caller().clone(),
            Self::Session(session) => CallerKey { owner: Owner::Local, conversation: Conversation::Session(*session) },
        }
    }

    pub(crate) fn session(&self) -> SessionId {
        match self {
            Self::Request(context) => context.session(),
            Self::Session(session) => *session,
        }
    }
}

/// Who is meant by something that a process asks or says.
#[derive(Debug, Clone)]
pub(crate) enum Meant {
    /// This caller.
    One(Caller),
    /// A call that is over: nobody waits for it any more.
    Over,
    /// No call is running, or calls of several sessions are and none was named.
    Anyone,
}

/// Ended calls whose session is still known. What a process says right before a result is often read right after it.
const REMEMBERED: usize = 64;

/// The callers of all calls that are running.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    running: HashMap<(Generation, CallId), Caller>,
    /// The last that have ended, oldest first.
    ended: VecDeque<(Generation, CallId, SessionId)>,
}

impl Callers {
    pub(crate) fn begin(&mut self, generation: Generation, call: CallId, caller: Caller) {
        self.running.insert((generation, call), caller);
    }

    pub(crate) fn end(&mut self, generation: Generation, call: CallId) {
        let Some(caller) = self.running.remove(&(generation, call)) else { return };
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((generation, call, caller.session()));
    }

    /// Whom a process means that names this call, or none.
    pub(crate) fn meant(&self, generation: Generation, for_call: &str) -> Meant {
        if !for_call.is_empty() {
            let call = CallId::from_wire(for_call);
            let named = call.and_then(|call| self.running.get(&(generation, call)));
            return named.map_or(Meant::Over, |caller| Meant::One(caller.clone()));
        }
        let mut running = self.running.iter().filter(|((of, _), _)| *of == generation).map(|(_, caller)| caller);
        match (running.next(), running.next()) {
            (None, _) => Meant::Anyone,
            (Some(only), None) => Meant::One(only.clone()),
            (Some(one), Some(other)) => {
                let session = one.session();
                let same = other.session() == session && running.all(|caller| caller.session() == session);
                // Requests that belong to no session may be those of different hosts.
                if same && session != SessionId::STATELESS {
                    Meant::One(Caller::Session(session))
                } else {
                    Meant::Anyone
                }
            }
        }
    }

    /// Whose tool list a process changes that names this call, or none; `None`: everyone's.
    /// [`SessionId::STATELESS`], which has no list of its own, when the call is over or when whatever is running belongs
    /// to no session: then nobody's list changes (MCP 2026-07-28, server/tools).
    pub(crate) fn list_meant(&self, generation: Generation, for_call: &str) -> Option<SessionId> {
        match self.meant(generation, for_call) {
            Meant::One(caller) => Some(caller.session()),
            Meant::Over => Some(SessionId::STATELESS),
            Meant::Anyone => {
                let mut sessions = self.sessions(generation).peekable();
                sessions.peek()?;
                sessions.all(|session| session == SessionId::STATELESS).then_some(SessionId::STATELESS)
            }
        }
    }

    /// The session of a call that has ended a short while ago.
    pub(crate) fn session_of_ended(&self, generation: Generation, call: &str) -> Option<SessionId> {
        let call = CallId::from_wire(call)?;
        let mut ended = self.ended.iter().rev();
        ended.find(|(of, ended, _)| (*of, *ended) == (generation, call)).map(|(_, _, session)| *session)
    }

    fn sessions(&self, generation: Generation) -> impl Iterator<Item = SessionId> {
        let running = self.running.iter().filter(move |((of, _), _)| *of == generation);
        running.map(|(_, caller)| caller.session())
    }

    /// Whether a call of this session is running: this one, or any.
    pub(crate) fn is_served(&self, generation: Generation, session: SessionId, for_call: &str) -> bool {
        if !for_call.is_empty() {
            return CallId::from_wire(for_call).is_some_and(|call| self.running.contains_key(&(generation, call)));
        }
        self.running.iter().any(|((of, _), caller)| *of == generation && caller.session() == session)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_link::CallIds;

    use super::*;

    fn meant(calls: &[u64], for_call: &str) -> String {
        let (ids, first, mut callers) = (CallIds::default(), Generation::FIRST, Callers::default());
        // Another process is of no account.
        callers.begin(first.next(), ids.next(), Caller::Session(SessionId::new(99)));
        for session in calls {
            callers.begin(first, ids.next(), Caller::Session(SessionId::new(*session)));
        }
        match callers.meant(first, for_call) {
            Meant::One(caller) => caller.session().to_string(),
            Meant::Over => "over".into(),
            Meant::Anyone => "anyone".into(),
        }
    }

    #[test]
    fn who_is_meant_follows_from_the_name_or_from_what_is_running() {
        for (calls, for_call, who) in [
            (&[][..], "", "anyone"),
            (&[1], "", "1"),
            (&[1, 1, 1], "", "1"),
            (&[1, 2], "", "anyone"),
            (&[1, 1, 2], "", "anyone"),
            (&[1, 2], "req-1", "1"),
            (&[1, 2], "req-2", "2"),
            (&[1, 2], "req-3", "over"),
            (&[1], "nonsense", "over"),
            // The call of another process.
            (&[1], "req-0", "over"),
        ] {
            assert_eq!(meant(calls, for_call), who, "{calls:?} {for_call:?}");
        }
    }

    #[test]
    fn requests_without_a_session_have_nothing_in_common() {
        let none = SessionId::STATELESS;
        let (ids, first, mut callers) = (CallIds::default(), Generation::FIRST, Callers::default());
        callers.begin(first, ids.next(), Caller::Session(none));
        assert!(matches!(callers.meant(first, ""), Meant::One(_)));
        callers.begin(first, ids.next(), Caller::Session(none));
        assert!(matches!(callers.meant(first, ""), Meant::Anyone));
        assert!(matches!(callers.meant(first, "req-1"), Meant::One(_)));
    }

    #[test]
    fn a_session_is_served_until_its_last_call_has_ended() {
        let (ids, first, mut callers) = (CallIds::default(), Generation::FIRST, Callers::default());
        let (one, calls) = (SessionId::new(1), [ids.next(), ids.next()]);
        for call in calls {
            callers.begin(first, call, Caller::Session(one));
        }
        callers.end(first, calls[0]);
        assert!(callers.is_served(first, one, "") && !callers.is_served(first, one, "req-0"));
        assert!(!callers.is_served(first, SessionId::new(2), ""));
        callers.end(first, calls[1]);
        assert!(!callers.is_served(first, one, ""));
    }

    #[test]
    fn nobodys_list_is_meant_by_a_call_that_is_over_and_by_calls_without_a_session() {
        let none = SessionId::STATELESS.to_string();
        for (calls, for_call, whose) in [
            (&[][..], "", "everyone"),
            (&[Some(1)], "", "1"),
            (&[Some(1), Some(2)], "", "everyone"),
            (&[None], "", &none),
            (&[None, None], "", &none),
            (&[None, None, None], "", &none),
            (&[None, Some(1)], "", "everyone"),
            (&[Some(1), Some(2)], "req-2", "2"),
            (&[Some(1)], "req-9", &none),
            (&[], "req-9", &none),
        ] {
            let (ids, first, mut callers) = (CallIds::default(), Generation::FIRST, Callers::default());
            ids.next();
            for session in calls {
                let session = session.map_or(SessionId::STATELESS, SessionId::new);
                callers.begin(first, ids.next(), Caller::Session(session));
            }
            let meant = callers.list_meant(first, for_call);
            assert_eq!(meant.map_or("everyone".into(), |session| session.to_string()), whose, "{calls:?} {for_call:?}");
        }
    }

    #[test]
    fn the_session_of_an_ended_call_is_known_for_a_while() {
        let (ids, first, mut callers) = (CallIds::default(), Generation::FIRST, Callers::default());
        let known = |callers: &Callers| callers.session_of_ended(first, "req-0");
        let call = ids.next();
        callers.begin(first, call, Caller::Session(SessionId::new(1)));
        assert_eq!(known(&callers), None);
        callers.end(first, call);
        assert_eq!(known(&callers), Some(SessionId::new(1)));
        for _ in 0..REMEMBERED {
            let call = ids.next();
            callers.begin(first, call, Caller::Session(SessionId::new(2)));
            callers.end(first, call);
        }
        assert_eq!(known(&callers), None);
    }
}

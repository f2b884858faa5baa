//! For whom each running call is made: a value, kept by `gate`.
//!
//! A process that asks something in the middle of a call is answered by the host of that call. One that knows our
//! extension of the envelope names the call. Published SDKs do not, so the bridge goes by what is running: a single call,
//! or several of a single session, leave no doubt.

use std::collections::HashMap;

use protomcp_link::CallId;
use protomcp_mcp::{Context, SessionId};

use crate::generation::Generation;

/// On whose behalf a call is made.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// A request that is waiting for the answer.
    Request(Context),
    /// A session: its task goes on after the request was answered.
    Session(SessionId),
}

impl Caller {
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

/// The callers of all calls that are running.
#[derive(Debug, Default)]
pub(crate) struct Callers(HashMap<(Generation, CallId), Caller>);

impl Callers {
    pub(crate) fn begin(&mut self, generation: Generation, call: CallId, caller: Caller) {
        self.0.insert((generation, call), caller);
    }

    pub(crate) fn end(&mut self, generation: Generation, call: CallId) {
        self.0.remove(&(generation, call));
    }

    /// Whom a process means that names this call, or none.
    pub(crate) fn meant(&self, generation: Generation, for_call: &str) -> Meant {
        if !for_call.is_empty() {
            let call = CallId::from_wire(for_call);
            let named = call.and_then(|call| self.0.get(&(generation, call)));
            return named.map_or(Meant::Over, |caller| Meant::One(caller.clone()));
        }
        let mut running = self.0.iter().filter(|((of, _), _)| *of == generation).map(|(_, caller)| caller);
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

    /// Whether a call of this session is running: this one, or any.
    pub(crate) fn is_served(&self, generation: Generation, session: SessionId, for_call: &str) -> bool {
        if !for_call.is_empty() {
            return CallId::from_wire(for_call).is_some_and(|call| self.0.contains_key(&(generation, call)));
        }
        self.0.iter().any(|((of, _), caller)| *of == generation && caller.session() == session)
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
}

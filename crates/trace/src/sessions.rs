//! The numbers of the sessions of one server in its trace.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::message::request;

/// Numbers the sessions of Streamable HTTP. Requests without a session (MCP 2026-07-28) have ids of their clients, which may
/// be equal: they count as the first session in which their id is free, so that each answer has one request.
///
/// The memory it takes grows with the trace, in which each name and each id is a part of a line.
#[derive(Debug, Default)]
pub struct Sessions {
    last: u64,
    named: HashMap<String, u64>,
    /// The sessions of requests without one, and how often each id has occurred: the n-th time it is in the n-th of them.
    stateless: Vec<u64>,
    ids: HashMap<String, usize>,
    /// The events that were sent, by session and id: a client that reconnects gets some of them again.
    events: HashSet<(u64, String)>,
}

impl Sessions {
    /// The session with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u64> {
        self.named.get(name).copied()
    }

    /// Names a session.
    pub fn name(&mut self, session: u64, name: &str) {
        self.named.entry(name.to_owned()).or_insert(session);
    }

    /// The session of a message that names none: a new one for `initialize`.
    pub fn begin(&mut self, message: &Value) -> u64 {
        let Some((method, id)) = request(message) else {
            // Where requests without a session are, there it counts.
            return match self.stateless.first() {
                Some(number) => *number,
                None => self.next(),
            };
        };
        if method == "initialize" {
            return self.next();
        }
        let count = self.ids.entry(id.to_string()).or_default();
        let earlier = std::mem::replace(count, *count + 1);
        if let Some(number) = self.stateless.get(earlier) {
            return *number;
        }
        let number = self.next();
        self.stateless.push(number);
        number
    }

    /// True for an event that was not sent before. One without an id cannot be sent again.
    pub fn is_new(&mut self, session: u64, event: Option<&str>) -> bool {
        event.is_none_or(|event| self.events.insert((session, event.to_owned())))
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sessions_are_numbered_and_equal_ids_are_apart() {
        let mut sessions = Sessions::default();
        let initialize = json!({"id": 1, "method": "initialize"});
        assert_eq!((sessions.begin(&initialize), sessions.begin(&initialize)), (1, 2));
        sessions.name(2, "b");
        assert_eq!((sessions.find("a"), sessions.find("b")), (None, Some(2)));
        let call = |id: u64| json!({"id": id, "method": "tools/call"});
        let numbers = [1, 1, 2, 1, 2, 3].map(|id| sessions.begin(&call(id)));
        assert_eq!(numbers, [3, 4, 3, 5, 4, 3]);
        assert_eq!(sessions.begin(&json!({"method": "notifications/cancelled"})), 3);
    }

    #[test]
    fn an_event_is_new_once() {
        let mut sessions = Sessions::default();
        let seen = [(1, Some("a")), (1, Some("a")), (2, Some("a")), (1, None), (1, None)];
        assert_eq!(seen.map(|(session, event)| sessions.is_new(session, event)), [true, false, true, true, true]);
    }
}

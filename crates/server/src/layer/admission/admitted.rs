//! The calls that are admitted, as a value: their numbers, and the time that calls take.

use std::collections::HashMap;
use std::time::Duration;

use protomcp_fair::Owner;
use protomcp_schema::ErrorMeta;
use protomcp_session::Limits;
use protomcp_types::{CallToolResult, ErrorObject};

/// The most concurrent calls, those that wait for their turn included. `None`: there is no such limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdmissionLimits {
    /// Of the whole server. A principal without any call is admitted beyond it, so that others cannot lock it out.
    pub server: Option<usize>,
    /// Of each principal; without one, of each network address.
    pub principal: Option<usize>,
    /// Of each tool. A principal without a call of the tool is admitted beyond it.
    pub tool: Option<usize>,
}

/// The calls that a limit counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AdmissionScope {
    /// The calls of the whole server.
    Server,
    /// The calls of one principal.
    Principal,
    /// The calls of one tool.
    Tool,
}

/// The reason why a call was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The limit that was reached.
    pub scope: AdmissionScope,
    /// The calls that it counts now.
    pub calls: usize,
    /// The usual time of a call, between 0.1 and 30 seconds: then there may be room.
    pub retry_after: Duration,
}

/// The calls that are admitted.
#[derive(Debug)]
pub struct Admission {
    limits: AdmissionLimits,
    server: Holders,
    /// Only tools with calls.
    tools: HashMap<String, Holders>,
    /// The usual time of a call, once one has ended.
    usual: Option<Duration>,
    /// Calls that were not admitted.
    refused: HashMap<AdmissionScope, u64>,
}

/// Calls, by their owners.
#[derive(Debug, Default)]
struct Holders {
    calls: usize,
    owners: HashMap<Owner, usize>,
}

impl AdmissionScope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Server, Self::Principal, Self::Tool];

    /// The field of [`AdmissionLimits`].
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Server => "AdmissionLimits::server",
            Self::Principal => "AdmissionLimits::principal",
            Self::Tool => "AdmissionLimits::tool",
        }
    }
}

impl Admission {
    /// No call yet.
    #[must_use]
    pub fn new(limits: AdmissionLimits) -> Self {
        Self { limits, server: Holders::default(), tools: HashMap::new(), usual: None, refused: HashMap::new() }
    }

    /// Admits a call, until [`Admission::leave`].
    ///
    /// # Errors
    /// If a limit is reached. The call is then not counted.
    pub fn enter(&mut self, owner: &Owner, tool: &str) -> Result<(), Refusal> {
        let AdmissionLimits { server, principal, tool: per_tool } = self.limits;
        let own = self.server.of(owner);
        let full = [
            (AdmissionScope::Principal, principal.filter(|most| own >= *most).map(|_| own)),
            (AdmissionScope::Server, self.server.full(server, owner)),
            (AdmissionScope::Tool, self.tools.get(tool).and_then(|holders| holders.full(per_tool, owner))),
        ];
        if let Some((scope, calls)) = full.into_iter().find_map(|(scope, calls)| Some((scope, calls?))) {
            *self.refused.entry(scope).or_default() += 1;
            return Err(Refusal { scope, calls, retry_after: self.retry_after() });
        }
        self.server.add(owner);
        if per_tool.is_some() {
            self.tools.entry(tool.to_owned()).or_default().add(owner);
        }
        Ok(())
    }

    /// A call has ended, after this time.
    pub fn leave(&mut self, owner: &Owner, tool: &str, took: Duration) {
        self.server.remove(owner);
        if let Some(holders) = self.tools.get_mut(tool) {
            holders.remove(owner);
            if holders.calls == 0 {
                self.tools.remove(tool);
            }
        }
        // One call of another length changes it by an eighth.
        self.usual = Some(self.usual.map_or(took, |usual| usual - usual / 8 + took / 8));
    }

    /// The calls that are admitted.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.server.calls
    }

    /// The calls that were refused because of this limit, from the start on.
    #[must_use]
    pub fn refused(&self, scope: AdmissionScope) -> u64 {
        self.refused.get(&scope).copied().unwrap_or_default()
    }

    fn retry_after(&self) -> Duration {
        self.usual.unwrap_or(Limits::RETRY_AFTER).clamp(SOONEST, LATEST)
    }
}

/// A client is not asked to come again sooner.
const SOONEST: Duration = Duration::from_millis(100);

/// A client is not asked to wait longer.
const LATEST: Duration = Duration::from_secs(30);

impl Holders {
    fn of(&self, owner: &Owner) -> usize {
        self.owners.get(owner).copied().unwrap_or_default()
    }

    /// The number of calls, if they leave no room for this owner.
    fn full(&self, most: Option<usize>, owner: &Owner) -> Option<usize> {
        let is_full = self.calls >= most? && self.of(owner) > 0;
        is_full.then_some(self.calls)
    }

    fn add(&mut self, owner: &Owner) {
        self.calls += 1;
        *self.owners.entry(owner.clone()).or_default() += 1;
    }

    fn remove(&mut self, owner: &Owner) {
        self.calls = self.calls.saturating_sub(1);
        if let Some(own) = self.owners.get_mut(owner) {
            *own -= 1;
            if *own == 0 {
                self.owners.remove(owner);
            }
        }
    }
}

impl Refusal {
    /// The result for the client. Hosts show its text alone.
    pub(super) fn to_result(self, tool: &str, setting: &str) -> CallToolResult {
        let (message, suggestion) = self.explain(tool, setting);
        let meta = ErrorMeta {
            code: Some("OVERLOADED"),
            message: &message,
            suggestion: Some(&suggestion),
            retryable: true,
            retry_after: Some(self.retry_after),
        };
        CallToolResult::error(format!("{message}; {suggestion}")).with_meta(meta.to_meta())
    }

    /// The same, as an error.
    pub(super) fn to_error(self, tool: &str, setting: &str) -> ErrorObject {
        let (message, suggestion) = self.explain(tool, setting);
        ErrorObject::overloaded(&message, &suggestion, self.retry_after)
    }

    /// The reason, then the remedy.
    fn explain(self, tool: &str, setting: &str) -> (String, String) {
        let calls = self.calls;
        let why = match self.scope {
            AdmissionScope::Server => format!("the server has {calls} calls already"),
            AdmissionScope::Principal => format!("you have {calls} calls already"),
            AdmissionScope::Tool => format!("the tool has {calls} calls already"),
        };
        let milliseconds = self.retry_after.as_millis();
        (
            format!("call tool {tool:?} was refused: {why}"),
            format!("try again in {milliseconds} ms, or raise {setting}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::Principal(name.into())
    }

    fn admission(server: Option<usize>, principal: Option<usize>, tool: Option<usize>) -> Admission {
        Admission::new(AdmissionLimits { server, principal, tool })
    }

    #[test]
    fn each_limit_refuses_the_call_after_its_last() {
        use AdmissionScope::{Principal, Server, Tool};
        // The limits, calls that are admitted, and the refusal of one more.
        type Row<'a> =
            ([Option<usize>; 3], &'a [(&'a str, &'a str)], (&'a str, &'a str), Option<(AdmissionScope, usize)>);
        let table: &[Row<'_>] = &[
            ([None; 3], &[("ann", "a"); 100], ("ann", "a"), None),
            ([Some(2), None, None], &[("ann", "a"), ("bob", "b")], ("bob", "c"), Some((Server, 2))),
            ([None, Some(2), None], &[("ann", "a"), ("ann", "b")], ("ann", "c"), Some((Principal, 2))),
            ([None, Some(2), None], &[("ann", "a"), ("ann", "b")], ("bob", "a"), None),
            ([None, None, Some(1)], &[("ann", "a")], ("ann", "a"), Some((Tool, 1))),
            ([None, None, Some(1)], &[("ann", "a")], ("ann", "b"), None),
            ([Some(1), Some(1), Some(1)], &[("ann", "a")], ("ann", "a"), Some((Principal, 1))),
        ];
        for ([server, principal, tool], admitted, (name, last), refusal) in table {
            let mut admission = admission(*server, *principal, *tool);
            for (name, tool) in *admitted {
                admission.enter(&owner(name), tool).unwrap();
            }
            let outcome = admission.enter(&owner(name), last);
            assert_eq!(
                outcome.err().map(|refusal| (refusal.scope, refusal.calls)),
                *refusal,
                "{server:?} {name} {last}"
            );
            for scope in AdmissionScope::ALL {
                let is_counted = refusal.is_some_and(|(refused, _)| refused == scope);
                assert_eq!(admission.refused(scope), u64::from(is_counted), "{scope:?} of {server:?} {name} {last}");
            }
        }
    }

    #[test]
    fn an_owner_without_calls_is_not_locked_out() {
        let mut admission = admission(Some(2), None, Some(2));
        for _ in 0..2 {
            admission.enter(&owner("ann"), "a").unwrap();
        }
        assert!(admission.enter(&owner("ann"), "a").is_err());
        admission.enter(&owner("bob"), "a").unwrap();
        assert_eq!(admission.enter(&owner("bob"), "a").unwrap_err().calls, 3);
    }

    #[test]
    fn nothing_is_kept_of_calls_that_have_ended() {
        let mut admission = admission(Some(1), Some(1), Some(1));
        for round in 0..3 {
            admission.enter(&owner("ann"), &format!("a{round}")).unwrap();
            assert!(admission.enter(&owner("ann"), "b").is_err());
            admission.leave(&owner("ann"), &format!("a{round}"), Duration::ZERO);
        }
        assert_eq!((admission.calls(), admission.tools.len(), admission.server.owners.len()), (0, 0, 0));
    }

    #[test]
    fn the_hint_is_the_usual_time_of_a_call() {
        let mut admission = admission(Some(1), None, None);
        let mut hint = |took: Option<Duration>| {
            if let Some(took) = took {
                admission.enter(&owner("ann"), "a").unwrap();
                admission.leave(&owner("ann"), "a", took);
            }
            admission.enter(&owner("ann"), "a").unwrap();
            let hint = admission.enter(&owner("ann"), "a").unwrap_err().retry_after;
            admission.leave(&owner("ann"), "a", hint);
            hint
        };
        assert_eq!(hint(None), Limits::RETRY_AFTER);
        assert_eq!(hint(Some(Duration::from_secs(9))), Duration::from_secs(2));
        assert_eq!(hint(Some(Duration::from_secs(3600))), LATEST);
    }

    #[test]
    fn a_refusal_names_the_limit_and_its_setting() {
        let refusal = Refusal { scope: AdmissionScope::Tool, calls: 3, retry_after: Duration::from_millis(1500) };
        let (message, suggestion) =
            ("call tool \"a\" was refused: the tool has 3 calls already", "try again in 1500 ms, or raise --x");
        assert_eq!(refusal.explain("a", "--x"), (message.to_owned(), suggestion.to_owned()));
        assert_eq!(refusal.to_error("a", "--x").message, format!("{message}; {suggestion}"));
        let meta = refusal.to_result("a", "--x").meta.unwrap();
        assert!(meta.as_str().contains(r#""retryable":true,"retry_after_ms":1500"#), "{}", meta.as_str());
    }
}

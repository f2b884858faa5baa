//! The processes that were asked if they take calls, because a request was given up whose handler may hold up all others:
//! a value, driven by `probing`.
//!
//! Handlers of an event loop overlap, but one that never returns to it holds up the others; so may a handler of a resource
//! where one runs at a time. A request from before the probe may hold up its answer, too, and has its time: calls wait, and
//! another process may take them, when all of these are over.

use std::collections::HashMap;

use protomcp_link::CallId;
use protomcp_types::ToolName;

use crate::dispatcher::attribution::Attribution;
use crate::generation::Generation;

/// The probes without an answer, at most one for each process.
#[derive(Debug, Default)]
pub(super) struct Probes {
    unanswered: HashMap<Generation, Probe>,
}

#[derive(Debug)]
struct Probe {
    /// The last name that was given to a request before the probe; `None` until it is sent.
    last: Option<CallId>,
    /// The first of the requests that were given up.
    given_up: GivenUp,
    /// The first of those that were given up since the probe.
    since: Option<GivenUp>,
}

/// A request that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenUp {
    pub(super) name: CallId,
    /// The tool of a call.
    pub(super) tool: Option<ToolName>,
}

impl Probes {
    /// A request was given up. Returns true if a probe is to be sent: none is under way.
    pub(super) fn begin(&mut self, generation: Generation, given_up: GivenUp) -> bool {
        let Some(probe) = self.unanswered.get_mut(&generation) else {
            self.unanswered.insert(generation, Probe { last: None, given_up, since: None });
            return true;
        };
        if given_up.name < probe.given_up.name {
            probe.given_up = given_up.clone();
        }
        if probe.since.as_ref().is_none_or(|first| given_up.name < first.name) {
            probe.since = Some(given_up);
        }
        false
    }

    /// The probe was sent after the request with this name, or with `None` has to be sent again.
    pub(super) fn set_sent(&mut self, generation: Generation, last: Option<CallId>) {
        if let Some(probe) = self.unanswered.get_mut(&generation) {
            probe.last = last;
        }
    }

    /// The process has answered. Returns the first request that was given up since: the process is to be asked again.
    pub(super) fn answered(&mut self, generation: Generation) -> Option<GivenUp> {
        self.unanswered.remove(&generation)?.since
    }

    /// A process has ended.
    pub(super) fn forget(&mut self, generation: Generation) {
        self.unanswered.remove(&generation);
    }

    /// True if calls wait for the answer of this process.
    pub(super) fn hold_calls(&self, generation: Generation, attribution: &Attribution) -> bool {
        self.unanswered
            .get(&generation)
            .is_some_and(|probe| probe.last.is_none() || !attribution.runs_before(generation, probe.last))
    }

    /// The request that was given up, if the process has not answered, and no request before the probe has its time.
    pub(super) fn culprit(&self, generation: Generation, attribution: &Attribution) -> Option<&GivenUp> {
        let probe = self.unanswered.get(&generation)?;
        (!attribution.runs_before(generation, probe.last)).then_some(&probe.given_up)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_link::CallIds;
    use protomcp_server::Context;

    use super::*;
    use crate::dispatcher::attribution::Caller;

    const FIRST: Generation = Generation::FIRST;

    fn given_up(name: CallId) -> GivenUp {
        GivenUp { name, tool: None }
    }

    #[test]
    fn one_probe_is_under_way_and_another_follows_if_needed() {
        let (mut probes, nothing_runs, ids) = (Probes::default(), Attribution::default(), CallIds::default());
        let [first, second] = [ids.next(), ids.next()];
        assert!(probes.begin(FIRST, given_up(second)));
        assert!(probes.begin(FIRST.next(), given_up(second)), "another process");
        assert!(!probes.begin(FIRST, given_up(first)));
        assert!(!probes.begin(FIRST, given_up(second)));
        assert_eq!(probes.culprit(FIRST, &nothing_runs), Some(&given_up(first)));
        assert_eq!(probes.answered(FIRST), Some(given_up(first)), "two requests were given up since");
        assert_eq!(probes.answered(FIRST), None, "its process has ended");
        assert!(probes.begin(FIRST, given_up(first)));
        assert_eq!(probes.answered(FIRST), None);
        assert_eq!(probes.culprit(FIRST, &nothing_runs), None);
        probes.forget(FIRST.next());
        assert!(probes.unanswered.is_empty());
    }

    #[test]
    fn requests_before_the_probe_have_their_time() {
        let (mut probes, mut attribution, ids) = (Probes::default(), Attribution::default(), CallIds::default());
        let [first, before, task, last, after] = [ids.next(), ids.next(), ids.next(), ids.next(), ids.next()];
        let state = |probes: &Probes, attribution: &Attribution| {
            (probes.hold_calls(FIRST, attribution), probes.culprit(FIRST, attribution).is_some())
        };
        attribution.begin(FIRST, before, Caller::of(&Context::detached()));
        attribution.begin(FIRST, task, Caller::of(&Context::detached()));
        assert_eq!(state(&probes, &attribution), (false, false), "nothing was asked");
        probes.begin(FIRST, given_up(first));
        assert_eq!(state(&probes, &attribution), (true, false), "not sent yet");
        probes.set_sent(FIRST, Some(last));
        assert_eq!(state(&probes, &attribution), (false, false), "two have their time");
        attribution.begin(FIRST, after, Caller::of(&Context::detached()));
        attribution.end(FIRST, before);
        attribution.detach(FIRST, task);
        assert_eq!(state(&probes, &attribution), (true, true), "a task has no end that calls could wait for");
        probes.set_sent(FIRST, None);
        assert_eq!(state(&probes, &attribution), (true, false), "to be sent again, behind a call that runs");
        probes.answered(FIRST);
        assert_eq!(state(&probes, &attribution), (false, false));
    }
}

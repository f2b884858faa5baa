//! The runs of a workflow as a value: the steps that can follow, and the handles of clients.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protomcp_server::{Conversation, Owner, SessionId};

/// The argument with the handle of a run.
pub(crate) const HANDLE: &str = "workflow";

/// The index of a step.
pub(crate) type Position = usize;

/// The most runs that are open. One more forgets, of the owner with the most runs, the one that was used least recently.
const RUNS_MAX: usize = 1024;

/// The steps of a workflow.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    /// The name of its tool.
    pub(crate) tool: String,
    pub(crate) is_initial: bool,
    pub(crate) next: Vec<Position>,
    pub(crate) on_error: Option<Vec<Position>>,
}

/// The caller of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) owner: Owner,
    /// Its session, if it has one.
    pub(crate) session: Option<SessionId>,
}

/// The runs of a workflow.
#[derive(Debug)]
pub(crate) struct Runs {
    plan: Plan,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    runs: HashMap<String, Run>,
    /// The last run of each session.
    sessions: HashMap<SessionId, String>,
    /// Counts uses, so that the oldest is known.
    uses: u64,
}

#[derive(Debug)]
struct Run {
    owner: Owner,
    session: Option<SessionId>,
    /// The run of the session before this one.
    earlier: Option<String>,
    /// The steps that can run.
    allowed: Vec<Position>,
    /// No step has succeeded yet, or led to the ones after its failure.
    is_new: bool,
    /// A step is running.
    is_busy: bool,
    used: u64,
}

/// The reason for which a step does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) is_retryable: bool,
}

/// The state of a run after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum After {
    /// These tools can follow.
    Next(Vec<String>),
    /// The run has ended.
    Ended,
    /// The first step has failed: there is no run.
    NotBegun,
}

impl Runs {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, state: Mutex::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.plan.name
    }

    /// Begins a step, and returns the handle of its run. [`Runs::end`] follows.
    pub(crate) fn begin(&self, step: Position, caller: &Caller, handle: Option<&str>) -> Result<String, Refusal> {
        let mut state = self.state();
        state.uses += 1;
        let used = state.uses;
        let known = handle.map(str::to_owned).or_else(|| state.sessions.get(&caller.session?).cloned());
        let is_initial = self.plan.steps[step].is_initial;
        let run = known.as_ref().and_then(|handle| state.runs.get_mut(handle)).filter(|run| run.owner == caller.owner);
        match (known, run) {
            (Some(known), Some(run)) => {
                if run.is_busy {
                    return Err(refusal("BUSY", "another step of this run is running".into(), true));
                }
                if run.allowed.contains(&step) {
                    (run.is_busy, run.used) = (true, used);
                    return Ok(known);
                }
                if !is_initial || handle.is_some() {
                    let tool = &self.plan.steps[step].tool;
                    let next = self.names(&run.allowed).join(", ");
                    return Err(refusal("WRONG_STEP", format!("{tool} cannot run now; next: {next}"), false));
                }
            }
            (Some(handle), None) if !is_initial => {
                let why = format!("there is no run {handle:?} of this workflow; begin with {}", self.first());
                return Err(refusal("UNKNOWN_RUN", why, false));
            }
            (None, _) if !is_initial => {
                let why = format!("begin with {}, and pass its handle as {:?}", self.first(), HANDLE);
                return Err(refusal("NO_RUN", why, false));
            }
            _ => {}
        }
        Self::open(&mut state, step, caller)
    }

    /// A step of this run has ended.
    pub(crate) fn end(&self, step: Position, handle: &str, has_failed: bool) -> After {
        let mut state = self.state();
        let Some(run) = state.runs.get_mut(handle) else { return After::Ended };
        run.is_busy = false;
        let Step { next, on_error, .. } = &self.plan.steps[step];
        match on_error {
            Some(steps) if has_failed => run.allowed.clone_from(steps),
            None if has_failed && run.is_new => {
                state.take_back(handle);
                return After::NotBegun;
            }
            None if has_failed => {}
            Some(_) | None => run.allowed.clone_from(next),
        }
        run.is_new = false;
        if run.allowed.is_empty() {
            state.forget(handle);
            return After::Ended;
        }
        After::Next(self.names(&state.runs[handle].allowed))
    }

    /// A step was dropped before it has ended: the same steps can run as before. A run whose first step it was is forgotten,
    /// because no client knows its handle.
    pub(crate) fn abandon(&self, handle: &str) {
        let mut state = self.state();
        match state.runs.get_mut(handle) {
            Some(run) if run.is_new => state.take_back(handle),
            Some(run) => run.is_busy = false,
            None => {}
        }
    }

    /// True if the session of a caller has a run.
    pub(crate) fn has_run(&self, caller: &Caller) -> bool {
        caller.session.is_some_and(|session| self.state().sessions.contains_key(&session))
    }

    /// Ends a run. Returns false if there is none.
    pub(crate) fn cancel(&self, caller: &Caller, handle: Option<&str>) -> bool {
        let mut state = self.state();
        let known = handle.map(str::to_owned).or_else(|| state.sessions.get(&caller.session?).cloned());
        let Some(handle) = known else { return false };
        let is_own = state.runs.get(&handle).is_some_and(|run| run.owner == caller.owner);
        if is_own {
            state.forget(&handle);
        }
        is_own
    }

    fn open(state: &mut State, step: Position, caller: &Caller) -> Result<String, Refusal> {
        let mut bits = [0; 16];
        let no_random = |error| refusal("UNAVAILABLE", format!("the system gives no random numbers: {error}"), true);
        getrandom::fill(&mut bits).map_err(no_random)?;
        let handle = format!("{:032x}", u128::from_le_bytes(bits));
        if state.runs.len() >= RUNS_MAX {
            state.forget_one();
        }
        let earlier = caller.session.and_then(|session| state.sessions.insert(session, handle.clone()));
        let run = Run {
            owner: caller.owner.clone(),
            session: caller.session,
            earlier,
            allowed: vec![step],
            is_new: true,
            is_busy: true,
            used: state.uses,
        };
        state.runs.insert(handle.clone(), run);
        Ok(handle)
    }

    fn first(&self) -> String {
        let initial = self.plan.steps.iter().filter(|step| step.is_initial);
        initial.map(|step| step.tool.as_str()).collect::<Vec<_>>().join(" or ")
    }

    fn names(&self, steps: &[Position]) -> Vec<String> {
        steps.iter().map(|step| self.plan.steps[*step].tool.clone()).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets, of the owner with the most runs, the one that was used least recently. A run with a running step stays.
    fn forget_one(&mut self) {
        let mut counts: HashMap<&Owner, usize> = HashMap::new();
        for run in self.runs.values() {
            *counts.entry(&run.owner).or_default() += 1;
        }
        let idle = self.runs.iter().filter(|(_, run)| !run.is_busy);
        let oldest = idle.min_by_key(|(_, run)| (Reverse(counts[&run.owner]), run.used));
        if let Some(oldest) = oldest.map(|(handle, _)| handle.clone()) {
            self.forget(&oldest);
        }
    }

    /// Forgets a run that has not begun. Its session has the one before again.
    fn take_back(&mut self, handle: &str) {
        let Some(run) = self.runs.get_mut(handle) else { return };
        let (session, earlier) = (run.session, run.earlier.take());
        self.forget(handle);
        if let (Some(session), Some(earlier)) = (session, earlier.filter(|earlier| self.runs.contains_key(earlier))) {
            self.sessions.entry(session).or_insert(earlier);
        }
    }

    fn forget(&mut self, handle: &str) {
        let session = self.runs.remove(handle).and_then(|run| run.session);
        if let Some(session) = session.filter(|session| self.sessions.get(session).is_some_and(|last| last == handle)) {
            self.sessions.remove(&session);
        }
    }
}

impl Caller {
    /// The caller of a call.
    pub(crate) fn of(context: &protomcp_server::Context) -> Self {
        let key = context.caller();
        let session = match key.conversation {
            Conversation::Session(session) if !context.is_stateless() && session != SessionId::DETACHED => {
                Some(session)
            }
            Conversation::Session(_) | Conversation::Connection(_) => None,
        };
        Self { owner: key.owner.clone(), session }
    }
}

fn refusal(code: &'static str, message: String, is_retryable: bool) -> Refusal {
    Refusal { code, message, is_retryable }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOOSE: Position = 0;
    const TEST: Position = 1;
    const FIX: Position = 2;
    const PUBLISH: Position = 3;

    fn runs() -> Runs {
        let step = |name: &str, is_initial, next: &[Position], on_error: Option<&[Position]>| Step {
            tool: format!("release_{name}"),
            is_initial,
            next: next.to_vec(),
            on_error: on_error.map(<[Position]>::to_vec),
        };
        let steps = vec![
            step("choose", true, &[TEST], None),
            step("test", false, &[PUBLISH], Some(&[FIX])),
            step("fix", false, &[TEST], None),
            step("publish", false, &[], None),
        ];
        Runs::new(Plan { name: "release".into(), steps })
    }

    fn caller(session: Option<u64>) -> Caller {
        Caller { owner: Owner::Local, session: session.map(SessionId::new) }
    }

    #[track_caller]
    fn run(runs: &Runs, step: Position, who: &Caller, handle: Option<&str>, fails: bool) -> (String, After) {
        let handle = runs.begin(step, who, handle).unwrap();
        let after = runs.end(step, &handle, fails);
        (handle, after)
    }

    #[test]
    fn steps_follow_each_other_without_a_session() {
        let (runs, who) = (runs(), caller(None));
        let next = |names: &[&str]| After::Next(names.iter().map(|&name| name.to_owned()).collect());
        let (handle, after) = run(&runs, CHOOSE, &who, None, false);
        assert_eq!(after, next(&["release_test"]));
        let handle = Some(handle.as_str());
        assert_eq!(runs.begin(PUBLISH, &who, handle).unwrap_err().code, "WRONG_STEP");
        assert_eq!(run(&runs, TEST, &who, handle, true).1, next(&["release_fix"]));
        assert_eq!(run(&runs, FIX, &who, handle, true).1, next(&["release_fix"]));
        assert_eq!(run(&runs, FIX, &who, handle, false).1, next(&["release_test"]));
        assert_eq!(run(&runs, TEST, &who, handle, false).1, next(&["release_publish"]));
        assert_eq!(run(&runs, PUBLISH, &who, handle, false).1, After::Ended);
        assert_eq!(runs.begin(PUBLISH, &who, handle).unwrap_err().code, "UNKNOWN_RUN");
        assert_eq!(runs.begin(TEST, &who, None).unwrap_err().code, "NO_RUN");
    }

    #[test]
    fn a_session_needs_no_handle_and_has_one_run() {
        let runs = runs();
        let (one, other) = (caller(Some(1)), caller(Some(2)));
        let (first, _) = run(&runs, CHOOSE, &one, None, false);
        assert_eq!(runs.begin(TEST, &other, None).unwrap_err().code, "NO_RUN");
        assert_eq!(run(&runs, TEST, &one, None, false).0, first);
        let (second, _) = run(&runs, CHOOSE, &one, None, false);
        assert_ne!(first, second, "the first step begins anew");
        assert!(runs.cancel(&one, None) && !runs.cancel(&one, None));
    }

    #[test]
    fn a_run_belongs_to_its_owner_and_runs_one_step() {
        let (runs, who) = (runs(), caller(None));
        let (handle, _) = run(&runs, CHOOSE, &who, None, false);
        let stranger = Caller { owner: Owner::Principal("eve".into()), session: None };
        assert_eq!(runs.begin(TEST, &stranger, Some(&handle)).unwrap_err().code, "UNKNOWN_RUN");
        assert!(!runs.cancel(&stranger, Some(&handle)));
        runs.begin(TEST, &who, Some(&handle)).unwrap();
        assert!(runs.begin(TEST, &who, Some(&handle)).unwrap_err().is_retryable);
        runs.abandon(&handle);
        runs.begin(TEST, &who, Some(&handle)).unwrap();
    }

    #[test]
    fn a_first_step_that_fails_begins_no_run() {
        let (runs, who) = (runs(), caller(Some(1)));
        let (handle, after) = run(&runs, CHOOSE, &who, None, true);
        assert_eq!((after, runs.has_run(&who)), (After::NotBegun, false));
        assert_eq!(runs.begin(TEST, &who, Some(&handle)).unwrap_err().code, "UNKNOWN_RUN");
        let handle = runs.begin(CHOOSE, &who, None).unwrap();
        runs.abandon(&handle);
        assert!(!runs.has_run(&who) && runs.state().runs.is_empty());
        let (handle, _) = run(&runs, CHOOSE, &who, None, false);
        run(&runs, CHOOSE, &who, None, true);
        assert_eq!(runs.begin(TEST, &who, None), Ok(handle), "the run before goes on");
    }

    #[test]
    fn one_owner_does_not_end_the_runs_of_another() {
        let (runs, who) = (runs(), caller(None));
        let (handle, _) = run(&runs, CHOOSE, &who, None, false);
        let many = Caller { owner: Owner::Principal("eve".into()), session: None };
        for _ in 0..RUNS_MAX {
            run(&runs, CHOOSE, &many, None, false);
        }
        runs.begin(TEST, &who, Some(&handle)).unwrap();
        assert_eq!(runs.state().runs.len(), RUNS_MAX);
    }

    #[test]
    fn open_runs_are_bounded() {
        let (runs, who) = (runs(), caller(None));
        let (oldest, _) = run(&runs, CHOOSE, &who, None, false);
        for _ in 0..RUNS_MAX {
            run(&runs, CHOOSE, &who, None, false);
        }
        assert_eq!(runs.begin(TEST, &who, Some(&oldest)).unwrap_err().code, "UNKNOWN_RUN");
        assert_eq!(runs.state().runs.len(), RUNS_MAX);
    }
}

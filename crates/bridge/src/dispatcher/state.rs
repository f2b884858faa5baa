//! The calls of all processes, behind the lock of the dispatcher. `W` wakes a waiting call.

use std::collections::HashMap;
use std::sync::Arc;

use protomcp_link::CallId;
use protomcp_server::Owner;
use protomcp_types::ToolName;
use tokio::sync::{Notify, oneshot};

use crate::clock::now;
use crate::dispatcher::attribution::Attribution;
use crate::dispatcher::open_questions::OpenQuestions;
use crate::dispatcher::probes::Probes;
use crate::dispatcher::scheduler::Scheduler;
use crate::dispatcher::window::Window;
use crate::generation::Generation;
use crate::process::tool_process::ToolProcess;

#[derive(Debug)]
pub(super) struct State<W> {
    pub(super) scheduler: Scheduler<W>,
    service: Option<Service>,
    pub(super) processes: HashMap<Generation, Arc<ToolProcess>>,
    pub(super) attribution: Attribution,
    pub(super) open_questions: OpenQuestions,
    /// The signal of each open question, sent when the question is the next to be withdrawn.
    pub(super) next_signals: HashMap<u64, Arc<Notify>>,
    /// Generations whose idleness is awaited; at most the one in service and those that retire.
    pub(super) awaited: Vec<Generation>,
    /// Given-up calls that still have a slot, with the channel for a late answer; at most one for each slot.
    pub(super) given_up: HashMap<(Generation, CallId), oneshot::Sender<()>>,
    /// Processes that were asked if they take calls.
    pub(super) probes: Probes,
}

/// The process that calls go to.
#[derive(Debug)]
struct Service {
    generation: Generation,
    /// The number of calls that it takes.
    limit: usize,
    /// Of a process whose handlers run one at a time.
    window: Option<Window>,
}

impl<W> State<W> {
    /// A state that holds calls, at most `capacity` of them.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            scheduler: Scheduler::new(capacity),
            service: None,
            processes: HashMap::new(),
            attribution: Attribution::default(),
            open_questions: OpenQuestions::default(),
            next_signals: HashMap::new(),
            awaited: Vec::new(),
            given_up: HashMap::new(),
            probes: Probes::default(),
        }
    }

    /// Sends calls to this process.
    pub(super) fn open(&mut self, process: &ToolProcess) {
        let (generation, limit) = (process.generation(), process.concurrency());
        let window = process.sdk().runs_in_turn.then(|| Window::new(limit, now()));
        self.service = Some(Service { generation, limit, window });
        self.scheduler.open(generation, limit);
        self.resize();
    }

    /// Sets the number of calls that the process in service gets now.
    pub(super) fn resize(&mut self) {
        let Some(Service { generation, limit, window }) = &mut self.service else { return };
        let limit = window.as_mut().map_or(*limit, |window| window.size(now()));
        let is_held = self.probes.hold_calls(*generation, &self.attribution);
        self.scheduler.resize(*generation, if is_held { 0 } else { limit });
    }

    /// A call has begun on this process.
    pub(super) fn began(&mut self, generation: Generation) {
        if self.scheduler.occupied(generation) == 1
            && let Some(window) = self.window_of(generation)
        {
            window.begin(now());
        }
    }

    /// A call on this process has ended.
    pub(super) fn ended(&mut self, generation: Generation) {
        if let Some(window) = self.window_of(generation) {
            window.end(now());
        }
    }

    /// A handler of this process waits for a user, or was given up.
    pub(super) fn stall(&mut self, generation: Generation) {
        if let Some(window) = self.window_of(generation) {
            window.stall();
        }
    }

    /// True if there is a process whose handlers run one at a time.
    pub(super) fn has_in_turn(&self) -> bool {
        self.processes.values().any(|process| process.sdk().runs_in_turn)
    }

    /// The number of slots of this process, if calls of others than this owner wait for one, or wait in the process for a
    /// handler of this owner.
    pub(super) fn others_want(&self, generation: Generation, owner: &Owner) -> Option<usize> {
        let is_in_turn = self.processes.get(&generation).is_some_and(|process| process.sdk().runs_in_turn);
        if is_in_turn && self.attribution.runs_for_others(generation, owner) {
            return Some(1);
        }
        self.scheduler.others_want(generation, owner)
    }

    /// The calls that wait for a slow handler, if they are many: once for each process whose handlers run one at a time.
    pub(super) fn long_queue(&mut self) -> Option<LongQueue> {
        let Service { generation, window, .. } = self.service.as_ref()?;
        let generation = window.as_ref().filter(|window| !window.is_noted()).map(|_| *generation)?;
        let tool = self.processes.get(&generation)?.running().longest()?;
        self.long_queue_behind(generation, &tool)
    }

    /// The same, for calls behind a call of this tool.
    pub(super) fn long_queue_behind(&mut self, generation: Generation, tool: &ToolName) -> Option<LongQueue> {
        let behind = self.scheduler.occupied(generation).checked_sub(1)?;
        let waiting = self.scheduler.waiting() + behind;
        let window = self.window_of(generation).filter(|window| window.has_long_queue(waiting, now()))?;
        window.mark_noted();
        Some(LongQueue { tool: tool.clone(), waiting })
    }

    /// The window of this process, if its handlers run one at a time.
    fn window_of(&mut self, generation: Generation) -> Option<&mut Window> {
        self.service.as_mut().filter(|service| service.generation == generation)?.window.as_mut()
    }
}

/// Many calls that wait for a slow handler of this tool.
pub(super) struct LongQueue {
    tool: ToolName,
    waiting: usize,
}

impl LongQueue {
    /// Says so, and how handlers overlap.
    pub(super) fn log(&self) {
        let Self { tool, waiting } = self;
        tracing::warn!(
            "{waiting} calls wait for tool \"{tool}\": the handlers of this process run one at a time. In Python, `async def` \
             overlaps, and plain handlers do with @tool(concurrent=True) or configure(concurrency=N), in threads"
        );
    }
}

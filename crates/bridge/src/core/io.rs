//! The inputs and the effects of the core.

use std::sync::Arc;

use protomcp_envelope::{LogMessage, ToolDefinition};
use protomcp_link::{Event, Middleware};
use protomcp_server::{Audience, SessionId};
use protomcp_supervisor::Exit;
use protomcp_toollist::{Command, Rejected};
use protomcp_types::ToolName;

use crate::catalog::registration::Registration;
use crate::catalog::resources_and_prompts::{Kind, Listed};
use crate::catalog::snapshot::Snapshot;
use crate::diagnostics::cause::Cause;
use crate::diagnostics::report::Report;
use crate::dispatcher::load_event::LoadEvent;
use crate::from_tool::questions::Question;
use crate::generation::Generation;

/// The way in which a changed file takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReloadMode {
    /// Calls in flight finish; later calls wait for the new code.
    #[default]
    Graceful,
    /// The new process starts immediately. The old one finishes its calls and ends.
    Swap,
    /// Calls in flight fail immediately, as retryable, and the new process starts.
    Immediate,
}

/// An input of the core.
#[derive(Debug)]
pub(crate) enum Input {
    /// Files changed, or a reload was requested.
    Changed,
    /// Files of pages changed.
    PagesChanged,
    /// A process that is being started has connected, and may take over the state of the one in service.
    Prepared(Generation),
    /// A process that was to be started takes calls.
    Started(Generation, Registration),
    /// A process that was to be started failed. It is gone, or about to be.
    StartFailed(Generation, Cause),
    /// The same, for a reason that is not in the file: there is no program or no socket, or skills are refused.
    CannotStart(Generation, Cause),
    /// A process answered the reload request and registered (perhaps the same again).
    Reloaded(Generation, Registration),
    /// A process failed to reload: it reported this (`Some`), or did not answer.
    NotReloaded(Generation, Option<String>),
    /// A process sent a new list unasked.
    Listed(Generation, Vec<ToolDefinition>),
    /// A process registered another middleware.
    Intercepts(Generation, Middleware),
    /// A process reported a change of these lists other than tools.
    Renewed(Generation, &'static [Kind]),
    /// A process has sent one of its lists other than tools, or will not (`None`).
    Catalogued(Generation, Kind, Option<Listed>),
    /// A process that took calls has ended.
    Exited(Generation, Exit),
    /// The last call in flight on this process has ended.
    Idle(Generation),
    /// A request was given up, of this tool if it is a call; its handler may keep the process from calls that wait.
    Stuck(Generation, Option<ToolName>),
    /// A change of the tool list, for one session or for all.
    Control {
        generation: Generation,
        session: Option<SessionId>,
        command: Result<Command<ToolName>, Rejected>,
        reply: Option<String>,
    },
    /// A tool sent a result that matches its output schema.
    Proven(Generation, ToolName),
    /// A session has ended.
    SessionClosed(SessionId),
    /// A process in service sent this.
    Link(Generation, Event),
    /// The deadline has passed.
    Elapsed,
}

impl From<LoadEvent> for Input {
    fn from(event: LoadEvent) -> Self {
        match event {
            LoadEvent::Idle(generation) => Self::Idle(generation),
            LoadEvent::Stuck(generation, tool) => Self::Stuck(generation, tool),
        }
    }
}

/// An effect. Effects are applied in their order.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Start this process; `Started` or `StartFailed` follows.
    Start(Generation),
    /// Stop this process, which is still starting, with all its descendants. `StartFailed` follows when all are gone,
    /// or `Started` if it took calls a moment before.
    GiveUp(Generation),
    /// Let the process that has connected take over the state of this process, which has no call in flight, or of none;
    /// `Started` or `StartFailed` follows.
    HandOver {
        /// The process in service.
        from: Option<Generation>,
    },
    /// Send the reload request; `Reloaded` or `NotReloaded` follows.
    RequestReload(Generation),
    /// Send `Idle` as soon as this process has no call in flight.
    AwaitIdle(Generation),
    /// Hold calls.
    Hold,
    /// Send calls, waiting ones first, to this process.
    ReleaseTo(Generation),
    /// Fail calls, including waiting ones, for this reason until the next release.
    Refuse(Cause),
    /// Fail the calls in flight on this process, as retryable.
    Interrupt(Generation),
    /// Stop this process gracefully, then by signals; `Exited` follows.
    Stop(Generation),
    /// Remove this process, which has ended.
    Remove(Generation),
    /// The first process takes calls.
    FirstStarted,
    /// The first process does not take calls: the lists are empty until one does.
    FirstMissing,
    /// The first process does not take calls: the bridge ends.
    FirstStartFailed,
    /// Stop this process; the calls and tasks that it still runs fail, as retryable.
    Abort(Generation),
    /// Publish this list.
    Publish(Arc<Snapshot>),
    /// Notify sessions that their tool list has changed.
    ToolsChanged(Audience),
    /// Notify sessions that resources or their templates have changed.
    ResourcesChanged(Audience),
    /// Notify sessions that prompts have changed.
    PromptsChanged(Audience),
    /// Request one of its lists from this process; `Catalogued` follows.
    RequestList(Generation, Kind),
    /// Answer a tool list control request with the active tools.
    Reply { generation: Generation, id: String, active: Vec<String> },
    /// Answer it with empty frames, for a process with two readers.
    ReplyToTwoReaders(Generation),
    /// Run this middleware, too, around calls whose turn comes later.
    AddMiddleware(Generation, Middleware),
    /// Run this middleware alone.
    SetMiddleware(Generation, Vec<Middleware>),
    /// Send a request of this process to a client.
    Ask(Generation, Question),
    /// Log a message of this process, and send it to the clients that it concerns.
    Log { generation: Generation, message: LogMessage, for_call: String },
    /// Announce the bridge to this process.
    SendBridgeInfo(Generation),
    /// A call of this process that was given up has been answered.
    AnsweredLate(Generation, String),
    /// Notify the subscribers of this resource.
    ResourceUpdated(String),
    /// Notify the client whose user has finished this URL elicitation.
    ElicitationComplete(String),
    /// Log it, and send it to the sessions.
    Report(Report),
    /// Log the calls of these processes that a reload waits for.
    ReportCalls(Vec<Generation>),
}

//! The inputs and the effects of the core.

use std::sync::Arc;

use protomcp_link::{Event, Middleware};
use protomcp_proto::{LogMessage, ToolDefinition};
use protomcp_server::{Audience, SessionId};
use protomcp_supervisor::Exit;
use protomcp_toollist::{Command, Rejected};
use protomcp_types::ToolName;

use crate::catalog::registration::Registration;
use crate::catalog::resources_and_prompts::{Kind, Listed};
use crate::catalog::snapshot::Snapshot;
use crate::diagnostics::cause::Cause;
use crate::diagnostics::report::Report;
use crate::from_tool::questions::Question;
use crate::generation::Generation;

/// The way in which a changed file takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReloadMode {
    /// Calls in flight finish; calls that arrive meanwhile wait for the new code.
    #[default]
    Graceful,
    /// The new process starts at once beside the old one, which finishes its calls and leaves.
    Swap,
    /// Calls in flight fail at once, as retryable, and the new process starts.
    Immediate,
}

/// An input of the core.
#[derive(Debug)]
pub(crate) enum Input {
    /// Files changed, or someone asked for a reload.
    Changed,
    /// A process that was to be started takes calls.
    Started(Generation, Registration),
    /// A process that was to be started will not take calls. It is gone, or on its way.
    StartFailed(Generation, Cause),
    /// A process answered the reload request and registered (perhaps the same again).
    Reloaded(Generation, Registration),
    /// A process failed to reload: it said so (`Some`), or did not answer.
    NotReloaded(Generation, Option<String>),
    /// A process sent a new list unasked.
    Listed(Generation, Vec<ToolDefinition>),
    /// A process registered one more middleware.
    Intercepts(Generation, Middleware),
    /// A process says that these of its other lists have changed.
    Renewed(Generation, &'static [Kind]),
    /// A process has answered what it has beside tools, or will not (`None`).
    Catalogued(Generation, Kind, Option<Listed>),
    /// A process that took calls has ended.
    Exited(Generation, Exit),
    /// The last call in flight on this process has ended.
    Idle(Generation),
    /// The tool list is changed, for one session or for all.
    Control {
        generation: Generation,
        session: Option<SessionId>,
        command: Result<Command<ToolName>, Rejected>,
        reply: Option<String>,
    },
    /// A tool sent a result that its output schema promises.
    Proven(Generation, ToolName),
    /// A session has ended.
    SessionClosed(SessionId),
    /// A process in service sent this.
    Link(Generation, Event),
    /// The deadline has passed.
    Elapsed,
}

/// An effect. Effects are applied in their order.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Start this process; `Started` or `StartFailed` follows.
    Start(Generation),
    /// End this process, which is still starting, and all that came from it. `StartFailed` follows when nothing of it is
    /// left, or `Started` if it took calls a moment before.
    GiveUp(Generation),
    /// Send the reload request; `Reloaded` or `NotReloaded` follows.
    AskReload(Generation),
    /// Say `Idle` as soon as this process has no call in flight.
    AwaitIdle(Generation),
    /// Let calls wait.
    Hold,
    /// Let calls, waiting ones first, go to this process.
    ReleaseTo(Generation),
    /// Fail calls, waiting ones too, for this reason until the next release.
    Refuse(Cause),
    /// Fail the calls in flight on this process, as retryable.
    Interrupt(Generation),
    /// Have this process leave politely, then less politely; `Exited` follows.
    Stop(Generation),
    /// Forget this process, which has ended.
    Remove(Generation),
    /// The first process takes calls.
    FirstStarted,
    /// The first process does not take calls: the bridge ends.
    FirstStartFailed,
    /// The same, and the calls and tasks that it still runs fail, as retryable.
    Abort(Generation),
    /// Show this list from now on.
    Publish(Arc<Snapshot>),
    /// Tell sessions that their list has changed.
    ToolsChanged(Audience),
    /// Tell sessions that resources or their templates have changed.
    ResourcesChanged(Audience),
    /// Tell sessions that prompts have changed.
    PromptsChanged(Audience),
    /// Ask this process for one of its lists; `Catalogued` follows.
    AskCatalog(Generation, Kind),
    /// Answer a tool list control request with the active tools.
    Reply { generation: Generation, id: String, active: Vec<String> },
    /// Answer it with empty frames, for a process with two readers.
    ReplyToTwoReaders(Generation),
    /// Run this middleware, too, around calls whose turn comes from now on.
    AddMiddleware(Generation, Middleware),
    /// Run this middleware alone.
    SetMiddleware(Generation, Vec<Middleware>),
    /// Send a request of this process to a client.
    Ask(Generation, Question),
    /// Write down a log message of this process, and send it to the clients that it concerns.
    Log { generation: Generation, message: LogMessage, for_call: String },
    /// Tell this process about the bridge.
    SendBridgeInfo(Generation),
    /// A call of this process that was given up has been answered.
    AnsweredLate(Generation, String),
    /// Notify the subscribers of this resource.
    ResourceUpdated(String),
    /// Notify the client whose user has finished this URL elicitation.
    ElicitationComplete(String),
    /// Write it to the log and tell the sessions.
    Report(Report),
    /// Write to the log which calls of these processes a reload waits for.
    NameCalls(Vec<Generation>),
}

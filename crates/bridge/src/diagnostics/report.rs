//! Reports on the tool process, for our log and for clients.

use std::fmt;
use std::time::Duration;

use protomcp_supervisor::Exit;
use protomcp_types::{Level, ToolName};

use crate::diagnostics::cause::Cause;
use crate::generation::Generation;
use crate::process::running_calls::Calls;

/// A report.
#[derive(Debug, Clone)]
pub(crate) enum Report {
    /// New code is in service.
    Reloaded {
        /// The process that serves it.
        generation: Generation,
        /// The process itself re-read its files.
        in_place: bool,
    },
    /// The first version did not start; the lists are empty until the files change.
    NotStarted {
        /// The reason.
        why: Cause,
    },
    /// The new code is not in service; the previous version still is.
    ReloadFailed {
        /// The reason.
        why: Cause,
    },
    /// A change waits for the end of the reload under way.
    ReloadWaits,
    /// A version is still starting, and the files have changed again.
    StartGivenUp {
        /// The process that was starting.
        generation: Generation,
    },
    /// Calls did not end in time for a graceful reload, which continues while they run.
    NotDrained {
        /// The time that it has waited.
        after: Duration,
    },
    /// Calls did not end in time for the state of their process to be handed over to the next one.
    NotHandedOver {
        /// The time that new calls have waited for them.
        after: Duration,
    },
    /// A reload waits for calls.
    WaitsForCalls {
        /// Those calls, of all clients; none while processes of earlier versions end.
        calls: Calls,
    },
    /// Tasks of an earlier version lasted longer than a call may, and a reload needed the slot of their process.
    TasksAborted {
        /// The time since that version was replaced.
        after: Duration,
    },
    /// The handler of a request that was given up may not end, and calls wait for it: a new process takes them.
    Stuck {
        /// The tool, if the request is a call.
        tool: Option<ToolName>,
    },
    /// The process ended by itself.
    Crashed {
        /// The exit, and the last lines.
        exit: Exit,
    },
    /// It will be started again.
    RestartIn {
        /// After this pause.
        pause: Duration,
    },
    /// It was restarted and takes calls.
    Restarted {
        /// The new process.
        generation: Generation,
    },
    /// The restart failed.
    RestartFailed {
        /// The reason.
        why: Cause,
    },
    /// It failed too often in a row and is not restarted until the files change.
    GaveUp {
        /// The number of failures.
        failures: u32,
    },
    /// A change of the tool list contradicted itself and was not applied.
    ControlRejected {
        /// The reason.
        why: String,
    },
    /// A handler changed the tool list, and its SDK cannot receive the new one inside a handler.
    ListNotReceived,
    /// A definition of the process is invalid.
    Definition(String),
    /// The same, for a definition other than a tool.
    Catalog(String),
}

impl Report {
    /// The severity.
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::Reloaded { .. }
            | Self::Restarted { .. }
            | Self::RestartIn { .. }
            | Self::ReloadWaits
            | Self::WaitsForCalls { .. } => Level::Info,
            Self::StartGivenUp { .. }
            | Self::NotDrained { .. }
            | Self::NotHandedOver { .. }
            | Self::TasksAborted { .. }
            | Self::Stuck { .. }
            | Self::ControlRejected { .. }
            | Self::ListNotReceived
            | Self::Definition(_)
            | Self::Catalog(_) => Level::Warning,
            Self::NotStarted { .. }
            | Self::ReloadFailed { .. }
            | Self::Crashed { .. }
            | Self::RestartFailed { .. }
            | Self::GaveUp { .. } => Level::Error,
        }
    }
}

impl Report {
    /// The text for clients, if it is for them. `one_owner`: all clients are one owner, so that it may quote the
    /// process.
    ///
    /// The last lines of a process that has crashed are never sent to all: they may be about any of its calls.
    pub(crate) fn for_clients(&self, one_owner: bool) -> Option<String> {
        match self {
            Self::Crashed { exit } => Some(Cause::exited(exit, "").summary().to_owned()),
            Self::NotStarted { why } => Some(not_started(&why.text(one_owner))),
            Self::ReloadFailed { why } => Some(reload_failed(&why.text(one_owner))),
            Self::RestartFailed { why } => Some(restart_failed(&why.text(one_owner))),
            // It concerns the author alone.
            Self::ListNotReceived | Self::NotHandedOver { .. } => None,
            Self::ControlRejected { .. } | Self::Definition(_) | Self::Catalog(_) if !one_owner => None,
            Self::Stuck { .. } if !one_owner => {
                Some("calls wait since a request was given up; a new tool process starts".into())
            }
            // Those calls may be of another session.
            Self::WaitsForCalls { calls } if !calls.is_empty() => {
                Some("the files changed; the reload waits for running calls".into())
            }
            other => Some(other.to_string()),
        }
    }
}

impl Report {
    /// The text for the author's log, without the last lines of a process if the log has them already.
    pub(crate) fn for_log(&self, has_lines: bool) -> String {
        match self {
            Self::Crashed { exit } if has_lines => Cause::exited(exit, "").without_lines(),
            Self::NotStarted { why } if has_lines => not_started(&why.without_lines()),
            Self::ReloadFailed { why } if has_lines => reload_failed(&why.without_lines()),
            Self::RestartFailed { why } if has_lines => restart_failed(&why.without_lines()),
            other => other.to_string(),
        }
    }
}

/// In full.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reloaded { generation, in_place: true } => write!(f, "reloaded in place (generation {generation})"),
            Self::Reloaded { generation, in_place: false } => write!(f, "reloaded (generation {generation})"),
            Self::NotStarted { why } => f.write_str(&not_started(&why.to_string())),
            Self::ReloadFailed { why } => f.write_str(&reload_failed(&why.to_string())),
            Self::ReloadWaits => f.write_str("the files changed again; the reload waits for the one under way"),
            Self::StartGivenUp { generation } => write!(
                f,
                "the files changed again while the version before was still starting; it is ended, and the new one starts \
                 (generation {generation} never took calls)"
            ),
            Self::NotDrained { after } => write!(
                f,
                "calls are still running {after:?} after the files changed; the new version starts while they run"
            ),
            Self::NotHandedOver { after } => write!(
                f,
                "calls are still running {after:?} after the new version was ready; it starts without the state of the \
                 version before"
            ),
            Self::WaitsForCalls { calls } if calls.is_empty() => {
                f.write_str("the files changed; the reload waits until a process of an earlier version has ended")
            }
            Self::WaitsForCalls { calls } => {
                write!(f, "the files changed; the reload waits for running calls: {calls}")
            }
            Self::TasksAborted { after } => write!(
                f,
                "cancelled tasks still running on an earlier version {after:?} after it was replaced, so the reload can \
                 proceed"
            ),
            Self::Stuck { tool: Some(tool) } => write!(
                f,
                "calls wait since one of tool {tool:?} was given up, whose handler may still run; a new tool process starts, \
                 and the one before is stopped"
            ),
            Self::Stuck { tool: None } => f.write_str(
                "calls wait since another request was given up, whose handler may still run; a new tool process starts, and \
                 the one before is stopped",
            ),
            Self::Crashed { exit } => Cause::exited(exit, "").fmt(f),
            Self::RestartIn { pause } => write!(f, "restarting the tool process in {pause:?}"),
            Self::Restarted { generation } => write!(f, "the tool process is back (generation {generation})"),
            Self::RestartFailed { why } => f.write_str(&restart_failed(&why.to_string())),
            Self::GaveUp { failures } => write!(
                f,
                "giving up: the tool process failed {failures} times in a row; a reload starts it again (save the file under \
                 `dev`, or send SIGHUP)"
            ),
            Self::ControlRejected { why } => write!(f, "a change of the tool list was not applied: {why}"),
            Self::ListNotReceived => f.write_str(
                "this version of the Python SDK cannot receive the list of active tools inside a handler: the change is \
                 made, and the handler's own copy of the list is empty",
            ),
            Self::Definition(fault) | Self::Catalog(fault) => f.write_str(fault),
        }
    }
}

/// An empty list, and its reason.
pub(crate) fn not_started(why: &str) -> String {
    format!("no tools until the next save: {why}")
}

fn reload_failed(why: &str) -> String {
    format!("reload failed, still serving the previous version: {why}")
}

fn restart_failed(why: &str) -> String {
    format!("restarting the tool process failed: {why}")
}

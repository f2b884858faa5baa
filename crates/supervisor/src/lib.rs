//! Starts a process, stops it gracefully, and leaves no orphan. Knows nothing of MCP.
//!
//! # Theory of operation
//!
//! [`Process::spawn`] starts a [`Command`] and returns a [`Process`] to control it and a stream of [`Event`]s: its
//! start, the lines it writes, and its end. Between the two runs a task, the driver, which makes no decisions:
//! [`Lifecycle`] is a value that maps inputs to effects, with the time as an argument.
//!
//! A process is stopped in three steps ([`StopPolicy`]): its link is closed, then SIGTERM is sent to its process group,
//! then SIGKILL to all of its descendants. Dropping the [`Process`] sends SIGKILL at once, without a runtime.
//!
//! On Linux a [`guardian`](mod@guardian) is the parent of the process, so that all of it dies even when the bridge is
//! killed with SIGKILL. To enable it, a program calls [`guardian::run_if_requested`] first in its `main`, or names
//! another program that does ([`Guardian`]).
//!
//! [`Restart`], also a value, decides when to start again after a crash. A restart is a new [`Process`], and during a
//! swap two of them run side by side without affecting each other.
//!
//! ```no_run
//! use protomcp_supervisor::{Command, Event, Process, StopPolicy};
//!
//! # async fn run() -> Result<(), protomcp_supervisor::SpawnError> {
//! let command = Command::new("python3").arg("tools.py");
//! let (process, mut events) = Process::spawn(&command, StopPolicy::default()).await?;
//! while let Some(event) = events.recv().await {
//!     match event {
//!         Event::Started { pid } => eprintln!("runs as {pid}"),
//!         Event::Line { stream, text } => eprintln!("{stream}: {text}"),
//!         Event::CloseLink => {}
//!         Event::Exited(exit) => eprintln!("it {exit} after {:?}", exit.uptime),
//!     }
//! }
//! # drop(process);
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! A line is cut at [`MAX_LINE`] bytes. Unread lines are queued up to [`MAX_BACKLOG`] bytes; further ones are counted,
//! and a notice in their place gives the number. A slow reader never blocks the process.

#[cfg(not(unix))]
compile_error!("protomcp-supervisor needs process groups and signals, which only unix systems have");

mod backlog;
mod command;
mod direct_child;
mod driver;
mod error;
mod event;
mod exit;
#[cfg(all(fuzzing, target_os = "linux"))]
pub mod fuzzing;
pub mod guardian;
#[cfg(target_os = "linux")]
mod guardian_child;
mod kill_handle;
mod launch;
mod lifecycle;
mod lines;
pub mod open_files;
mod os;
mod output;
mod output_collector;
mod policy;
mod process;
mod restart;
mod started;
mod tail;

pub use backlog::MAX_BACKLOG;
pub use command::{Command, Guardian};
pub use error::SpawnError;
pub use event::{Event, Stream};
pub use exit::{Exit, Status};
pub use lifecycle::{Effect, Input, Lifecycle, Notice};
pub use lines::MAX_LINE;
pub use policy::StopPolicy;
pub use process::{Prepared, Process};
pub use restart::{Backoff, Next, Restart};
pub use tail::STDERR_TAIL_LINES;

//! Starts one process politely, ends it politely, and leaves no orphan. Knows nothing of MCP.
//!
//! # How it works
//!
//! [`Process::spawn`] starts a [`Command`] and hands back a [`Process`] to steer it with and a stream of [`Event`]s:
//! its start, the lines it writes, and how it ended. Between the two sits a task of ours, the driver, which decides
//! nothing: every decision is made by [`Lifecycle`], a value that is told what happened and answers with what to do,
//! with the time as an argument.
//!
//! A process ends by a ladder ([`StopPolicy`]): its link is closed, then SIGTERM goes to its process group, then SIGKILL
//! to everything that came from it. Dropping the [`Process`] goes straight to the last rung, without a runtime.
//!
//! On Linux a [`guardian`](mod@guardian) stands between us and the process, so that all of it dies even when we are
//! killed with SIGKILL. A program that wants that calls [`guardian::run_if_requested`] first thing in its `main`, or
//! names another program that does ([`Guardian`]).
//!
//! When to start again after a crash is [`Restart`]'s question, also a value; a restart is a new [`Process`], and
//! during a swap two of them live side by side without touching each other.
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
//! A line is cut at [`MAX_LINE`] bytes. Lines that nobody reads wait up to [`MAX_BACKLOG`] bytes; further ones are
//! counted, and a line in their place tells the number. The process itself is never held up by a slow reader.

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
pub use process::Process;
pub use restart::{Backoff, Next, Restart};
pub use tail::STDERR_TAIL_LINES;

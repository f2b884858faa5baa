#![doc = include_str!("../README.md")]

#[cfg(not(unix))]
compile_error!("protomcp-supervisor needs process groups and signals, which only unix systems have");

pub mod allocator;
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
mod pipes;
mod policy;
mod process;
mod restart;
mod started;
mod stderr_handler;
mod tail;
mod working_directory;

pub use backlog::MAX_BACKLOG;
pub use command::{Command, Guardian};
pub use error::SpawnError;
pub use event::{Event, Stream};
pub use exit::{Exit, Status};
pub use lifecycle::{Effect, Input, Lifecycle, Notice};
pub use lines::MAX_LINE;
pub use pipes::Pipes;
pub use policy::StopPolicy;
pub use process::{Prepared, Process};
pub use restart::{Backoff, Next, Restart};
pub use stderr_handler::StderrHandler;
pub use tail::STDERR_TAIL_LINES;

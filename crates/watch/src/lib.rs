//! File changes below a directory, filtered and debounced, as batches.
//!
//! `pmcp dev tools.py` has to know when the author saved something that matters, soon and once. [`Watcher::spawn`] takes
//! a [`Watch`] (which directory, which files, how patient) and hands back a channel of [`Batch`]es. What "matters" is
//! decided by [`Filter`], what "once" means by [`Debounce`]; both are values without I/O.
//!
//! How a save travels:
//!
//! ```text
//! system notification ──> native  (kind of event: did something change?)  ┐
//!                                                                         ├─> tree ──> debounce ──> channel of batches
//! timer, when polling ───────────────────────────────────────────────────┘   (what is on disk now, what was known)
//! ```
//!
//! - The tree remembers every wanted file with its time, length and identity. So a directory that is moved away counts as
//!   the loss of the files in it, a file that was there before its directory could be watched is found, `touch` counts
//!   and `chmod` does not, and polling is the same code without notifications.
//! - Every directory is watched by itself. Ignored ones (`node_modules`, `.git`, what `.gitignore` names, and what lies in a
//!   Python virtual environment) are not watched at all, because the number of watches is a limit shared by all programs of the user.
//! - If the system refuses watches, the watcher polls and [`Watcher::backend`] says why. On file systems that are shared
//!   with other machines it does both, since their changes raise no notification here.
//! - Symbolic links to directories are not followed; those to the entry file are, link by link.
//!
//! ```no_run
//! use protomcp_watch::{Watch, Watcher};
//!
//! # async fn example() -> Result<(), protomcp_watch::WatchError> {
//! let (_watcher, mut batches) = Watcher::spawn(Watch::file("tools.py"))?;
//! while let Some(batch) = batches.recv().await {
//!     println!("changed: {:?}", batch.paths);
//! }
//! # Ok(())
//! # }
//! ```

mod debounce;
mod disk;
mod driver;
mod error;
mod filter;
mod native;
mod remote;
mod rules;
mod tree;
mod watch;
mod watcher;

pub use debounce::{Batch, Debounce, MAX_PATHS};
pub use error::WatchError;
pub use filter::Filter;
pub use tree::{MAX_DIRECTORIES, MAX_FILES};
pub use watch::{DEFAULT_AT_MOST, DEFAULT_POLL, DEFAULT_QUIET, Watch};
pub use watcher::{Backend, Watcher};

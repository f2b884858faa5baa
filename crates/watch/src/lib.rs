//! File changes below a directory, filtered and debounced, as batches.
//!
//! `pmcp dev tools.py` needs to know soon, and once, that the author saved a relevant file. [`Watcher::spawn`] takes a
//! [`Watch`] (the directory, its files, the delays) and returns a channel of [`Batch`]es. [`Filter`] selects the
//! relevant files, [`Debounce`] merges changes; both are values without I/O.
//!
//! The path of a save:
//!
//! ```text
//! system notification ──> native  (kind of event: did something change?)  ┐
//!                                                                         ├─> tree ──> debounce ──> channel of batches
//! timer, when polling ───────────────────────────────────────────────────┘   (what is on disk now, what was known)
//! ```
//!
//! - The tree remembers every selected file with its time, length and identity. So a directory that is moved away
//!   counts as the loss of its files, a file that was created before its directory could be watched is found, `touch`
//!   counts and `chmod` does not, and polling is the same code without notifications.
//! - Every directory is watched separately. Ignored ones (`node_modules`, `.git`, entries of `.gitignore`, and Python
//!   virtual environments) are not watched at all, because the number of watches is a limit shared by all programs of
//!   the user.
//! - If the system refuses watches, the watcher polls and [`Watcher::backend`] gives the reason. File systems shared
//!   with other machines are watched and polled, since remote changes raise no notification.
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
pub use watch::{DEFAULT_DEBOUNCE, DEFAULT_MAX_DELAY, DEFAULT_POLL, Watch};
pub use watcher::{Backend, Watcher};

//! Skills in folders on a disk.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bounds;
mod folders;
mod hostile;
mod reloads;
mod scene;
mod serving;

//! A gateway between our client and our server, in both eras of each.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod calls;
mod changes;
mod eras;
mod interposed;
mod isolation;
mod lists;
mod outages;
mod owed;
mod processes;
mod questions;
mod reloads;
mod sessions;
mod stage;
mod tasks;
mod turns;
mod visits;

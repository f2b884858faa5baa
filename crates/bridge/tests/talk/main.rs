//! A bridge between simulated clients and a simulated tool process, and the messages of each.
//!
//! The tool process that the bridge starts does nothing; the test connects to the socket in its place.

#![allow(clippy::unwrap_used, missing_docs)]

mod announced;
mod arguments;
mod catalog;
mod early;
mod fairness;
mod handover;
mod hiding;
mod hostile;
mod in_turn;
mod logs;
mod middleware;
mod overlapping;
mod privacy;
mod questions;
mod reload;
mod rounds;
mod run;
mod skills;
mod stage;
mod tasks;
mod tasks_without_session;
mod tool;
mod turns;

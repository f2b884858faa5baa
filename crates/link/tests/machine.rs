//! The machine, driven with made-up time and without a socket.
//!
//! [`talk`] plays the tool process by hand, frame by frame; [`pair`] joins two machines over a pipe that splits and
//! delays, and [`world`] lives random lives. Expectations are transcripts: what was written and what happened, one line each.

mod calls;
mod closing;
mod end;
mod handshake;
mod liveness;
mod operations;
mod pair;
mod pieces;
mod properties;
mod refused;
mod replies;
mod reports;
pub(crate) mod talk;
mod tool_side;
mod two_readers;
mod world;

//! The driver over real byte streams: in memory with paused time, and over unix sockets.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod calls;
mod ending;
mod large;
mod peer;
mod pressure;

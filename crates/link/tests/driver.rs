//! The driver over real byte streams: in memory with paused time, and over unix sockets.

mod calls;
mod ending;
mod large;
mod peer;
mod pressure;

//! The client's machine by itself, as transcripts: without a transport, and with a made-up time.

mod asked;
mod calls;
mod listening;
mod lost_sessions;
mod opening;
mod rounds;
mod tasks;
mod torture;
mod wire;

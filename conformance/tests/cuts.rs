//! The server is killed, or the connection is cut, at every point of a call: the caller gets an answer or an error within
//! the deadline, and no task and no process is left.
//!
//! Each run opens a session, makes one call and closes the session, in its own runtime whose tasks are counted. A first
//! run without a cut counts the bytes of both directions; the following ones are cut after each number of bytes. The
//! short tier leaves bytes out in the middle of what was sent in one piece; the long one has every byte, in every way.

mod call;
mod commands;
mod http;
mod memory;
mod messages;
mod relay;
mod sweep;

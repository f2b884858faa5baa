//! One authorization as a value, against an authorization server written as a table: each test compares the transcript.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod discovery;
mod dpop;
mod grants;
mod refresh;
mod registration;
mod scopes;
mod sign_in;
mod world;

//! One authorization as a value, against an authorization server written as a table: each test compares the transcript.

mod discovery;
mod dpop;
mod grants;
mod imprecise;
mod refresh;
mod registration;
mod scopes;
mod sign_in;
mod world;

//! Registries, as clients see them. `host` is the client.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod events;
mod groups;
mod host;
mod layers;
mod lists;
mod outputs;
mod prompts;
mod resources;
mod selections;
mod signatures;
mod tasks;
mod tasks_without_session;
mod validation;

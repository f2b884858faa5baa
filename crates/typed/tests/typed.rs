//! Registries, as clients see them. `host` is the client.

mod events;
mod groups;
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

//! Messages that the tool process sends on its own: tool list control, log messages, and requests to clients.

pub(crate) mod inline_events;
pub(crate) mod list_control;
mod log_rate;
pub(crate) mod question_groups;
pub(crate) mod questions;
mod tool_log;
mod url_elicitations;

//! The definitions of a tool process, checked and ready to be listed: tools, resources, resource templates and prompts.

pub(crate) mod arguments;
pub(crate) mod definition;
pub(crate) mod faults;
pub(crate) mod published;
pub(crate) mod registered_tool;
pub(crate) mod registration;
pub(crate) mod resources_and_prompts;
pub(crate) mod schema;
pub(crate) mod snapshot;
pub(crate) mod tool;

//! The handlers that the official conformance suite and the published clients ask for, written as any author would write
//! them: every tool, prompt, resource and completion, from plain functions. `everything_server` serves them as an MCP
//! server, `everything_tool` as a tool process of a bridge.

mod asking;
mod clients;
mod content;
mod plain;
mod prompts;
mod resources;
mod rounds;
mod tasks;

use protomcp_typed::{DefinitionError, Registry};

/// All handlers, with this many entries on a page of a list.
///
/// # Errors
/// The first fault of a definition.
pub fn everything(page: usize) -> Result<Registry, DefinitionError> {
    let builder = clients::add(Registry::builder("everything", env!("CARGO_PKG_VERSION")).page_size(page));
    let builder = tasks::add(rounds::add(prompts::add(resources::add(asking::add(plain::add(builder))))));
    let registry = builder.build()?;
    plain::add_triggers(&registry)?;
    clients::add_triggers(&registry)?;
    Ok(registry)
}

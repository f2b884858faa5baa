//! MCP servers from plain async functions.
//!
//! A [`Registry`] holds what a server offers; a [`Tool`] is a name, a description and a function. Schemas are inferred
//! from the types of the function, calls are checked against them before the function runs, and what does not fit comes
//! back to the model as a message that it can act on:
//!
//! ```
//! use protomcp_server::Context;
//! use protomcp_transport::memory;
//! use protomcp_typed::{Json, JsonSchema, Registry, Tool, ToolError, property};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Divide {
//!     dividend: f64,
//!     divisor: f64,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Quotient {
//!     quotient: f64,
//! }
//!
//! async fn divide(args: Divide) -> Result<Json<Quotient>, ToolError> {
//!     if args.divisor == 0.0 {
//!         return Err(ToolError::new("division by zero").with_suggestion("choose another divisor"));
//!     }
//!     Ok(Json(Quotient { quotient: args.dividend / args.divisor }))
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let registry = Registry::builder("calculator", "1.0")
//!     .tool(Tool::new("divide", "Divide two numbers").handler(divide).read_only())
//!     .tool(Tool::new("whoami", "Who is calling").handler(async |context: Context| context.client().name.clone()))
//!     .build()?;
//! let (host, ours) = memory::pair();
//! # drop(host);
//! registry.server().serve(ours).await.unwrap();
//! # Ok::<_, protomcp_typed::DefinitionError>(())
//! # }).unwrap();
//! ```
//!
//! `derive(JsonSchema)` needs the crate `schemars`, version 1, among your own dependencies, or `use protomcp_typed::schemars`
//! in sight.
//!
//! [`Prompt`], [`Resource`] and [`Template`] are made in the same way; the arguments of prompts and the variables of URI
//! templates are completed from their types, from the listed resources, or by a function.
//!
//! This crate knows nothing of connections and processes: a registry is a [`protomcp_server::Handler`], and everything
//! that serves handlers serves it.

mod argument;
mod builder;
mod collection;
mod completion;
mod contents;
mod definition;
mod failure;
mod function;
mod json;
mod prompt;
mod registry;
mod resource;
mod schema;
mod setters;
mod template;
mod text;
mod tool;

pub use argument::{Argument, argument};
pub use builder::{Builder, Capability};
pub use collection::{Collection, Define};
pub use completion::{CompletionContext, CompletionFn, IntoCompletion};
pub use contents::{IntoContents, ResourceRequest};
pub use definition::DefinitionError;
pub use function::HandlerFn;
pub use json::{Json, Verbatim};
pub use prompt::{IntoPromptResult, Prompt, PromptBuilder};
pub use protomcp_schema::{ERROR_META, PAGE_SIZE};
pub use registry::Registry;
pub use resource::{Resource, ResourceBuilder};
pub use schema::edit::{SchemaPatch, property, root};
pub use schemars::{self, JsonSchema};
pub use template::{Template, TemplateBuilder};
pub use tool::error::ToolError;
pub use tool::output::IntoToolResult;
pub use tool::service::ToolService;
pub use tool::{Tool, ToolBuilder, UnknownKeys};

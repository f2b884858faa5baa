#![doc = include_str!("../README.md")]

mod argument;
mod builder;
mod collection;
mod completion;
mod contents;
mod definition;
mod failure;
mod function;
mod group;
mod json;
mod prompt;
mod registry;
mod resource;
mod saved_selection;
mod schema;
mod selections;
mod setters;
mod template;
mod text;
mod tool;
mod tool_selection;
mod workflow;

pub use argument::{Argument, argument};
pub use builder::{Builder, Capability};
pub use collection::{Collection, Define};
pub use completion::{CompletionContext, CompletionFn, IntoCompletion};
pub use contents::{IntoContents, ResourceRequest};
pub use definition::DefinitionError;
pub use function::HandlerFn;
pub use group::Group;
pub use json::{Json, Verbatim};
pub use prompt::{IntoPromptResult, Prompt, PromptBuilder};
pub use protomcp_schema::{ERROR_META, PAGE_SIZE};
#[doc(no_inline)]
pub use protomcp_toollist::{Batch as ToolBatch, Command as ToolChange, Policy as SelectionPolicy, Rejected};
pub use registry::Registry;
pub use resource::{Resource, ResourceBuilder};
pub use schema::edit::{SchemaPatch, property, root};
pub use schemars::{self, JsonSchema};
pub use template::{Template, TemplateBuilder};
pub use tool::error::{TaskError, ToolError};
pub use tool::output::IntoToolResult;
pub use tool::service::ToolService;
pub use tool::{Tool, ToolBuilder, UnknownKeys};
pub use tool_selection::{SelectionError, ToolSelection};
pub use workflow::{Step, Workflow};

#![doc = include_str!("../README.md")]

mod any;
pub mod message;
mod schemas;

pub use any::Any;
pub use schemas::{Converted, MessageNames, SchemaError, ToolMessages, ToolSchemas, Unresolved, Violation};

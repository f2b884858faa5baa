#![doc = include_str!("../README.md")]

mod any;
pub mod code;
mod fault;
mod frame;
mod limits;
pub mod message;
mod reference;
mod schemas;
mod shape;

pub use any::Any;
pub use fault::Fault;
pub use frame::{Decoder, FrameTooLarge, Unreadable, UnreadableKind, encode, encode_with};
pub use limits::FrameLimits;
pub use reference::Numbering;
pub use schemas::{Converted, MessageNames, SchemaError, ToolMessages, ToolSchemas, Unresolved, Violation};

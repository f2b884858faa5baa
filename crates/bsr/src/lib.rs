#![doc = include_str!("../README.md")]

mod reference;

pub use reference::{
    FullName, Host, MAX_FULL_NAME, MAX_LABEL, MAX_MODULE, MAX_OWNER, Module, ReferenceError, SchemaRef, Strictness,
    Version,
};

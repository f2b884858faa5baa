#![doc = include_str!("../README.md")]

mod call;
mod client;
mod codec;
mod deadline;
mod descriptors;
mod health;
mod method;
mod reflection;
mod reserved_body;
mod respond;
mod service;
mod services;
mod status;
mod streams;
mod whole;

pub use client::{GrpcServer, InvalidTarget};
pub use service::GrpcService;

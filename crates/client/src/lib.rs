#![doc = include_str!("../README.md")]

mod cache;
mod catch_unwind;
mod client;
mod command;
mod defaults;
mod driver;
mod handlers;
mod mirror;
mod notices;
mod pages;
mod questions;
mod registry;
mod request;
mod roots;
mod server_context;
mod session;
mod settings;
mod shared;
mod tool_fields;
mod typed_call;

pub use client::Client;
pub use handlers::{ListChanged, LogMessage};
pub use pages::{MAX_PAGES, Page};
#[doc(no_inline)]
pub use protomcp_session::{
    ClientLimits, CloseReason, Mode, NoAnswer, OpenError, Pings, RequestError, ServerView, TaskNotice,
};
pub use request::Request;
pub use server_context::ServerContext;
pub use session::ClientSession;
pub use typed_call::{CallError, TypedCall};

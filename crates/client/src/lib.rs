#![doc = include_str!("../README.md")]

mod cache;
mod client;
mod command;
#[cfg(feature = "command")]
mod command_transport;
mod defaults;
mod driver;
mod erased_service;
mod handlers;
mod mirror;
mod notices;
mod pages;
mod questions;
mod reconnection;
mod registry;
mod request;
mod roots;
mod session;
mod settings;
mod shared;
mod subscribing;
mod tool_fields;
mod typed_call;

pub use client::Client;
#[cfg(feature = "command")]
pub use command_transport::{CommandTransport, Running, SpawnedError};
pub use erased_service::LayeredService;
pub use handlers::{ListChanged, LogMessage};
pub use pages::Page;
#[doc(no_inline)]
pub use protomcp_session::{
    ClientLimits, CloseReason, Cursors, EndlessList, MAX_PAGES, Mode, NextPage, NoAnswer, OpenError, Pings,
    RequestError, ServerQuestion, ServerRequest, ServerView, TaskNotice,
};
#[cfg(feature = "command")]
#[doc(no_inline)]
pub use protomcp_supervisor::{Backoff, Command, Guardian, SpawnError, StopPolicy, guardian};
pub use reconnection::ServerEnd;
pub use request::{ClientRequest, Forwarded, Request, RequestService};
pub use session::{ClientSession, ServerContext, WeakClientSession};
pub use typed_call::{CallError, TypedCall};

#![doc = include_str!("../README.md")]

mod capabilities;
mod contents;
mod described;
mod environment;
mod era;
mod failure;
mod gateway;
mod health;
mod holders;
mod identity;
mod inner;
mod interner;
mod known;
mod limits;
mod list;
mod listing;
mod notices;
mod opening;
mod owed_lists;
mod pool;
mod questions;
mod reach;
mod relay;
mod reload;
mod reloading;
mod running;
mod service;
mod tools;
mod translate;
mod upstream;
mod upstream_session;
mod web_pages;

pub use era::Era;
pub use gateway::{Builder, Gateway, GatewayError};
pub use limits::GatewayLimits;
#[doc(no_inline)]
pub use protomcp_client::Mode;
#[doc(no_inline)]
pub use protomcp_watch::{Filter, Watch};
pub use upstream::{ConnectError, Sharing, Upstream};

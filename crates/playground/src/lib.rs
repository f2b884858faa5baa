#![doc = include_str!("../README.md")]

mod api;
mod assets;
mod body;
mod calls;
mod export;
mod host_views;
mod journal;
mod requests;
mod ring;
mod service;
mod token;
mod websocket;

pub use calls::Calls;
pub use host_views::HostViews;
pub use journal::Journal;
pub use service::{Playground, Reload};
pub use token::{NoToken, Token};

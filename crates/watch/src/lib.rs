#![doc = include_str!("../README.md")]

mod command;
mod debounce;
mod disk;
mod driver;
mod error;
mod filter;
mod inbox;
mod native;
mod pace;
mod remote;
mod retiring;
mod rules;
mod shared;
mod tree;
mod watch;
mod watcher;

pub use debounce::{Batch, Debounce, MAX_PATHS};
pub use error::WatchError;
pub use filter::Filter;
pub use pace::Pace;
pub use retiring::Retiring;
pub use tree::{MAX_DIRECTORIES, MAX_FILES};
pub use watch::{DEFAULT_DEBOUNCE, DEFAULT_MAX_DELAY, DEFAULT_POLL, Watch};
pub use watcher::{Backend, Watcher};

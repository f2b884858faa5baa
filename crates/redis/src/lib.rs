#![doc = include_str!("../README.md")]

mod connect_error;
mod connection;
mod events;
mod failed_openings;
mod held_sessions;
mod keys;
mod leases;
mod link;
mod notice_queue;
mod notices;
mod script;
mod seal;
mod session_record;
mod silence;
mod stores;
mod stream_record;
mod subscription;
mod task_queue;
mod task_writes;
mod tasks;
mod url;
mod writes;

pub use connect_error::ConnectError;
pub use events::RedisEvents;
pub use leases::RedisLeases;
pub use notices::RedisNotices;
pub use seal::SealingKeys;
pub use stores::{RedisStores, StoreOptions};
pub use tasks::RedisTasks;
pub use url::{StoreUrl, StoreUrlError};

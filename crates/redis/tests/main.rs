//! The stores over a real `redis-server`.

mod cluster;
mod connecting;
mod contracts;
mod failures;
mod notices;
mod privacy;
mod sentinel;
mod server;
mod sharing;
mod tasks;
mod tls;

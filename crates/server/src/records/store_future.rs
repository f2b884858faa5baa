//! The future of a store's answer.

use std::future::Future;
use std::pin::Pin;

/// The answer of a store, which may have to ask another process for it. A server that stops, or whose client has gone,
/// may drop it before it is ready.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

//! The resource server beside an authorization server on a real socket.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod introspection;
mod issuer;
mod keys;
mod resource;

//! The resource server with an authorization server on a real socket.

mod introspection;
mod issuer;
mod keys;
mod resource;

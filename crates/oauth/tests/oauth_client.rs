//! The OAuth client over real sockets, against servers that misbehave: each test looks at the requests on the wire.

mod flights;
mod hostile;
mod keyrings;
mod servers;
mod sign_in;
mod stores;

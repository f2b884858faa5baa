// The example of the README needs the feature `typed`.
#![cfg_attr(any(not(doctest), feature = "typed"), doc = include_str!("../README.md"))]

#[cfg(all(doctest, feature = "typed"))]
mod readme;

#[cfg(any(feature = "http", feature = "http-client"))]
pub use protomcp_auth as auth;
#[cfg(feature = "bridge")]
pub use protomcp_bridge as bridge;
#[cfg(feature = "client")]
pub use protomcp_client as client;
pub use protomcp_fair as fair;
#[cfg(feature = "gateway")]
pub use protomcp_gateway as gateway;
#[cfg(feature = "http")]
pub use protomcp_http as http;
#[cfg(feature = "http-client")]
pub use protomcp_http_client as http_client;
#[cfg(feature = "http")]
pub use protomcp_listener as listener;
#[cfg(feature = "server")]
pub use protomcp_server as server;
pub use protomcp_session as session;
pub use protomcp_transport as transport;
#[cfg(feature = "typed")]
pub use protomcp_typed as typed;
pub use protomcp_types as types;
#[cfg(any(feature = "http", feature = "http-client"))]
pub use protomcp_web as web;

#[cfg(feature = "bridge")]
pub use protomcp_bridge::{Bridge, ToolFile, guardian};
#[cfg(all(feature = "command", not(feature = "bridge")))]
pub use protomcp_client::guardian;
#[cfg(feature = "client")]
pub use protomcp_client::{Client, ClientSession};
#[cfg(feature = "http")]
pub use protomcp_http::StreamableHttp;
#[cfg(feature = "http-client")]
pub use protomcp_http_client::HttpTransport;
#[cfg(feature = "server")]
pub use protomcp_server::{
    AskError, Audience, Context, Handler, Layer, Limits, Router, ServeError, Server, ServerHandle, ServerInfo, Service,
    SessionObserver, Tasks,
};
pub use protomcp_transport::{Transport, TransportError, stdio};
#[cfg(feature = "typed")]
pub use protomcp_typed::{Json, JsonSchema, Prompt, Registry, Resource, Template, Tool, ToolError, schemars};

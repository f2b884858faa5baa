// The example of the README needs the feature `typed`.
#![cfg_attr(any(not(doctest), feature = "typed"), doc = include_str!("../README.md"))]

#[cfg(feature = "http")]
pub use protomcp_auth as auth;
#[cfg(feature = "bridge")]
pub use protomcp_bridge as bridge;
#[cfg(feature = "bufmcp")]
pub use protomcp_bufmcp as bufmcp;
#[cfg(feature = "client")]
pub use protomcp_client as client;
#[cfg(feature = "envelope")]
pub use protomcp_codec as codec;
#[cfg(feature = "bufmcp")]
pub use protomcp_descriptors as descriptors;
#[cfg(feature = "envelope")]
pub use protomcp_envelope as envelope;
pub use protomcp_fair as fair;
#[cfg(feature = "gateway")]
pub use protomcp_gateway as gateway;
#[cfg(feature = "grpc")]
pub use protomcp_grpc as grpc;
#[cfg(feature = "http")]
pub use protomcp_http as http;
#[cfg(feature = "http-client")]
pub use protomcp_http_client as http_client;
#[cfg(feature = "envelope")]
pub use protomcp_link as link;
#[cfg(feature = "http")]
pub use protomcp_listener as listener;
#[cfg(feature = "http-client")]
pub use protomcp_oauth as oauth;
#[cfg(feature = "sdk")]
pub use protomcp_sdk as sdk;
#[cfg(feature = "server")]
pub use protomcp_server as server;
pub use protomcp_session as session;
#[cfg(feature = "skills")]
pub use protomcp_skills as skills;
pub use protomcp_transport as transport;
#[cfg(feature = "typed")]
pub use protomcp_typed as typed;
pub use protomcp_types as types;
#[cfg(any(feature = "http", feature = "http-client"))]
pub use protomcp_web as web;
#[cfg(feature = "websocket")]
pub use protomcp_websocket as websocket;

#[cfg(feature = "bridge")]
pub use protomcp_bridge::{Bridge, ToolFile, guardian};
#[cfg(feature = "bufmcp")]
pub use protomcp_bufmcp::{BinaryClient, BinaryServer, DescriptorSchemas};
#[cfg(all(feature = "command", not(feature = "bridge")))]
pub use protomcp_client::guardian;
#[cfg(feature = "client")]
pub use protomcp_client::{Client, ClientSession};
#[cfg(feature = "grpc")]
pub use protomcp_grpc::GrpcService;
#[cfg(feature = "http")]
pub use protomcp_http::StreamableHttp;
#[cfg(feature = "http-client")]
pub use protomcp_http_client::HttpTransport;
#[cfg(feature = "oauth")]
pub use protomcp_oauth::{OAuthClient, OAuthConfig};
#[cfg(feature = "server")]
pub use protomcp_server::{
    AskError, Audience, Context, Handler, Layer, Limits, Router, ServeError, Server, ServerHandle, ServerInfo, Service,
    SessionObserver, Tasks,
};
#[cfg(feature = "skills")]
pub use protomcp_skills::{SkillTree, Skills};
pub use protomcp_transport::{Transport, TransportError, stdio};
#[cfg(feature = "typed")]
pub use protomcp_typed::{
    Json, JsonSchema, Prompt, Registry, Resource, TaskError, Template, Tool, ToolError, schemars,
};
#[cfg(feature = "websocket")]
pub use protomcp_websocket::WebSockets;

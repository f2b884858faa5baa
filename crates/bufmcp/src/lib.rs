#![doc = include_str!("../README.md")]

mod any;
mod authorization;
mod bare;
mod client;
pub mod code;
mod convert;
mod cursor;
#[cfg(feature = "descriptors")]
mod descriptors;
mod detect;
mod detection;
mod extensions;
mod fault;
mod frame;
mod limits;
pub mod message;
mod metadata;
mod payload;
mod rate_limit;
mod raw_message;
mod reference;
mod report;
mod schemas;
mod selection;
mod serve;
mod session;
mod shape;
mod stream;
mod struct_schemas;
mod tokens;
mod version;
mod well_known;

pub use any::Any;
pub use authorization::Authorization;
pub use bare::BareMessage;
pub use client::{
    AnyClient, BinaryBackend, BinaryCallError, BinaryClient, BinaryClientConfig, BinaryClientEvent,
    BinaryClientSession, BinaryCloseReason, BinaryServerView, Changed, Connect, ConnectAnyError, TcpServer,
};
#[cfg(feature = "command")]
pub use client::{CommandReader, CommandServer, CommandWriter};
#[cfg(feature = "tls")]
pub use client::{InvalidServerName, TlsServer};
pub use cursor::{Cursor, CursorKey, ListDigest};
#[cfg(feature = "descriptors")]
pub use descriptors::DescriptorSchemas;
pub use detect::{Rewound, detect, peek_line};
pub use detection::{Detection, Refusal, StreamProtocol};
pub use fault::Fault;
pub use frame::{Decoder, FrameTooLarge, Unreadable, UnreadableKind, encode, encode_with};
pub use limits::FrameLimits;
pub use rate_limit::{RateLimit, RateLimiter, RateLimits};
pub use raw_message::RawMessage;
pub use reference::Numbering;
pub use report::CallReport;
pub use schemas::{Converted, Imports, MessageNames, SchemaError, ToolMessages, ToolSchemas, Unresolved, Violation};
pub use selection::PageLimits;
pub use serve::{
    AnyServer, BinaryAnswer, BinaryCallEvent, BinaryCallEvents, BinaryCaller, BinaryEndpoint, BinaryListening,
    BinaryPeer, BinaryServeError, BinaryServer, DetectOptions, JsonLines, ServeAnyError,
};
pub use session::permission::Permission;
pub use session::token_verifier::{Grant, TokenVerifier, Verifying};
pub use session::{
    Agreement, BinaryCall, BinaryInbound, BinaryRequest, BinarySession, Changes, Declared, Features, Initialization,
    SessionConfig, SessionLimits, Streaming,
};
pub use struct_schemas::StructSchemas;
pub use tokens::Tokens;
pub use version::{InvalidVersion, Version, Versions};

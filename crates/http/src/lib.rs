#![doc = include_str!("../README.md")]

mod access_log;
mod admission;
mod auth;
mod body;
mod box_body;
mod caller;
mod claim_slots;
mod config;
#[cfg(feature = "contract-tests")]
pub mod contract;
mod cors;
mod credential;
mod delete;
mod endpoint;
mod event_text;
mod events;
mod exposition;
mod forwarded;
#[cfg(fuzzing)]
pub mod fuzzing;
mod get;
mod guard;
mod headers;
mod holding;
mod hop;
#[cfg(feature = "replica-client")]
mod http_replica_client;
mod http_session;
mod http_sse;
mod known_holders;
mod limited_table;
mod lookup;
mod metrics;
mod needed_scopes;
mod network;
mod observe;
mod passed_on;
mod patience;
mod pending_requests;
mod post;
mod protocol;
mod protocol_era;
mod readiness;
mod region;
mod replica_client;
mod replicas;
mod reply;
mod request_events;
mod reserved;
mod routes;
#[cfg(feature = "listener")]
mod serve;
mod service;
mod session_log;
mod session_table;
mod sse;
mod stateless;
mod stateless_headers;
mod store;
mod streams;
mod takeover;
mod unread;

pub use admission::Admission;
pub use auth::caller_identity;
pub use body::Unread;
pub use box_body::BoxBody;
pub use caller::{ClientAddr, Connection, PeerAddr, Principal};
pub use config::{Access, Config, Disallowed, HttpLimits, RejectionHint, StreamConfig};
pub use credential::Credential;
pub use exposition::HttpMetrics;
pub use hop::HopKeys;
#[cfg(feature = "replica-client")]
pub use http_replica_client::HttpReplicaClient;
pub use network::{InvalidNetwork, IpNetwork};
pub use observe::{Exchange, Observer};
pub use protocol::{Protocol, Responding};
#[cfg(feature = "listener")]
pub use protomcp_listener::{Listener, ListenerConfig, UpgradeLease};
#[cfg(feature = "tls")]
pub use protomcp_listener::{Tls, TlsError};
pub use readiness::Readiness;
pub use replica_client::{ReplicaAnswer, ReplicaClient, ReplicaError};
pub use replicas::Replicas;
pub use reply::Body;
pub use routes::Routes;
#[cfg(feature = "listener")]
pub use serve::{Serve, serve};
pub use service::StreamableHttp;
pub use store::memory::MemoryStore;
pub use store::{Entry, EventKey, EventStore, Replayed, StoredEvent, StreamLog, Write};

//! Discovery of a server without a handshake (MCP 2026-07-28, server/discover).

use serde::{Deserialize, Serialize};

use crate::cache::CacheHint;
use crate::capability::ServerCapabilities;
use crate::empty::Empty;
use crate::method::Method;
use crate::raw::RawJson;

/// `server/discover`; since 2026-07-28.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discover;

/// The answer to [`Discover`]. The server's identity is in `_meta`, under [`crate::meta::SERVER_INFO`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// The dates of all supported revisions, newest first.
    pub supported_versions: Vec<String>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The caching hint.
    #[serde(flatten)]
    pub cache: CacheHint,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl Method for Discover {
    const NAME: &'static str = "server/discover";
    type Params = Empty;
    type Result = DiscoverResult;
}

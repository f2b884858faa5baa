//! The handshake of the stateful revisions, `ping` and `logging/setLevel`.

use serde::{Deserialize, Serialize};

use crate::absent::null_as_default;
use crate::capability::{ClientCapabilities, ServerCapabilities};
use crate::empty::Empty;
use crate::implementation::Implementation;
use crate::level::Level;
use crate::method::{ClientMethod, Method};

/// `initialize`: the client announces its identity and capabilities (MCP 2025-11-25, basic/lifecycle).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    /// The date of the revision that the client prefers.
    pub protocol_version: String,
    /// The capabilities of the client.
    #[serde(default, deserialize_with = "null_as_default")]
    pub capabilities: ClientCapabilities,
    /// The identity of the client.
    pub client_info: Implementation,
}

/// The answer to [`Initialize`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The date of the negotiated revision.
    pub protocol_version: String,
    /// The capabilities of the server.
    #[serde(default, deserialize_with = "null_as_default")]
    pub capabilities: ServerCapabilities,
    /// The identity of the server.
    pub server_info: Implementation,
    /// Instructions for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

impl Method for Initialize {
    const NAME: &'static str = "initialize";
    type Params = Self;
    type Result = InitializeResult;
}

/// `ping`: checks that the peer responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ping {}

impl Method for Ping {
    const NAME: &'static str = "ping";
    type Params = Self;
    type Result = Empty;
}

impl ClientMethod for Ping {
    fn is_supported_by(_: &Self, _: &ClientCapabilities) -> bool {
        true
    }
}

/// `logging/setLevel`: sets the least severe level of log messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetLevel {
    /// The least severe level that is sent.
    pub level: Level,
}

impl Method for SetLevel {
    const NAME: &'static str = "logging/setLevel";
    type Params = Self;
    type Result = Empty;
}

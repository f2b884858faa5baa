//! The handshake of the stateful revisions, and the small requests around it.

use serde::{Deserialize, Serialize};

use crate::capability::{ClientCapabilities, ServerCapabilities};
use crate::empty::Empty;
use crate::implementation::Implementation;
use crate::level::Level;
use crate::method::{ClientMethod, Method};

/// `initialize`: the client says who it is and what it can do (MCP 2025-11-25, basic/lifecycle).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    /// The date of the revision that the client would like.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client is.
    pub client_info: Implementation,
}

/// The answer to [`Initialize`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The date of the revision that both will speak.
    pub protocol_version: String,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Who the server is.
    pub server_info: Implementation,
    /// How to use the server, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

impl Method for Initialize {
    const NAME: &'static str = "initialize";
    type Params = Self;
    type Result = InitializeResult;
}

/// `ping`: is somebody there?
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

/// `logging/setLevel`: from which level on the client wants log messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetLevel {
    /// The least serious level that is still sent.
    pub level: Level,
}

impl Method for SetLevel {
    const NAME: &'static str = "logging/setLevel";
    type Params = Self;
    type Result = Empty;
}

//! The assignment of one run: the suite passes it in the environment, and the URL as the last argument.

use std::env;
use std::error::Error;

use protomcp_types::{CallTool, ProtocolVersion};
use serde::Deserialize;

const USAGE: &str = "usage: everything_client [--auto] URL";

/// One run: a server and a scenario.
pub(crate) struct Assignment {
    pub(crate) url: String,
    /// The client finds the era of the server out by itself.
    pub(crate) is_auto: bool,
    pub(crate) scenario: String,
    pub(crate) version: ProtocolVersion,
    pub(crate) context: Context,
}

/// The knowledge that a scenario gives its client: the calls to make, or its registration.
#[derive(Default, Deserialize)]
pub(crate) struct Context {
    #[serde(default, rename = "toolCalls")]
    pub(crate) tool_calls: Vec<CallTool>,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<String>,
    /// The authorization server at which the client is registered.
    pub(crate) issuer: Option<String>,
    /// The key of the client, in PEM.
    pub(crate) private_key_pem: Option<String>,
    /// The assertion of a workload.
    pub(crate) valid_jwt: Option<String>,
    pub(crate) idp_client_id: Option<String>,
    /// The ID token of the user.
    pub(crate) idp_id_token: Option<String>,
    pub(crate) idp_token_endpoint: Option<String>,
}

impl Assignment {
    pub(crate) fn read() -> Result<Self, Box<dyn Error>> {
        let mut arguments: Vec<_> = env::args().skip(1).collect();
        let url = arguments.pop();
        let is_auto = match arguments.as_slice() {
            [] => false,
            [option] if option == "--auto" => true,
            _ => return Err(USAGE.into()),
        };
        let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")?;
        Ok(Self {
            url: url.ok_or(USAGE)?,
            is_auto,
            scenario: env::var("MCP_CONFORMANCE_SCENARIO")?,
            version: ProtocolVersion::parse(&version).ok_or_else(|| format!("{version} is not a revision"))?,
            context: match env::var("MCP_CONFORMANCE_CONTEXT") {
                Ok(context) => serde_json::from_str(&context)?,
                Err(_) => Context::default(),
            },
        })
    }

    pub(crate) fn needs_authorization(&self) -> bool {
        self.scenario.starts_with("auth/")
    }
}

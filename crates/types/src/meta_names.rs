//! The names of the members of `_meta` objects.

/// The revision of a stateless request (MCP 2026-07-28, basic).
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The client's capabilities in a stateless request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The client's identity in a stateless request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// The least severe log level that a stateless request asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The server's identity in a stateless result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The id of the `subscriptions/listen` that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The task that a message belongs to (MCP 2025-11-25, basic/utilities/tasks).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

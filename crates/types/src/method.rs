//! The methods of MCP with their parameters and results.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::capability::ClientCapabilities;

/// Pairs the parameters of a request with its result.
pub trait Method {
    /// The name on the wire.
    const NAME: &'static str;
    /// The parameters; for most methods the type that implements this trait.
    type Params;
    /// The result.
    type Result;
}

/// A request that a server may send to a client.
pub trait ClientMethod: Method<Params: Serialize, Result: DeserializeOwned> {
    /// True if a client with these capabilities supports the request. It must not be sent to others.
    fn is_supported_by(params: &Self::Params, capabilities: &ClientCapabilities) -> bool;
}

/// The client has finished the handshake.
pub const INITIALIZED: &str = "notifications/initialized";
/// Cancels a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// Progress of a request.
pub const PROGRESS: &str = "notifications/progress";
/// A log message.
pub const LOG: &str = "notifications/message";
/// The list of tools has changed.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// The list of resources or of their templates has changed.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";

/// The roots of the client have changed.
pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";

/// The list of prompts has changed.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";

/// A resource that the client subscribes to has changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// The notifications that the server will send; the first notification of a `subscriptions/listen`.
pub const SUBSCRIPTION_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The user has finished on a web page.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";

/// The status of a task has changed.
pub const TASK_STATUS: &str = "notifications/tasks/status";

/// Like [`TASK_STATUS`], for tasks without a session.
pub const TASK_CHANGED: &str = "notifications/tasks";

/// Returns the names of the hot path without an allocation.
pub(crate) fn intern(name: Cow<'_, str>) -> Cow<'static, str> {
    const KNOWN: [&str; 9] =
        ["tools/call", "tools/list", PROGRESS, CANCELLED, "ping", "initialize", INITIALIZED, "logging/setLevel", LOG];
    match KNOWN.iter().find(|known| **known == name) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(name.into_owned()),
    }
}

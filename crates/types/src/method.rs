//! The methods of MCP: their names, and which parameters and result belong to which.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::capability::ClientCapabilities;

/// Pairs the parameters of a request with the result that answers them.
pub trait Method {
    /// The name on the wire.
    const NAME: &'static str;
    /// What is sent; for most methods the type that implements this trait.
    type Params;
    /// What comes back.
    type Result;
}

/// A request that a server may send to a host.
pub trait ClientMethod: Method<Params: Serialize, Result: DeserializeOwned> {
    /// Whether a host with these capabilities answers it. One that does not must not be asked.
    fn is_supported_by(params: &Self::Params, capabilities: &ClientCapabilities) -> bool;
}

/// The client may go on.
pub const INITIALIZED: &str = "notifications/initialized";
/// The sender of a request does not want its answer any more.
pub const CANCELLED: &str = "notifications/cancelled";
/// A call has come further.
pub const PROGRESS: &str = "notifications/progress";
/// A log message.
pub const LOG: &str = "notifications/message";
/// The tool list is not what it was.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// The list of resources or of their templates is not what it was.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";

/// The client's roots are not what they were.
pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";

/// The list of prompts is not what it was.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";

/// A resource that the client has subscribed to is not what it was.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// The server will tell of these changes; the first notification of a `subscriptions/listen`.
pub const SUBSCRIPTION_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// What the user did on a web page is done.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";

/// A task is not what it was.
pub const TASK_STATUS: &str = "notifications/tasks/status";

/// As [`TASK_STATUS`], for those who listen for a task without a session.
pub const TASK_CHANGED: &str = "notifications/tasks";

/// Gives the names of the hot path without an allocation.
pub(crate) fn intern(name: Cow<'_, str>) -> Cow<'static, str> {
    const KNOWN: [&str; 9] =
        ["tools/call", "tools/list", PROGRESS, CANCELLED, "ping", "initialize", INITIALIZED, "logging/setLevel", LOG];
    match KNOWN.iter().find(|known| **known == name) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(name.into_owned()),
    }
}

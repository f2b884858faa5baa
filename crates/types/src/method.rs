//! The methods of MCP: their names, and which parameters and result belong to which.

use std::borrow::Cow;

/// Pairs the parameters of a request with the result that answers them.
pub trait Method {
    /// The name on the wire.
    const NAME: &'static str;
    /// What is sent; for most methods the type that implements this trait.
    type Params;
    /// What comes back.
    type Result;
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

/// The list of prompts is not what it was.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";

/// A resource that the client has subscribed to is not what it was.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// Gives the names of the hot path without an allocation.
pub(crate) fn intern(name: Cow<'_, str>) -> Cow<'static, str> {
    const KNOWN: [&str; 9] =
        ["tools/call", "tools/list", PROGRESS, CANCELLED, "ping", "initialize", INITIALIZED, "logging/setLevel", LOG];
    match KNOWN.iter().find(|known| **known == name) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(name.into_owned()),
    }
}

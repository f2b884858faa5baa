//! Keys of `experimental` in the capabilities of a client.

/// The client takes `ListChanged`.
pub(crate) const NOTIFICATIONS: &str = "notifications";

/// The client takes prompts, completions and templates of resources.
pub(crate) const PROMPTS: &str = "prompts";

/// The client subscribes to resources, and takes `ResourceUpdated`.
pub(crate) const SUBSCRIPTIONS: &str = "subscriptions";

/// The client has the files of `google/protobuf` and `buf/validate/validate.proto`.
pub(crate) const WKT_BUILTIN: &str = "wkt_builtin";

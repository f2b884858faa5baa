//! The outcome of the first request.

use std::collections::BTreeMap;

use crate::schemas::Imports;
use crate::version::Version;

/// The version and the capabilities of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// The version of the conversation.
    pub version: Version,
    /// The client resolves references to a schema registry.
    pub client_resolves_refs: bool,
    /// Both sides support references.
    pub bsr_refs: bool,
    /// The extensions that the client has declared.
    pub declared: Declared,
    /// The imports that the client wants in descriptor sets.
    pub imports: Imports,
    /// The metadata of the client, without its token: `name` and `version`.
    pub metadata: BTreeMap<String, String>,
}

/// Extensions of a client, from its capabilities: from `experimental`, but for `streaming`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each extension is declared by itself")]
pub struct Declared {
    /// `notifications`: the client takes `ListChanged`.
    pub notifications: bool,
    /// `prompts`: the client takes prompts, completions and templates of resources.
    pub prompts: bool,
    /// `subscriptions`: the client subscribes to resources, and takes `ResourceUpdated`.
    pub subscriptions: bool,
    /// The client takes reports of calls, and may cancel requests: it has set `supports_streaming`, as the server has.
    pub streaming: bool,
}

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
    /// The client takes `ListChanged`.
    pub notifications: bool,
    /// The imports that the client wants in descriptor sets.
    pub imports: Imports,
    /// The metadata of the client, without its token: `name` and `version`.
    pub metadata: BTreeMap<String, String>,
}

//! The settings of the client's end of a conversation.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::limits::FrameLimits;
use crate::reference::Numbering;
use crate::version::Versions;

/// The settings of a [`BinaryClientSession`](crate::BinaryClientSession).
#[derive(Clone)]
pub struct BinaryClientConfig {
    /// The versions of the client. It asks for the newest, and for an older one if the server has only that.
    pub versions: Versions,
    /// `InitializeRequest.metadata`: `name` and `version` of the client.
    pub metadata: BTreeMap<String, String>,
    /// The token of the connection. It is not shown by `Debug`.
    pub token: Option<String>,
    /// The client resolves references to a schema registry.
    pub bsr_refs: bool,
    /// The client has the files of `google/protobuf` and `buf/validate/validate.proto`: descriptor sets may come without
    /// them.
    pub wkt_builtin: bool,
    /// The field numbers of the server; `None`: as it describes itself.
    pub numbering: Option<Numbering>,
    /// The time for the first answer.
    pub open_timeout: Duration,
    /// The time of a request that has no other.
    pub timeout: Duration,
    /// Requests that are sent and have no answer, and frames that the server has not read. Calls of tools leave an eighth of
    /// it to other requests. Further requests wait.
    pub max_in_flight: usize,
    /// Calls of tools that wait to be sent, and as many other requests. For one more the newest one of the owner with most
    /// of them fails; of an owner that has as many it fails itself.
    pub max_waiting: usize,
    /// A message without payload has the id of each request that is given up: for carriers that end a request themselves,
    /// as gRPC does. Servers that stream get a `CancelCall` without it; version 1.0 has no message for it.
    pub cancels: bool,
    /// Bounds on frames.
    pub frames: FrameLimits,
}

impl BinaryClientConfig {
    /// A client with this name and version.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            versions: Versions::default(),
            metadata: [("name".to_owned(), name.into()), ("version".to_owned(), version.into())].into(),
            token: None,
            bsr_refs: false,
            wkt_builtin: false,
            numbering: None,
            open_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            max_in_flight: 64,
            max_waiting: 16_384,
            cancels: false,
            frames: FrameLimits::default(),
        }
    }
}

impl fmt::Debug for BinaryClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinaryClientConfig")
            .field("versions", &self.versions)
            .field("metadata", &self.metadata)
            .field("has_token", &self.token.is_some())
            .finish_non_exhaustive()
    }
}

//! The pause after a handshake in which published SDKs hide their hidden tools.
//!
//! These SDKs hide them right after the handshake, before they read a request. The bridge asks for resources, templates
//! and prompts next, so an answer means that the hidden tools are hidden. SDKs without these requests stay silent, and
//! their start takes this much longer. A later answer still counts.

use std::time::Duration;

/// The longest wait for the answers before the process takes calls.
pub(crate) const REGISTRATION_SETTLE: Duration = Duration::from_millis(250);

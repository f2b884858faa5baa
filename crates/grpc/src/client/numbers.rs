//! The numbers of payloads in `MCPMessage`.

pub(super) const INITIALIZE_REQUEST: u32 = 2;
pub(super) const CALL_TOOL_REQUEST: u32 = 6;
pub(super) const CALL_TOOL_RESPONSE: u32 = 7;
pub(super) const ERROR_RESPONSE: u32 = 12;
pub(super) const LIST_CHANGED: u32 = 100;
pub(super) const CALL_PROGRESS: u32 = 101;
pub(super) const CALL_LOG: u32 = 103;
pub(super) const CANCEL_CALL: u32 = 104;
pub(super) const SUBSCRIBE_REQUEST: u32 = 120;
pub(super) const SUBSCRIBE_RESPONSE: u32 = 121;
pub(super) const UNSUBSCRIBE_REQUEST: u32 = 122;
pub(super) const RESOURCE_UPDATED: u32 = 124;

/// No payload: a request of the carrier itself, to listen again.
pub(super) const LISTEN: u32 = 0;

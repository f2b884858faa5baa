//! The codes of errors. The codes of JSON-RPC mean the same here; the others are from proto-mcp 1.0 or, from −32010 on,
//! for cases that it leaves to servers.

/// The bytes of a frame are not a message.
pub const PARSE_ERROR: i32 = -32700;
/// The message is not allowed at this point.
pub const INVALID_REQUEST: i32 = -32600;
/// The kind of message is unknown.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters are wrong, or name something that does not exist.
pub const INVALID_PARAMS: i32 = -32602;
/// The server has failed.
pub const INTERNAL_ERROR: i32 = -32603;
/// The client has cancelled the request.
pub const CANCELLED: i32 = -32800;
/// The resource does not exist (as in MCP).
pub const RESOURCE_NOT_FOUND: i32 = -32002;
/// No token, or an invalid one.
pub const UNAUTHENTICATED: i32 = -32010;
/// The token does not allow this.
pub const PERMISSION_DENIED: i32 = -32011;
/// Too many calls; `data.retry_after_ms` says when to try again.
pub const RATE_LIMITED: i32 = -32012;
/// The frame, or the response, is larger than the limit.
pub const TOO_LARGE: i32 = -32013;
/// A request before `Initialize`.
pub const NOT_INITIALIZED: i32 = -32014;
/// Too many requests in flight.
pub const OVERLOADED: i32 = -32015;
/// The schema of the tool was not found.
pub const SCHEMA_UNRESOLVED: i32 = -33000;
/// The arguments break rules of the schema.
pub const SCHEMA_VIOLATED: i32 = -33001;
/// The versions of the two sides do not go together.
pub const UNSUPPORTED_VERSION: i32 = -33002;
/// The tool has not answered in time.
pub const TIMED_OUT: i32 = -33003;

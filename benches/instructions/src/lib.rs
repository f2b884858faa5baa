//! One operation of each layer, for counting its instructions (`scripts/count-instructions`). Each runs on one thread, so
//! that a count does not depend on the load of the machine.

pub mod codec;
pub mod http;
pub mod session;

mod echo;

use protomcp_layers::{json, link};

/// Prepares an operation, then runs it a number of times.
pub type Operation = fn(u32);

/// The operations by name.
pub const OPERATIONS: [(&str, Operation); 13] = [
    ("codec/encode_200_B", |count| codec::encode(200, count)),
    ("codec/encode_64_KiB", |count| codec::encode(64 << 10, count)),
    ("codec/decode_200_B", |count| codec::decode(200, count)),
    ("codec/decode_64_KiB", |count| codec::decode(64 << 10, count)),
    ("json/parse_call_262_B", |count| json::parse_call(json::Shape::Small, count)),
    ("json/parse_call_68_KB", |count| json::parse_call(json::Shape::Structured, count)),
    ("json/write_result_200_B", |count| json::write_result(200, count)),
    ("link/machines", link::call_in_memory),
    ("link/driver", link::call_over_socket),
    ("session/call", session::call),
    ("session/list_tools", session::list_tools),
    ("http/call_in_session", http::call_in_session),
    ("http/call_stateless", http::call_stateless),
];

#![doc = include_str!("../README.md")]

mod answers;
mod compare;
mod message;
mod mock;
mod recording;
mod redacted;
mod redaction;
mod replay;
mod scenario;
mod sessions;

pub use compare::{Comparison, Difference};
pub use mock::Mock;
pub use recording::{Entry, Party, Recording, TraceError, Wire};
pub use redacted::REDACTED;
pub use redaction::{InvalidPattern, Redaction, has_key};
pub use replay::{Replay, Step};
pub use scenario::scenario;
pub use sessions::Sessions;

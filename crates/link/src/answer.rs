//! An answer as received: a message, possibly with its large fields next to it.
//!
//! A large field stays compressed until the caller asks for it, so inflating a hundred megabytes happens in the
//! caller's task and never blocks the link.

use protomcp_codec::{Field, Limits, Raw};
#[cfg(feature = "driver")]
use protomcp_envelope::CreateTaskResponse;
use protomcp_envelope::{CallToolResponse, Msg};

use crate::error::CallError;

/// The answer to a call. [`Answer::finish`] makes it one message.
#[derive(Debug)]
pub struct Answer {
    message: Msg,
    /// At most one per field, in order of arrival.
    payloads: Vec<Raw>,
}

impl Answer {
    /// An answer that arrived in one frame.
    pub(crate) fn whole(message: Msg) -> Self {
        Self { message, payloads: Vec::new() }
    }

    /// An answer whose large fields arrived as raw payloads; `rest` holds the other fields.
    pub(crate) fn with_payloads(rest: CallToolResponse, payloads: Vec<Raw>) -> Self {
        Self { message: Msg::CallResult(rest), payloads }
    }

    /// The task as which the call continues, so that this is not its result.
    #[cfg(feature = "driver")]
    pub(crate) fn task(&self) -> Option<&CreateTaskResponse> {
        match &self.message {
            Msg::CreateTask(task) => Some(task),
            _ => None,
        }
    }

    /// The bytes that [`finish`](Self::finish) will inflate to, as announced; 0 when nothing is compressed, and
    /// [`u64::MAX`] when a compressed payload does not announce its size. A caller may finish large answers off its
    /// event loop.
    pub fn inflated_size(&self) -> u64 {
        let size = |raw: &Raw| match (raw.header.compression.as_str(), raw.header.uncompressed_size) {
            ("", _) => 0,
            (_, 0) => u64::MAX,
            (_, announced) => announced,
        };
        self.payloads.iter().map(size).fold(0, u64::saturating_add)
    }

    /// The complete message.
    ///
    /// # Errors
    /// If a payload does not inflate within `limits`, or names a field that the message does not have.
    pub fn finish(self, limits: &Limits) -> Result<Msg, CallError> {
        let Self { mut message, payloads } = self;
        if let Msg::CallResult(response) = &mut message {
            for raw in payloads {
                match raw.field() {
                    Field::ResultJson => response.result_json = raw.inflate(limits)?,
                    Field::StructuredContentJson => response.structured_content_json = raw.inflate(limits)?,
                    Field::Other(name) => return Err(CallError::unknown_field(name)),
                }
            }
        }
        Ok(message)
    }
}

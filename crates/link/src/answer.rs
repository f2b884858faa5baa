//! An answer as it came: a message, perhaps with its large field beside it.
//!
//! The large field stays compressed until the caller wants it, so that inflating a hundred megabytes happens in the
//! caller's task and never holds up the link.

use bytes::Bytes;
use protomcp_codec::{Field, Limits, Raw};
use protomcp_proto::{CallToolResponse, Msg};

use crate::error::CallError;

/// The answer to a call. [`Answer::finish`] makes it one message.
#[derive(Debug)]
pub struct Answer {
    message: Msg,
    payload: Option<Raw>,
}

impl Answer {
    /// An answer that arrived in one frame.
    pub(crate) fn whole(message: Msg) -> Self {
        Self { message, payload: None }
    }

    /// An answer whose large field arrived as a raw payload; `rest` has the other fields.
    pub(crate) fn with_payload(rest: CallToolResponse, payload: Raw) -> Self {
        Self { message: Msg::CallResult(rest), payload: Some(payload) }
    }

    /// Bytes that [`finish`](Self::finish) will inflate to, as announced; 0 when nothing is compressed. A caller may
    /// choose to finish large ones off its event loop.
    pub fn inflated_size(&self) -> u64 {
        match &self.payload {
            Some(raw) if !raw.header.compression.is_empty() => raw.header.uncompressed_size.max(1),
            _ => 0,
        }
    }

    /// The complete message.
    ///
    /// # Errors
    /// The payload does not inflate within `limits`, or names a field the message does not have.
    pub fn finish(self, limits: &Limits) -> Result<Msg, CallError> {
        let Self { message, payload } = self;
        let Some(raw) = payload else { return Ok(message) };
        let field = Field::parse(&raw.header.field_name);
        let bytes = raw.inflate(limits)?;
        match message {
            Msg::CallResult(mut response) => {
                put_field(&mut response, &field, bytes)?;
                Ok(Msg::CallResult(response))
            }
            other => Ok(other),
        }
    }
}

/// Sets the large field of a tool result.
pub(crate) fn put_field(response: &mut CallToolResponse, field: &Field, bytes: Bytes) -> Result<(), CallError> {
    match field {
        Field::ResultJson => response.result_json = bytes,
        Field::StructuredContentJson => response.structured_content_json = bytes,
        Field::Other(name) => return Err(CallError::UnknownField(name.clone())),
    }
    Ok(())
}

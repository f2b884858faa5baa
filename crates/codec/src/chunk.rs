//! Splits one large field into messages.
//!
//! Reassembly needs to know about calls and lives with the link.

use std::iter;

use bytes::Bytes;
use protomcp_envelope::{Msg, StreamChunk, StreamHeader};

use crate::frame::Field;

/// The messages that carry `text` as the given field of a call's result (docs/envelope.md, "Chunks"): a header, then
/// chunks of `chunk_size` bytes, the last one marked as final and possibly shorter. Each goes into an envelope with the
/// request id of the call.
///
/// Nothing is copied. A `chunk_size` of 0 counts as 1.
pub fn chunks(field: Field, text: Bytes, chunk_size: u32) -> impl Iterator<Item = Msg> {
    let chunk_size = chunk_size.max(1);
    let header = StreamHeader { field_name: field.into(), total_size: text.len() as u64, chunk_size };
    let mut rest = Some(text);
    let pieces = iter::from_fn(move || {
        let mut data = rest.take()?;
        let at = data.len().min(chunk_size as usize);
        let after = data.split_off(at);
        let last = after.is_empty();
        rest = (!last).then_some(after);
        Some(Msg::from(StreamChunk { data, r#final: last }))
    });
    iter::once(Msg::from(header)).chain(pieces)
}

//! Puts answers together that arrive in pieces.
//!
//! A tool process may send one large field of a result as a `StreamHeader` followed by `StreamChunk`s (wire contract
//! §1.4), or as a raw payload that announces a `call_result` with the remaining fields. [`Assembler`] holds what is
//! incomplete, never waits, and never allocates on the strength of an announced size: it grows with what really came.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use protomcp_codec::{Field, Raw};
use protomcp_proto::{CallToolResponse, StreamChunk, StreamHeader};

use crate::answer::put_field;
use crate::error::CallError;
use crate::id::CallId;

/// One incomplete answer.
#[derive(Debug)]
enum Open {
    Chunks { field: Field, data: BytesMut },
    Payload(Raw),
}

impl Open {
    fn len(&self) -> usize {
        match self {
            Self::Chunks { data, .. } => data.len(),
            Self::Payload(raw) => raw.payload.len(),
        }
    }
}

/// The incomplete answers of one link.
#[derive(Debug)]
pub(crate) struct Assembler {
    open: HashMap<CallId, Open>,
    held: usize,
    max_one: u64,
    max_all: usize,
}

impl Assembler {
    /// `max_one` bounds one answer and `max_all` all incomplete ones together, in bytes.
    pub(crate) fn new(max_one: u64, max_all: usize) -> Self {
        Self { open: HashMap::new(), held: 0, max_one, max_all }
    }

    /// Bytes held for incomplete answers.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Begins a chunked answer; a second header for the same call starts it over.
    pub(crate) fn header(&mut self, call: CallId, header: &StreamHeader) {
        self.abandon(call);
        let field = Field::parse(&header.field_name);
        self.open.insert(call, Open::Chunks { field, data: BytesMut::new() });
    }

    /// Adds a chunk. `None`: more is to come, or no header came before it (then the chunk is dropped, as the wire
    /// contract says). An error ends the assembly and the call.
    pub(crate) fn chunk(&mut self, call: CallId, chunk: &StreamChunk) -> Option<Result<CallToolResponse, CallError>> {
        let Some(Open::Chunks { data, .. }) = self.open.get_mut(&call) else { return None };
        let size = data.len() as u64 + chunk.data.len() as u64;
        if size > self.max_one {
            self.abandon(call);
            return Some(Err(CallError::AnswerTooLarge { size, limit: self.max_one }));
        }
        if self.held + chunk.data.len() > self.max_all {
            self.abandon(call);
            return Some(Err(CallError::AnswerTooLarge { size, limit: self.max_all as u64 }));
        }
        data.extend_from_slice(&chunk.data);
        self.held += chunk.data.len();
        if !chunk.r#final {
            return None;
        }
        match self.take(call) {
            Some(Open::Chunks { field, data }) => Some(response(&field, data.freeze())),
            _ => None,
        }
    }

    /// Keeps a raw payload until the `call_result` it announced arrives. An error when too much is being held.
    pub(crate) fn keep(&mut self, call: CallId, raw: Raw) -> Result<(), CallError> {
        self.abandon(call);
        if self.held + raw.payload.len() > self.max_all {
            return Err(CallError::AnswerTooLarge { size: raw.payload.len() as u64, limit: self.max_all as u64 });
        }
        self.held += raw.payload.len();
        self.open.insert(call, Open::Payload(raw));
        Ok(())
    }

    /// A complete result arrived for a call: gives back the payload that was kept for it, and ends an open assembly
    /// of chunks (a failing tool gives up its stream by sending an error result).
    pub(crate) fn finish(&mut self, call: CallId) -> Option<Raw> {
        match self.take(call)? {
            Open::Payload(raw) => Some(raw),
            Open::Chunks { .. } => None,
        }
    }

    /// Forgets what was held for a call that is over.
    pub(crate) fn abandon(&mut self, call: CallId) {
        self.take(call);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.held = 0;
    }

    fn take(&mut self, call: CallId) -> Option<Open> {
        if self.open.is_empty() {
            return None;
        }
        let open = self.open.remove(&call)?;
        self.held -= open.len();
        Some(open)
    }
}

/// The result that a large field alone stands for: not an error, no mutations (wire contract §1.4).
fn response(field: &Field, bytes: Bytes) -> Result<CallToolResponse, CallError> {
    let mut response = CallToolResponse::default();
    put_field(&mut response, field, bytes)?;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::CallIds;

    fn header(name: &str, total_size: u64) -> StreamHeader {
        StreamHeader { field_name: name.into(), total_size, chunk_size: 4 }
    }

    fn chunk(text: &'static str, last: bool) -> StreamChunk {
        StreamChunk { data: Bytes::from_static(text.as_bytes()), r#final: last }
    }

    #[test]
    fn chunks_of_interleaved_calls_become_one_result_each() {
        let ids = CallIds::default();
        let (a, b) = (ids.next(), ids.next());
        let mut assembler = Assembler::new(100, 100);
        assembler.header(a, &header("result_json", 0));
        assembler.header(b, &header("structured_content_json", 9));
        assert!(assembler.chunk(a, &chunk("on", false)).is_none());
        assert!(assembler.chunk(b, &chunk("{", false)).is_none());
        assert_eq!(assembler.held(), 3);
        let first = assembler.chunk(a, &chunk("e", true)).unwrap().unwrap();
        let second = assembler.chunk(b, &chunk("}", true)).unwrap().unwrap();
        assert_eq!((&first.result_json[..], &second.structured_content_json[..]), (&b"one"[..], &b"{}"[..]));
        assert_eq!(assembler.held(), 0);
    }

    #[test]
    fn a_chunk_without_a_header_is_dropped() {
        let call = CallIds::default().next();
        assert!(Assembler::new(10, 10).chunk(call, &chunk("x", true)).is_none());
    }

    #[test]
    fn an_announced_size_allocates_nothing_and_limits_hold_for_what_comes() {
        let ids = CallIds::default();
        let (a, b) = (ids.next(), ids.next());
        let mut assembler = Assembler::new(5, 7);
        assembler.header(a, &header("result_json", u64::MAX));
        assert!(assembler.chunk(a, &chunk("12345", false)).is_none());
        let error = assembler.chunk(a, &chunk("6", false)).unwrap().unwrap_err();
        assert!(matches!(error, CallError::AnswerTooLarge { size: 6, limit: 5 }), "{error}");
        assert_eq!(assembler.held(), 0);

        assembler.header(a, &header("result_json", 0));
        assembler.header(b, &header("result_json", 0));
        assert!(assembler.chunk(a, &chunk("1234", false)).is_none());
        assert!(assembler.chunk(b, &chunk("123", false)).is_none());
        let error = assembler.chunk(b, &chunk("4", false)).unwrap().unwrap_err();
        assert!(matches!(error, CallError::AnswerTooLarge { size: 4, limit: 7 }), "{error}");
        assert_eq!(assembler.held(), 4, "only the call that broke the bound is given up");
    }

    #[test]
    fn an_unknown_field_fails_the_call_by_name() {
        let call = CallIds::default().next();
        let mut assembler = Assembler::new(10, 10);
        assembler.header(call, &header("novel", 0));
        let error = assembler.chunk(call, &chunk("x", true)).unwrap().unwrap_err();
        assert!(matches!(error, CallError::UnknownField(name) if name == "novel"));
    }

    #[test]
    fn a_complete_result_ends_an_open_assembly() {
        let call = CallIds::default().next();
        let mut assembler = Assembler::new(10, 10);
        assembler.header(call, &header("result_json", 0));
        assembler.chunk(call, &chunk("x", false));
        assert!(assembler.finish(call).is_none());
        assert_eq!(assembler.held(), 0);
        assert!(assembler.chunk(call, &chunk("y", true)).is_none());
    }
}

//! Reassembles answers that arrive in pieces.
//!
//! A tool process may send one large field of a result as a `StreamHeader` followed by `StreamChunk`s, or as a raw
//! payload that announces a `call_result` with the remaining fields (docs/envelope.md, "Large results"). [`Assembler`]
//! holds incomplete answers, never waits, and never allocates for an announced size: it grows with the bytes received.

use std::collections::HashMap;

use bytes::BytesMut;
use protomcp_codec::{Field, Raw};
use protomcp_envelope::{StreamChunk, StreamHeader};

use crate::error::CallError;
use crate::id::CallId;

/// One incomplete answer.
#[derive(Debug)]
enum Open {
    Chunks { field: Field, data: BytesMut },
    Payloads(Vec<Raw>),
}

impl Open {
    fn len(&self) -> usize {
        match self {
            Self::Chunks { data, .. } => data.len(),
            Self::Payloads(payloads) => payloads.iter().map(weight).sum(),
        }
    }
}

/// The effect of a chunk.
#[derive(Debug)]
pub(crate) enum Chunk {
    /// More chunks follow.
    More,
    /// The last chunk; this is the field.
    Complete(Raw),
    /// The chunk exceeds a bound, which ends the call.
    Failed(CallError),
    /// No header preceded the chunk; it is dropped (docs/envelope.md, "Chunks").
    Headless,
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
    /// `max_one` bounds one answer and `max_all` all incomplete answers together, in bytes.
    pub(crate) fn new(max_one: u64, max_all: usize) -> Self {
        Self { open: HashMap::new(), held: 0, max_one, max_all }
    }

    /// Bytes held for incomplete answers.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Begins a chunked answer; a second header for the same call starts it over. Fails if results have no such field,
    /// since no chunk of it could be used.
    pub(crate) fn header(&mut self, call: CallId, header: &StreamHeader) -> Result<(), CallError> {
        self.abandon(call);
        let field = known_field(&header.field_name)?;
        self.open.insert(call, Open::Chunks { field, data: BytesMut::new() });
        Ok(())
    }

    /// Adds a chunk.
    pub(crate) fn chunk(&mut self, call: CallId, chunk: &StreamChunk) -> Chunk {
        let Some(Open::Chunks { data, .. }) = self.open.get_mut(&call) else { return Chunk::Headless };
        let size = data.len() as u64 + chunk.data.len() as u64;
        if let Err(error) = fits(size, self.max_one).and_then(|()| fits_all(self.held, chunk.data.len(), self.max_all))
        {
            self.abandon(call);
            return Chunk::Failed(error);
        }
        data.extend_from_slice(&chunk.data);
        self.held += chunk.data.len();
        if !chunk.r#final {
            return Chunk::More;
        }
        match self.take(call) {
            Some(Open::Chunks { field, data }) => Chunk::Complete(Raw::new("", field, data.freeze())),
            Some(Open::Payloads(_)) | None => Chunk::Headless,
        }
    }

    /// Keeps a raw payload until the `call_result` it announces arrives; a second payload for the same field replaces
    /// the first. Fails if the field is unknown or the bound is exceeded.
    pub(crate) fn keep(&mut self, call: CallId, raw: Raw) -> Result<(), CallError> {
        known_field(&raw.header.field_name)?;
        let mut payloads = self.finish(call);
        payloads.retain(|kept| kept.header.field_name != raw.header.field_name);
        let kept: usize = payloads.iter().map(weight).sum();
        fits_all(self.held + kept, weight(&raw), self.max_all)?;
        payloads.push(raw);
        let open = Open::Payloads(payloads);
        self.held += open.len();
        self.open.insert(call, open);
        Ok(())
    }

    /// Handles a complete result: returns the payloads kept for its call, and drops an open assembly of chunks (a
    /// failing tool aborts its stream with an error result).
    pub(crate) fn finish(&mut self, call: CallId) -> Vec<Raw> {
        match self.take(call) {
            Some(Open::Payloads(payloads)) => payloads,
            Some(Open::Chunks { .. }) | None => Vec::new(),
        }
    }

    /// Drops the state of a call that has ended.
    pub(crate) fn abandon(&mut self, call: CallId) {
        self.take(call);
    }

    /// Drops all state.
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

/// The result field with this name, if there is one.
fn known_field(name: &str) -> Result<Field, CallError> {
    match Field::parse(name) {
        Field::Other(name) => Err(CallError::unknown_field(name)),
        known => Ok(known),
    }
}

fn fits(size: u64, limit: u64) -> Result<(), CallError> {
    if size <= limit { Ok(()) } else { Err(CallError::AnswerTooLarge { size, limit, is_of_frame: false }) }
}

fn fits_all(held: usize, more: usize, limit: usize) -> Result<(), CallError> {
    fits((held + more) as u64, limit as u64)
}

/// The cost of keeping a payload, in bytes. The sender chooses the lengths in its header too.
fn weight(raw: &Raw) -> usize {
    raw.payload.len() + raw.header.request_id.len() + raw.header.compression.len()
}

#[cfg(test)]
mod tests;

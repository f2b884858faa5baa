//! Outgoing frames, in three queues.
//!
//! ```text
//! urgent    replies that published SDKs take from the very next frame        ─┐
//! queued    requests, cancels and other replies, in order                     ├─▶ poll_transmit
//! deferred  what has to wait until no handshake is open ─▶ joins `queued`    ─┘
//! ```
//!
//! The queues hold whole frames as bytes. Frames that were handed out no longer count here.

use protomcp_codec::{EncodeError, Encoder, Limits, Raw};
use protomcp_envelope::Envelope;

/// The time at which a message may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Before the queued frames: published SDKs take the next frame for the answer.
    Next,
    /// In order.
    Now,
    /// Once the handshake or the two-reader workaround has ended (docs/envelope.md, "Handshake").
    AfterHandshake,
}

/// Frames that are not yet handed out.
#[derive(Debug)]
pub(crate) struct Outbox {
    encoder: Encoder,
    urgent: Vec<u8>,
    queued: Vec<u8>,
    /// The bytes of `queued` that are not requests.
    queued_replies: usize,
    deferred: Vec<u8>,
}

impl Outbox {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            encoder: Encoder::new(limits),
            urgent: Vec::new(),
            queued: Vec::new(),
            queued_replies: 0,
            deferred: Vec::new(),
        }
    }

    /// The number of waiting bytes.
    pub(crate) fn len(&self) -> usize {
        self.urgent.len() + self.queued.len() + self.deferred.len()
    }

    /// The waiting bytes that answer the peer or react to it, and so grow with its messages.
    pub(crate) fn replies(&self) -> usize {
        self.urgent.len() + self.queued_replies + self.deferred.len()
    }

    /// Queues a request.
    pub(crate) fn request(&mut self, envelope: &Envelope) -> Result<(), EncodeError> {
        self.encoder.encode_envelope(envelope, &mut self.queued)
    }

    /// Encodes a request, to be queued later with [`request_bytes`](Self::request_bytes).
    pub(crate) fn request_for_later(&mut self, envelope: &Envelope) -> Result<Vec<u8>, EncodeError> {
        let mut frame = Vec::new();
        self.encoder.encode_envelope(envelope, &mut frame)?;
        Ok(frame)
    }

    /// Queues a request that was encoded before.
    pub(crate) fn request_bytes(&mut self, frame: &[u8]) {
        self.queued.extend_from_slice(frame);
    }

    /// Queues a message for its turn.
    pub(crate) fn reply(&mut self, turn: Turn, envelope: &Envelope) -> Result<(), EncodeError> {
        match turn {
            Turn::Next => self.encoder.encode_envelope(envelope, &mut self.urgent),
            Turn::AfterHandshake => self.encoder.encode_envelope(envelope, &mut self.deferred),
            Turn::Now => self.queue_reply(|encoder, queued| encoder.encode_envelope(envelope, queued)),
        }
    }

    /// Queues a frame of length zero before all others.
    pub(crate) fn empty_frame(&mut self) {
        self.encoder.encode_empty(&mut self.urgent);
    }

    /// Queues a raw payload.
    pub(crate) fn reply_raw(&mut self, raw: &Raw) -> Result<(), EncodeError> {
        self.queue_reply(|encoder, queued| encoder.encode_raw(raw, queued))
    }

    /// Releases the messages that waited for the end of the handshake.
    pub(crate) fn release_deferred(&mut self) {
        if self.deferred.is_empty() {
            return;
        }
        let deferred = std::mem::take(&mut self.deferred);
        self.queued_replies += deferred.len();
        self.queued.extend_from_slice(&deferred);
    }

    /// Moves frames into `buffer`, by swapping when it is empty: urgent ones if there are any, else queued ones.
    /// Returns false if nothing may be written.
    pub(crate) fn hand_out(&mut self, buffer: &mut Vec<u8>) -> bool {
        let row = if self.urgent.is_empty() {
            self.queued_replies = 0;
            &mut self.queued
        } else {
            &mut self.urgent
        };
        if row.is_empty() {
            return false;
        }
        if buffer.is_empty() {
            std::mem::swap(buffer, row);
        } else {
            buffer.append(row);
        }
        true
    }

    fn queue_reply(
        &mut self,
        encode: impl FnOnce(&mut Encoder, &mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let before = self.queued.len();
        encode(&mut self.encoder, &mut self.queued)?;
        self.queued_replies += self.queued.len() - before;
        Ok(())
    }
}

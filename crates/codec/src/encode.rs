//! Encodes frames to bytes.
//!
//! The target is a plain `Vec<u8>` that the caller keeps and writes out in one go: appending to it is about three times
//! as fast as to a `BytesMut`. A frame is appended whole or, on an error, not at all.

use prost::Message;
use protomcp_envelope::{Envelope, Msg};

use crate::{
    error::EncodeError,
    frame::{Frame, Raw, TooLarge},
    limits::Limits,
};

/// Writes frames.
#[derive(Debug)]
pub struct Encoder {
    limits: Limits,
}

impl Encoder {
    /// An encoder that refuses anything beyond these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }

    /// Appends a frame, as the other side would decode it.
    ///
    /// # Errors
    /// If the frame is too large, or is a [`Frame::TooLarge`], whose content is unknown.
    pub fn encode(&mut self, frame: &Frame, dst: &mut Vec<u8>) -> Result<(), EncodeError> {
        match frame {
            Frame::Envelope(envelope) => self.encode_envelope(envelope, dst),
            Frame::Raw(raw) => self.encode_raw(raw, dst),
            Frame::TooLarge(TooLarge { size, .. }) => {
                Err(EncodeError::Skipped { size: usize::try_from(*size).unwrap_or(usize::MAX) })
            }
        }
    }

    /// Appends an envelope after its length prefix.
    ///
    /// An empty envelope has no bytes; on the wire it is a frame of length zero, which a decoder skips. An envelope
    /// with a raw header announces a payload; use [`encode_raw`](Self::encode_raw) for both.
    ///
    /// # Errors
    /// If the envelope is larger than [`Limits::max_frame`].
    pub fn encode_envelope(&mut self, envelope: &Envelope, dst: &mut Vec<u8>) -> Result<(), EncodeError> {
        let size = envelope.encoded_len();
        let prefix = u32::try_from(size).ok().filter(|_| size <= self.limits.max_frame);
        let Some(prefix) = prefix else {
            return Err(EncodeError::TooLarge { size, limit: self.limits.max_frame.min(u32::MAX as usize) });
        };
        dst.reserve(4 + size);
        dst.extend_from_slice(&prefix.to_be_bytes());
        envelope.encode_raw(dst);
        Ok(())
    }

    /// Appends a raw header and its payload.
    ///
    /// # Errors
    /// If the payload is larger than [`Limits::max_payload`], or the header does not fit a frame.
    pub fn encode_raw(&mut self, raw: &Raw, dst: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode_raw_header(raw, dst)?;
        dst.extend_from_slice(&raw.payload);
        Ok(())
    }

    /// Appends only the header of a raw payload. The caller writes `raw.payload` next, which avoids copying a large
    /// one.
    ///
    /// # Errors
    /// Like [`encode_raw`](Self::encode_raw).
    pub fn encode_raw_header(&mut self, raw: &Raw, dst: &mut Vec<u8>) -> Result<(), EncodeError> {
        let size = raw.payload.len();
        if size as u64 > self.limits.max_payload {
            let limit = usize::try_from(self.limits.max_payload).unwrap_or(usize::MAX);
            return Err(EncodeError::TooLarge { size, limit });
        }
        let mut header = raw.header.clone();
        header.size = size as u64;
        let envelope = Envelope { msg: Some(Msg::RawHeader(header)), ..Envelope::default() };
        self.encode_envelope(&envelope, dst)
    }

    /// Appends a frame of length zero, an empty message that every published SDK skips.
    pub fn encode_empty(&mut self, dst: &mut Vec<u8>) {
        dst.extend_from_slice(&[0; 4]);
    }
}

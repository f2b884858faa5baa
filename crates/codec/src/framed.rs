//! An adapter for `tokio_util::codec::Framed`.
//!
//! [`FrameCodec`] implements tokio-util's two traits with this crate's decoder and encoder. `Framed` ends its stream
//! after the first error, so a recoverable error is an item here: the stream yields `Result<Frame, DecodeError>`, and
//! fails only when it cannot continue.

use std::io;

use bytes::BytesMut;
use protomcp_envelope::Envelope;
use tokio_util::codec;

use crate::{
    decode::Decoder,
    encode::Encoder,
    error::{DecodeError, EncodeError},
    frame::{Frame, Raw},
    limits::Limits,
};

/// Both directions of a stream.
#[derive(Debug)]
pub struct FrameCodec {
    decoder: Decoder,
    encoder: Encoder,
    scratch: Vec<u8>,
}

impl FrameCodec {
    /// A codec for a fresh connection; the limits hold in both directions.
    pub fn new(limits: Limits) -> Self {
        Self { decoder: Decoder::new(limits.clone()), encoder: Encoder::new(limits), scratch: Vec::new() }
    }
}

/// A framed stream or sink has ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FramedError {
    /// Reading or writing failed, or the stream ended inside a frame.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bytes cannot be decoded any further.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The frame was not written. The sink stays usable.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

impl codec::Decoder for FrameCodec {
    type Item = Result<Frame, DecodeError>;
    type Error = FramedError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, FramedError> {
        match self.decoder.decode(src) {
            Ok(Some(frame)) => Ok(Some(Ok(frame))),
            Ok(None) => {
                src.reserve(self.decoder.want());
                Ok(None)
            }
            Err(error) if error.is_fatal() => Err(error.into()),
            Err(error) => Ok(Some(Err(error))),
        }
    }
}

impl codec::Encoder<&Envelope> for FrameCodec {
    type Error = FramedError;

    fn encode(&mut self, envelope: &Envelope, dst: &mut BytesMut) -> Result<(), FramedError> {
        self.scratch.clear();
        self.encoder.encode_envelope(envelope, &mut self.scratch)?;
        dst.extend_from_slice(&self.scratch);
        self.scratch.shrink_to(KEPT);
        Ok(())
    }
}

impl codec::Encoder<Envelope> for FrameCodec {
    type Error = FramedError;

    fn encode(&mut self, envelope: Envelope, dst: &mut BytesMut) -> Result<(), FramedError> {
        codec::Encoder::<&Envelope>::encode(self, &envelope, dst)
    }
}

impl codec::Encoder<Raw> for FrameCodec {
    type Error = FramedError;

    fn encode(&mut self, raw: Raw, dst: &mut BytesMut) -> Result<(), FramedError> {
        self.scratch.clear();
        self.encoder.encode_raw_header(&raw, &mut self.scratch)?;
        dst.reserve(self.scratch.len() + raw.payload.len());
        dst.extend_from_slice(&self.scratch);
        dst.extend_from_slice(&raw.payload);
        Ok(())
    }
}

/// The capacity that is kept between frames.
const KEPT: usize = 64 << 10;

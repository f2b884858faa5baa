//! From bytes to frames.
//!
//! ```text
//!                ┌────────────── zero length ─────────────┐
//!                ▼                                        │
//!            Between ──length──▶ whole frame there? ──▶ envelope ──▶ Frame::Envelope
//!             ▲ ▲ │ │                                     └─ raw header ──▶ Payload ──▶ Frame::Raw
//!             │ │ │ └─ envelope too large ─▶ Skip ──▶ Frame::TooLarge        │
//!             │ │ └─ hopeless ─▶ Lost         ▲                              │
//!             │ └─────────────────────────────┴──── payload too large ◀──────┤
//!             └──────────────────────────────────────────────────────────────┘
//! ```
//!
//! The decoder holds no bytes of its own. An incomplete frame stays in the caller's buffer; a frame that is skipped leaves
//! it as it comes.

use std::mem;

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use protomcp_proto::{Envelope, Msg, RawHeader};

use crate::{
    error::DecodeError,
    frame::{Frame, Raw, TooLarge, TooLargeKind},
    limits::Limits,
    walk::Walk,
};

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    state: State,
    want: usize,
    empty_frames: u64,
}

#[derive(Debug)]
enum State {
    /// A length prefix is next.
    Between,
    /// The payload of this header is next, and within the limits.
    Payload(Box<RawHeader>),
    /// So many bytes of something too large are next.
    Skip(Box<Skip>),
    /// Nothing can be told about the next byte.
    Lost(DecodeError),
}

#[derive(Debug)]
struct Skip {
    left: u64,
    frame: TooLarge,
    /// For an envelope: who it is for becomes known as it goes by.
    walk: Option<Walk>,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: State::Between, want: PREFIX, empty_frames: 0 }
    }

    /// The next frame in `src`, whose bytes are taken out of it; `None` when `src` does not hold all of it yet.
    ///
    /// Allocates nothing that it has not checked against the limits, and never makes `src` larger. Call it until it says
    /// `None`, then read more.
    ///
    /// # Errors
    /// See [`DecodeError`]. Unless it is [fatal](DecodeError::is_fatal), the broken frame was taken out of `src` and the
    /// next call goes on behind it.
    pub fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Frame>, DecodeError> {
        loop {
            let step = match self.state {
                State::Between => self.envelope(src)?,
                State::Payload(_) => self.payload(src),
                State::Skip(_) => self.skip(src)?,
                State::Lost(ref error) => return Err(error.clone()),
            };
            match step {
                Step::Frame(frame) => return Ok(Some(frame)),
                Step::Short(want) => {
                    self.want = want;
                    return Ok(None);
                }
                Step::On => {}
            }
        }
    }

    /// How many more bytes the frame at the head of the stream needs, as far as the last [`decode`](Self::decode) could
    /// tell, so that a driver can make room for all of it at once. At least 1, and never more than the limits allow.
    pub fn want(&self) -> usize {
        self.want
    }

    /// How many frames of length zero have gone by. They say nothing and are not reported otherwise.
    pub fn empty_frames(&self) -> u64 {
        self.empty_frames
    }

    #[inline]
    fn envelope(&mut self, src: &mut BytesMut) -> Result<Step, DecodeError> {
        let Some(prefix) = src.first_chunk::<PREFIX>() else { return Ok(Step::Short(PREFIX - src.len())) };
        let size = u32::from_be_bytes(*prefix);
        if size == 0 {
            src.advance(PREFIX);
            self.empty_frames += 1;
            return Ok(Step::On);
        }
        let Some(size) = usize::try_from(size).ok().filter(|size| *size <= self.limits.max_frame) else {
            src.advance(PREFIX);
            return self.too_large(size.into(), String::new(), TooLargeKind::Envelope);
        };
        let there = src.len() - PREFIX;
        if there < size {
            return Ok(Step::Short(size - there));
        }
        src.advance(PREFIX);
        // A slice of a large frame costs nothing. A slice of a small one would keep the whole buffer alive, and make
        // the next read allocate a new one.
        let frame = if size < COPIED_BELOW { copy(src, size) } else { src.split_to(size).freeze() };
        match Envelope::decode(frame.clone()) {
            Ok(Envelope { msg: Some(Msg::RawHeader(header)), request_id, .. }) => self.raw_header(header, request_id),
            Ok(envelope) => Ok(Step::Frame(Frame::Envelope(envelope))),
            Err(source) => Err(self.malformed(&frame, source)),
        }
    }

    fn raw_header(&mut self, mut header: RawHeader, request_id: String) -> Result<Step, DecodeError> {
        if header.request_id.is_empty() {
            // Wire §1.5 wants it in the header and the envelope's own empty. The other way round nothing is in doubt.
            header.request_id = request_id;
        }
        if header.size > self.limits.max_payload || isize::try_from(header.size).is_err() {
            return self.too_large(header.size, header.request_id, TooLargeKind::Payload);
        }
        self.state = State::Payload(Box::new(header));
        Ok(Step::On)
    }

    fn payload(&mut self, src: &mut BytesMut) -> Step {
        let State::Payload(header) = &mut self.state else { return Step::On };
        let size = usize::try_from(header.size).expect("the raw header was refused unless its size fits");
        if src.len() < size {
            return Step::Short(size - src.len());
        }
        let header = mem::take(&mut **header);
        self.state = State::Between;
        Step::Frame(Frame::Raw(Raw { header, payload: src.split_to(size).freeze() }))
    }

    fn too_large(&mut self, size: u64, request_id: String, kind: TooLargeKind) -> Result<Step, DecodeError> {
        let limit = self.limits.max_skip;
        if size > limit {
            return Err(self.lost(DecodeError::TooFar { size, limit }));
        }
        let walk = match kind {
            TooLargeKind::Envelope => Some(Walk::new()),
            TooLargeKind::Payload => None,
        };
        self.state = State::Skip(Box::new(Skip { left: size, walk, frame: TooLarge { size, request_id, kind } }));
        Ok(Step::On)
    }

    fn skip(&mut self, src: &mut BytesMut) -> Result<Step, DecodeError> {
        let State::Skip(skip) = &mut self.state else { return Ok(Step::On) };
        let step = clamp(skip.left, src.len());
        if let Some(walk) = &mut skip.walk {
            walk.feed(&src[..step]);
        }
        src.advance(step);
        skip.left -= step as u64;
        if skip.left > 0 {
            return Ok(Step::Short(clamp(skip.left, SKIP_STEP)));
        }
        let State::Skip(skip) = mem::replace(&mut self.state, State::Between) else { return Ok(Step::On) };
        let Skip { mut frame, walk, .. } = *skip;
        if let Some(walk) = walk {
            if walk.has_raw_header() {
                return Err(self.lost(DecodeError::LostPayload { size: frame.size }));
            }
            frame.request_id = walk.request_id();
        }
        Ok(Step::Frame(Frame::TooLarge(frame)))
    }

    #[cold]
    fn malformed(&mut self, frame: &[u8], source: prost::DecodeError) -> DecodeError {
        let walk = Walk::over(frame);
        if walk.has_raw_header() {
            return self.lost(DecodeError::LostPayload { size: frame.len() as u64 });
        }
        DecodeError::Malformed { size: frame.len(), request_id: walk.request_id(), source }
    }

    fn lost(&mut self, error: DecodeError) -> DecodeError {
        self.state = State::Lost(error.clone());
        error
    }
}

/// What one state made of the bytes.
// Lives for a moment on the stack; a box would cost every frame an allocation.
#[allow(clippy::large_enum_variant)]
enum Step {
    Frame(Frame),
    /// So many bytes are missing.
    Short(usize),
    /// Another state goes on.
    On,
}

fn copy(src: &mut BytesMut, size: usize) -> Bytes {
    let frame = Bytes::copy_from_slice(&src[..size]);
    src.advance(size);
    frame
}

/// The smaller of the two.
fn clamp(left: u64, most: usize) -> usize {
    usize::try_from(left).map_or(most, |left| left.min(most))
}

/// Bytes of the length prefix.
const PREFIX: usize = 4;

/// Frames below this size are copied out of the read buffer.
const COPIED_BELOW: usize = 4096;

/// How much a driver is asked to make room for while something is skipped.
const SKIP_STEP: usize = 64 << 10;

//! Decodes bytes to frames.
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
//! The decoder buffers nothing itself. An incomplete frame stays in the caller's buffer; a skipped frame is dropped
//! from it as it arrives.

use std::mem;

use bytes::{Buf, BytesMut};
use prost::Message;
use protomcp_envelope::{Envelope, Msg, RawHeader};

use crate::{
    delimited::Delimited,
    error::DecodeError,
    frame::{Frame, Raw, TooLarge, TooLargeKind},
    hot,
    limits::Limits,
    prescan::{self, Verdict},
    shape::ENVELOPE,
    walk::Walk,
};

/// Splits a stream of bytes into frames.
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
    /// This many bytes of an oversized frame are next.
    Skip(Box<Skip>),
    /// The stream is lost.
    Lost(DecodeError),
}

#[derive(Debug)]
struct Skip {
    left: u64,
    frame: TooLarge,
    /// For an envelope: the request id and kind, once they have passed.
    walk: Option<Walk>,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: State::Between, want: Delimited::PREFIX, empty_frames: 0 }
    }

    /// The next frame in `src`, removed from it; `None` while `src` holds only a part of it.
    ///
    /// Never allocates an unchecked size, and never grows `src`. Call it until it returns `None`, then read more.
    ///
    /// # Errors
    /// See [`DecodeError`]. Unless it is [fatal](DecodeError::is_fatal), the broken frame is removed from `src` and the
    /// next call continues after it.
    pub fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Frame>, DecodeError> {
        loop {
            match self.state {
                State::Between => match Delimited::head(src, self.limits.max_frame) {
                    Delimited::Partial(want) => {
                        self.want = want;
                        return Ok(None);
                    }
                    Delimited::Whole(0) => {
                        src.advance(Delimited::PREFIX);
                        self.empty_frames += 1;
                    }
                    Delimited::Whole(size) => return self.envelope(src, size),
                    Delimited::TooLarge(size) => {
                        src.advance(Delimited::PREFIX);
                        self.begin_skip(size.into(), String::new(), TooLargeKind::Envelope)?;
                    }
                },
                State::Payload(_) => return Ok(self.payload(src).map(Frame::Raw)),
                State::Skip(_) => return Ok(self.skip(src)?.map(Frame::TooLarge)),
                State::Lost(ref error) => return Err(error.clone()),
            }
        }
    }

    /// The number of bytes that the first incomplete frame still needs, as far as the last [`decode`](Self::decode)
    /// could tell, so that a driver can reserve once. At least 1, and never more than the limits allow.
    pub fn want(&self) -> usize {
        self.want
    }

    /// The number of frames of length zero so far. They are empty and not reported otherwise.
    pub fn empty_frames(&self) -> u64 {
        self.empty_frames
    }

    /// Decodes a complete envelope, and prepares for the payload that it announces.
    // A frame has some hundred bytes, and moving it twice costs as much as decoding it. With one local and one return
    // it is built in place.
    fn envelope(&mut self, src: &mut BytesMut, size: usize) -> Result<Option<Frame>, DecodeError> {
        let mut result = Ok(Some(Frame::Envelope(Envelope::default())));
        if let Ok(Some(Frame::Envelope(envelope))) = &mut result {
            src.advance(Delimited::PREFIX);
            if let Err(error) = self.merge(envelope, src, size) {
                result = Err(error);
            } else if let Some(Msg::RawHeader(header)) = &mut envelope.msg {
                let (header, request_id) = (mem::take(header), mem::take(&mut envelope.request_id));
                result = self.begin_payload(header, request_id).and_then(|()| self.decode(src));
            }
        }
        result
    }

    fn merge(&mut self, envelope: &mut Envelope, src: &mut BytesMut, size: usize) -> Result<(), DecodeError> {
        if size < Delimited::COPIED_BELOW {
            // Decoded from the buffer into separate fields, without a copy of the whole.
            let frame = &src[..size];
            let merged = if hot::fill(envelope, frame) { Ok(()) } else { self.merge_counted(envelope, frame, frame) };
            src.advance(size);
            merged
        } else {
            let frame = Delimited::take(src, size);
            self.merge_counted(envelope, &frame, frame.clone())?;
            if size >= KEPT_WHOLE_BELOW && envelope.encoded_len() < size / 2 {
                // Most of the frame is unknown fields, which must not stay in memory for the sake of the rest.
                envelope.clear();
                return self.merge_counted(envelope, &frame, &frame[..]);
            }
            Ok(())
        }
    }

    /// Decodes `buf`, which holds the bytes of `frame`, unless it has too many entries.
    fn merge_counted(&mut self, envelope: &mut Envelope, frame: &[u8], buf: impl Buf) -> Result<(), DecodeError> {
        match prescan::scan(frame, &ENVELOPE, self.limits.max_entries) {
            Verdict::Fits => envelope.merge(buf).map_err(|source| self.refused(frame, Some(source))),
            Verdict::TooMany => Err(self.refused(frame, None)),
            Verdict::Broken => Err(self.refused(frame, Some(cut_off()))),
        }
    }

    fn begin_payload(&mut self, mut header: RawHeader, request_id: String) -> Result<(), DecodeError> {
        if header.request_id.is_empty() {
            // The id belongs into the header, and the envelope has an empty one. The reverse is unambiguous too.
            header.request_id = request_id;
        }
        if header.size > self.limits.max_payload || isize::try_from(header.size).is_err() {
            return self.begin_skip(header.size, header.request_id, TooLargeKind::Payload);
        }
        self.state = State::Payload(Box::new(header));
        Ok(())
    }

    fn payload(&mut self, src: &mut BytesMut) -> Option<Raw> {
        let State::Payload(header) = &mut self.state else { return None };
        let size = usize::try_from(header.size).expect("a header with a size that does not fit is not kept");
        if src.len() < size {
            self.want = size - src.len();
            return None;
        }
        let header = mem::take(&mut **header);
        self.state = State::Between;
        Some(Raw { header, payload: Delimited::take(src, size) })
    }

    fn begin_skip(&mut self, size: u64, request_id: String, kind: TooLargeKind) -> Result<(), DecodeError> {
        let limit = self.limits.max_skip;
        if size > limit {
            return Err(self.lost(DecodeError::TooFar { size, limit }));
        }
        let walk = match kind {
            TooLargeKind::Envelope => Some(Walk::new()),
            TooLargeKind::Payload => None,
        };
        let frame = TooLarge { size, request_id, message: "empty", kind };
        self.state = State::Skip(Box::new(Skip { left: size, walk, frame }));
        Ok(())
    }

    fn skip(&mut self, src: &mut BytesMut) -> Result<Option<TooLarge>, DecodeError> {
        let State::Skip(skip) = &mut self.state else { return Ok(None) };
        let step = clamp(skip.left, src.len());
        if let Some(walk) = &mut skip.walk {
            walk.feed(&src[..step]);
        }
        src.advance(step);
        skip.left -= step as u64;
        if skip.left > 0 {
            self.want = clamp(skip.left, SKIP_STEP);
            return Ok(None);
        }
        let State::Skip(skip) = mem::replace(&mut self.state, State::Between) else { return Ok(None) };
        let Skip { mut frame, walk, .. } = *skip;
        if let Some(walk) = walk {
            if walk.has_raw_header() {
                return Err(self.lost(DecodeError::LostPayload { size: frame.size }));
            }
            frame.message = walk.message();
            frame.request_id = walk.request_id();
        }
        Ok(Some(frame))
    }

    /// The error for a frame that is malformed for this reason, or otherwise has too many entries.
    #[cold]
    fn refused(&mut self, frame: &[u8], malformed: Option<prost::DecodeError>) -> DecodeError {
        let (walk, size) = (Walk::over(frame), frame.len());
        if walk.has_raw_header() {
            return self.lost(DecodeError::LostPayload { size: size as u64 });
        }
        let (message, request_id) = (walk.message(), walk.request_id());
        match malformed {
            Some(source) => DecodeError::Malformed { size, request_id, message, source },
            None => DecodeError::TooManyEntries { size, request_id, message, limit: self.limits.max_entries },
        }
    }

    fn lost(&mut self, error: DecodeError) -> DecodeError {
        self.state = State::Lost(error.clone());
        error
    }
}

/// The generic decoder's error for a field that does not end where its message does.
fn cut_off() -> prost::DecodeError {
    Envelope::decode(&[REQUEST_ID, 1][..]).expect_err("its one byte is missing")
}

/// The smaller of the two.
fn clamp(left: u64, most: usize) -> usize {
    usize::try_from(left).map_or(most, |left| left.min(most))
}

/// Frames below this size may stay in memory for the sake of one field, however small.
const KEPT_WHOLE_BELOW: usize = 32 << 10;

/// The key of the request id.
const REQUEST_ID: u8 = 14 << 3 | 2;

/// The room that a driver should reserve while an oversized frame is skipped.
const SKIP_STEP: usize = 64 << 10;

//! Frames of the link as bytes: length prefix, raw sideband, compression, limits.
//!
//! The link between a bridge and a tool process is a byte stream (protomcp wire §1.1):
//!
//! ```text
//! 4 bytes, big-endian: N │ N bytes: one Envelope                                     an envelope
//! 4 bytes, big-endian: N │ N bytes: Envelope{raw_header{size: M}} │ M bytes          a raw payload (§1.5)
//! 4 bytes of zero                                                                    nothing; skipped
//! ```
//!
//! [`Decoder`] splits such a stream into [`Frame`]s, [`Encoder`] writes them. Neither does I/O, keeps time or
//! correlates answers; that is left to the caller. The crate is enough to write a tool process in Rust, see
//! `examples/tool_peer`.
//!
//! # Bounds
//!
//! Sizes are checked against [`Limits`] before anything is allocated for them. An oversized frame is skipped with
//! bounded memory and reported as [`TooLarge`], with the id of the request that will get no answer; the stream
//! continues. A frame that is not valid protobuf is reported and skipped, and so is one whose lists have more entries
//! than [`Limits::max_entries`]: these are counted before decoding. Only an error that hides the start of the next
//! frame ends the stream, see [`DecodeError::is_fatal`].
//!
//! # Copies
//!
//! Decoding takes a large frame out of the read buffer without copying, and the `bytes` fields of its messages are
//! slices of it. Reserve [`Decoder::want`] bytes, and the kernel writes a payload once, in place. Small frames are
//! copied out instead, so that a short answer does not keep a whole buffer alive.
//!
//! # Features
//!
//! - `zstd` (default): [`Raw::inflate`] and [`Raw::compress`] understand zstd.
//! - `tokio`: `FrameCodec` for `tokio_util::codec::Framed`.
//!
//! # Example
//!
//! ```
//! use bytes::BytesMut;
//! use protomcp_codec::{Decoder, Encoder, Frame, Limits};
//! use protomcp_proto::{Envelope, ListToolsRequest};
//!
//! let mut written = Vec::new();
//! let question = Envelope::new("1", ListToolsRequest {});
//! Encoder::new(Limits::default()).encode_envelope(&question, &mut written)?;
//!
//! let mut decoder = Decoder::new(Limits::default());
//! let mut read = BytesMut::from(&written[..5]);
//! assert_eq!(decoder.decode(&mut read)?, None);
//! read.extend_from_slice(&written[5..]);
//! assert_eq!(decoder.decode(&mut read)?, Some(Frame::Envelope(question)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunk;
mod compress;
mod decode;
mod encode;
mod error;
mod frame;
#[cfg(feature = "tokio")]
mod framed;
mod hot;
mod limits;
mod prescan;
mod result;
mod shape;
mod walk;

pub use chunk::chunks;
pub use decode::Decoder;
pub use encode::Encoder;
pub use error::{DecodeError, EncodeError, InflateError};
pub use frame::{Field, Frame, Raw, TooLarge, TooLargeKind};
#[cfg(feature = "tokio")]
pub use framed::{FrameCodec, FramedError};
pub use limits::Limits;
pub use result::Sideband;

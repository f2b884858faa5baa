#![doc = include_str!("../README.md")]

mod chunk;
mod compress;
mod decode;
mod delimited;
mod encode;
mod error;
mod frame;
#[cfg(feature = "tokio")]
mod framed;
mod hot;
mod limits;
pub mod prescan;
mod result;
mod shape;
mod walk;

pub use chunk::chunks;
pub use decode::Decoder;
pub use delimited::Delimited;
pub use encode::Encoder;
pub use error::{DecodeError, EncodeError, InflateError};
pub use frame::{Field, Frame, Raw, TooLarge, TooLargeKind};
#[cfg(feature = "tokio")]
pub use framed::{FrameCodec, FramedError};
pub use limits::Limits;
pub use result::Sideband;
pub use shape::Shape;

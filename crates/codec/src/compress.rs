//! Compression of raw payloads.
//!
//! Compression is per payload and named in its header: none, or `zstd` (docs/envelope.md, "Raw payloads"). A few bytes
//! of zstd can inflate to gigabytes, and the header's `uncompressed_size` is only a claim of the sender. So inflation
//! never writes more than the smaller of the claim and the limit, and a false claim fails the payload.

use bytes::Bytes;

use crate::{error::InflateError, frame::Raw, limits::Limits};

impl Raw {
    /// The text of the field: the payload, inflated if it is compressed.
    ///
    /// # Errors
    /// See [`InflateError`]. The stream stays usable after any of them.
    pub fn inflate(self, limits: &Limits) -> Result<Bytes, InflateError> {
        match self.header.compression.as_str() {
            "" => Ok(self.payload),
            #[cfg(feature = "zstd")]
            ZSTD => zstd::inflate(&self.payload, self.header.uncompressed_size, limits.max_payload),
            _ => {
                let _ = limits;
                Err(InflateError::UnknownCompression(self.header.compression))
            }
        }
    }

    /// A compressed copy. The payload stays as it is when it is compressed already, when the `zstd` feature is off, or
    /// when compression does not make it smaller.
    #[must_use]
    pub fn compress(self) -> Self {
        #[cfg(feature = "zstd")]
        if self.header.compression.is_empty()
            && let Some(smaller) = zstd::compress(&self.payload)
        {
            let mut header = self.header;
            header.uncompressed_size = self.payload.len() as u64;
            header.compression = ZSTD.to_owned();
            header.size = smaller.len() as u64;
            return Self { header, payload: smaller };
        }
        self
    }
}

#[cfg(feature = "zstd")]
const ZSTD: &str = "zstd";

#[cfg(feature = "zstd")]
mod zstd;

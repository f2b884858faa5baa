//! zstd for raw payloads.
//!
//! There are two paths. When the header declares a size, as the published SDKs do, the payload inflates in one step
//! into a buffer of that size. Otherwise the output grows as needed. Published Rust SDKs write zstd frames without a
//! content size, so the size in the frame itself is not used.

use bytes::Bytes;
use zstd::zstd_safe::{
    CompressionLevel, DCtx, InBuffer, OutBuffer, compress as compress_into, compress_bound, get_error_name,
};

use crate::error::InflateError;

/// Inflates to exactly `declared` bytes, or to as many as there are up to `limit` when `declared` is 0.
pub(super) fn inflate(payload: &[u8], declared: u64, limit: u64) -> Result<Bytes, InflateError> {
    let too_large = InflateError::TooLarge { limit };
    let limit = usize::try_from(limit).unwrap_or(isize::MAX as usize);
    match usize::try_from(declared) {
        Ok(0) => inflate_unknown(payload, limit, too_large),
        Ok(declared) if declared <= limit => inflate_declared(payload, declared),
        _ => Err(too_large),
    }
}

fn inflate_declared(payload: &[u8], declared: usize) -> Result<Bytes, InflateError> {
    let wrong = InflateError::WrongSize { declared: declared as u64 };
    // No memory for a size that so few bytes cannot inflate to.
    if declared / MAX_RATIO > payload.len() {
        return Err(wrong);
    }
    let mut out = Vec::with_capacity(declared);
    match DCtx::create().decompress(&mut out, payload) {
        Ok(size) if size == declared => Ok(out.into()),
        Ok(_) | Err(DESTINATION_TOO_SMALL) => Err(wrong),
        Err(code) => Err(InflateError::Corrupt(get_error_name(code))),
    }
}

fn inflate_unknown(payload: &[u8], limit: usize, too_large: InflateError) -> Result<Bytes, InflateError> {
    let mut context = DCtx::create();
    let mut input = InBuffer::around(payload);
    // One byte over the limit shows that there is more.
    let most = limit.saturating_add(1);
    let mut out: Vec<u8> = Vec::new();
    loop {
        if out.len() == out.capacity() {
            out.reserve_exact(out.len().max(FIRST_STEP).min(most - out.len()));
        }
        let at = out.len();
        let mut output = OutBuffer::around_pos(&mut out, at);
        // The return value hints at the input still needed; 0 means that a zstd frame is complete and written out.
        let hint = match context.decompress_stream(&mut output, &mut input) {
            Ok(hint) => hint,
            Err(code) => return Err(InflateError::Corrupt(get_error_name(code))),
        };
        if out.len() > limit {
            return Err(too_large);
        }
        if input.pos() == payload.len() {
            if hint == 0 {
                return Ok(out.into());
            }
            if out.len() < out.capacity() {
                return Err(InflateError::Corrupt("it ends too early"));
            }
        }
    }
}

/// The payload compressed, if that makes it smaller.
pub(super) fn compress(payload: &[u8]) -> Option<Bytes> {
    let mut out = Vec::with_capacity(compress_bound(payload.len()));
    // With room for the worst case only memory can fail; then the payload stays as it is.
    compress_into(&mut out, payload, LEVEL).ok()?;
    if out.len() >= payload.len() {
        return None;
    }
    out.shrink_to_fit();
    Some(out.into())
}

/// The level of the published SDKs.
const LEVEL: CompressionLevel = 3;

/// zstd's highest ratio: its smallest block has 4 bytes and inflates to 128 KiB.
const MAX_RATIO: usize = 32 << 10;

/// The initial buffer when the size is not declared.
const FIRST_STEP: usize = 256 << 10;

/// zstd's error 70, `ZSTD_error_dstSize_tooSmall`, as its functions return it.
const DESTINATION_TOO_SMALL: usize = 70_usize.wrapping_neg();

//! Bytes to frames and back: length prefix, raw sideband, compression, limits.

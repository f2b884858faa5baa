//! What one peer may make the other hold in memory.

/// Bounds on sizes that the other side chooses, in bytes, and on numbers of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest envelope that is decoded or encoded, without its length prefix. Larger ones are skipped on arrival.
    ///
    /// Default 64 MiB: published SDKs send a large result with structured content as one plain frame.
    pub max_frame: usize,
    /// The largest raw payload that is accepted, on the wire and after inflation. Larger ones are skipped on arrival.
    ///
    /// Default 256 MiB.
    pub max_payload: u64,
    /// The most that is read past to get over one frame or payload that is too large. Beyond it the stream is given up:
    /// waiting for so many bytes would cost more than a fresh tool process.
    ///
    /// Default 4 GiB, more than a length prefix can say, so only a raw payload can break it.
    pub max_skip: u64,
    /// The most entries that the lists of one envelope may have together: tools, resources, arguments of prompts, names.
    /// An envelope with more is refused, and so is one with more than sixteen fields for each entry that is allowed. Two
    /// bytes can be an entry, so this bounds the memory that decoding takes: as much as the frame again, and 1 KiB for each
    /// entry.
    ///
    /// Default 16,384: a frame takes 16 MiB at most beyond twice its size.
    pub max_entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_frame: 64 << 20, max_payload: 256 << 20, max_skip: 4 << 30, max_entries: 16_384 }
    }
}

//! Bounds on the memory that a peer can occupy.

/// Bounds on sizes that the peer chooses, in bytes, and on numbers of entries.
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
    /// The most bytes of one oversized frame or payload that are skipped. Beyond it the stream is abandoned: waiting
    /// for that many bytes would cost more than a new tool process.
    ///
    /// Default 4 GiB, more than a length prefix can express, so only a raw payload can exceed it.
    pub max_skip: u64,
    /// The most entries of all lists in one envelope: tools, resources, arguments of prompts, names. An envelope with
    /// more is rejected, and so is one with more than sixteen fields for each allowed entry. An entry can be two bytes
    /// long, so this bounds the memory of decoding: the size of the frame again, and 1 KiB for each entry.
    ///
    /// Default 16,384: decoding takes at most 16 MiB more than twice the size of the frame.
    pub max_entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_frame: 64 << 20, max_payload: 256 << 20, max_skip: 4 << 30, max_entries: 16_384 }
    }
}

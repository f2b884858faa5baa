//! Bounds on what one frame may cost.

/// Bounds on the frames of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameLimits {
    /// The largest message, in bytes without its length prefix, in both directions. At most [`FrameLimits::LARGEST`].
    ///
    /// Default 32 MiB. The first byte of a frame is then 0, 1 or 2, which no JSON text begins with.
    pub max_frame: usize,
    /// The most entries of all lists and maps in one message. An entry can be two bytes long, so this bounds the memory
    /// of decoding: the size of the frame again, and 1 KiB for each entry.
    ///
    /// Default 65,536.
    pub max_entries: usize,
    /// The name of the setting that raises `max_frame`, for errors: the flag of a command, for example.
    pub setting: Option<&'static str>,
}

impl FrameLimits {
    /// The largest limit, 128 MiB: no first byte of a frame is then white space of JSON (9, 10, 13, 32).
    pub const LARGEST: usize = 128 << 20;

    /// The entries of a message that every reader of this project takes.
    pub(crate) const MAX_ENTRIES: usize = 65_536;

    /// The limit of a frame in force.
    pub(crate) fn frame(&self) -> usize {
        self.max_frame.min(Self::LARGEST)
    }
}

impl Default for FrameLimits {
    fn default() -> Self {
        Self { max_frame: 32 << 20, max_entries: Self::MAX_ENTRIES, setting: None }
    }
}

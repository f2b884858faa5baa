//! Errors of the codec, grouped by the reaction of the caller.

/// The bytes at the head of the stream are not a frame.
///
/// [`is_fatal`](Self::is_fatal) decides if the stream can continue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A complete frame is not an envelope. It was consumed; the next frame can be decoded.
    #[error("a frame of {size} bytes is not an envelope")]
    Malformed {
        /// Length of the frame without its prefix.
        size: usize,
        /// The request id as far as it is readable; otherwise empty.
        request_id: String,
        /// The kind of message, such as `tool_list`, as far as it is readable; otherwise `empty`.
        message: &'static str,
        /// The reason.
        source: prost::DecodeError,
    },
    /// An envelope would take far more memory than it has bytes. It was consumed without decoding; the next frame can
    /// be decoded.
    #[error("a {message} of {size} bytes has more than {limit} entries")]
    TooManyEntries {
        /// Length of the frame without its prefix.
        size: usize,
        /// The request id, or nothing.
        request_id: String,
        /// The kind of message, such as `tool_list`.
        message: &'static str,
        /// [`Limits::max_entries`](crate::Limits::max_entries).
        limit: usize,
    },
    /// A raw header is unreadable, so the end of its payload is unknown. The stream is lost.
    #[error("a raw header of {size} bytes cannot be read, and with it the length of its payload is unknown")]
    LostPayload {
        /// Length of the frame without its prefix.
        size: u64,
    },
    /// A frame or payload is too large even to be skipped. The stream is lost.
    #[error("{size} bytes are announced, more than the {limit} that are read past")]
    TooFar {
        /// Announced size in bytes.
        size: u64,
        /// [`Limits::max_skip`](crate::Limits::max_skip).
        limit: u64,
    },
}

impl DecodeError {
    /// True if the stream is lost: no later frame can be found in it, and the decoder repeats this error for ever.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Malformed { .. } | Self::TooManyEntries { .. } => false,
            Self::LostPayload { .. } | Self::TooFar { .. } => true,
        }
    }

    /// The id of the request that the frame belongs to; empty if unknown.
    pub fn request_id(&self) -> &str {
        match self {
            Self::Malformed { request_id, .. } | Self::TooManyEntries { request_id, .. } => request_id,
            Self::LostPayload { .. } | Self::TooFar { .. } => "",
        }
    }

    /// The kind of message in the frame, such as `tool_list`; `empty` if unknown.
    pub fn message(&self) -> &'static str {
        match self {
            Self::Malformed { message, .. } | Self::TooManyEntries { message, .. } => message,
            Self::LostPayload { .. } | Self::TooFar { .. } => "empty",
        }
    }
}

/// A frame was not written. The buffer is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The frame is larger than the limits allow.
    #[error("{size} bytes are more than the limit of {limit}")]
    TooLarge {
        /// Size of the envelope or payload in bytes.
        size: usize,
        /// The exceeded limit.
        limit: usize,
    },
    /// The frame was too large on arrival, so its content is unknown.
    #[error("a frame of {size} bytes was skipped on arrival and cannot be sent on")]
    Skipped {
        /// Its size in bytes.
        size: usize,
    },
}

impl EncodeError {
    /// Size of the rejected frame, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::TooLarge { size, .. } | Self::Skipped { size } => *size,
        }
    }
}

/// A raw payload cannot be inflated. Only its call fails; the stream is not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InflateError {
    /// The compression is unknown.
    #[error("unknown compression \"{0}\"")]
    UnknownCompression(String),
    /// The payload is, or claims to be, larger than [`Limits::max_payload`](crate::Limits::max_payload) once inflated.
    #[error("the payload inflates to more than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The payload does not inflate to the size its header declares.
    #[error("the payload does not inflate to the {declared} bytes its header declares")]
    WrongSize {
        /// `uncompressed_size` of the header.
        declared: u64,
    },
    /// The payload is damaged or incomplete.
    #[error("the payload cannot be inflated: {0}")]
    Corrupt(&'static str),
}

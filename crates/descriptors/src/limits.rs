//! The bounds on schemas and messages of peers.

/// The bounds on a descriptor set. A set beyond one of them is refused before memory is allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaLimits {
    /// The bytes of the set. Default 8 MiB.
    pub bytes: usize,
    /// The files of the set, with its imports. Default 256.
    pub files: usize,
    /// The messages, enums and services. Default 10,000.
    pub types: usize,
    /// The fields, extensions, enum values and methods. Default 65,536.
    pub members: usize,
    /// The messages around a nested one, and itself. Default 32.
    pub nesting: usize,
    /// The bytes of all options together, which contain the rules of validation. Default 1 MiB.
    pub option_bytes: usize,
    /// The elements that are none of the above: imports, comments, positions. Default 262,144.
    pub elements: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            bytes: 8 << 20,
            files: 256,
            types: 10_000,
            members: 1 << 16,
            nesting: 32,
            option_bytes: 1 << 20,
            elements: 1 << 18,
        }
    }
}

/// The bounds on one message, decoded by its descriptor. A message beyond one of them is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageLimits {
    /// The bytes of the message in the binary form. Default 32 MiB, which is a frame of proto-mcp.
    pub bytes: usize,
    /// The bytes of the message as JSON. Default 64 MiB.
    pub json_bytes: usize,
    /// The values in the message at all depths. Default 262,144, each of which takes up to about 200 bytes.
    pub values: usize,
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self { bytes: 32 << 20, json_bytes: 64 << 20, values: 1 << 18 }
    }
}

//! Files in editions, which the descriptor library does not read.

/// The number of edition 2023 in `google.protobuf.Edition`.
pub(crate) const EDITION_2023: u64 = 1000;

/// The set with the files of edition 2023 written as proto3. Presence and encoding of each field stay, and so does every
/// option.
#[cfg(feature = "validation")]
pub(crate) fn rewrite(set: &[u8]) -> Vec<u8> {
    prost_protovalidate::normalize_edition_descriptor_set(set)
}

/// The set as it is. Its files in editions are refused.
#[cfg(not(feature = "validation"))]
pub(crate) fn rewrite(set: &[u8]) -> Vec<u8> {
    set.to_vec()
}

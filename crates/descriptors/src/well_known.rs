//! The files that every schema may import without containing them.

use std::sync::LazyLock;

#[cfg(feature = "validation")]
use prost::Message as _;
use prost_reflect::{DescriptorPool, MessageDescriptor, ReflectMessage};

/// The files whose messages have a special form in JSON. The files of a peer are ignored: a message that only bears the
/// name of one would be read by rules that do not fit it.
const FIXED: &[&str] = &[
    "google/protobuf/any.proto",
    "google/protobuf/duration.proto",
    "google/protobuf/empty.proto",
    "google/protobuf/field_mask.proto",
    "google/protobuf/struct.proto",
    "google/protobuf/timestamp.proto",
    "google/protobuf/wrappers.proto",
];

/// The file that defines the rules of `buf.validate`.
pub(crate) const RULES: &str = "buf/validate/validate.proto";

static KNOWN: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let any = prost_types::Any::default();
    any.descriptor().parent_pool().clone()
});

static BASE: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let mut pool = DescriptorPool::new();
    let added = pool.decode_file_descriptor_set(encoded(FIXED.iter().copied()).as_slice());
    debug_assert!(added.is_ok(), "{added:?}");
    pool
});

/// All known files. Linking them takes longer than linking the files of most tools, so it is done once.
static ALL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let mut pool = base();
    let added = pool.decode_file_descriptor_set(others(|_| false).as_slice());
    debug_assert!(added.is_ok(), "{added:?}");
    pool
});

#[cfg(feature = "validation")]
static OPTIONS: LazyLock<DescriptorPool> = LazyLock::new(|| prost_protovalidate::types::DESCRIPTOR_POOL.clone());

#[cfg(not(feature = "validation"))]
static OPTIONS: LazyLock<DescriptorPool> = LazyLock::new(|| KNOWN.clone());

/// A pool with the files that a peer cannot replace.
fn base() -> DescriptorPool {
    BASE.clone()
}

/// The beginning of a pool for the files of a peer.
pub(crate) struct Beginning {
    pub(crate) pool: DescriptorPool,
    /// Known files that precede the files of the peer, as the bytes of a set.
    pub(crate) set: Vec<u8>,
}

impl Beginning {
    /// All known files, without the ones that the peer replaces: `present` names its files.
    pub(crate) fn of(present: impl Fn(&str) -> bool) -> Self {
        if KNOWN.files().any(|file| !is_fixed(file.name()) && present(file.name())) {
            // They may import each other, so they are linked together.
            Self { pool: base(), set: others(present) }
        } else {
            Self { pool: ALL.clone(), set: Vec::new() }
        }
    }
}

/// The type of a descriptor set, with the options that are known here.
pub(crate) fn set_descriptor() -> Option<MessageDescriptor> {
    OPTIONS.get_message_by_name("google.protobuf.FileDescriptorSet")
}

/// True for a file that need not be in a set.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.get_file_by_name(name).is_some() || (cfg!(feature = "validation") && name == RULES)
}

/// True for a file that every implementation of protobuf, or of `buf.validate`, brings along.
#[cfg(feature = "validation")]
pub(crate) fn is_common(name: &str) -> bool {
    name.starts_with("google/protobuf/") || name == RULES
}

/// True for a file that a peer cannot replace.
pub(crate) fn is_fixed(name: &str) -> bool {
    FIXED.contains(&name)
}

/// `google/protobuf/struct.proto`, as the bytes of a set.
pub(crate) fn struct_set() -> Vec<u8> {
    encoded(["google/protobuf/struct.proto"].into_iter())
}

/// The known files that are not fixed, as the bytes of a set, without the ones that `present` names.
fn others(present: impl Fn(&str) -> bool) -> Vec<u8> {
    let files: Vec<_> = KNOWN.files().map(|file| file.name().to_owned()).collect();
    encoded(files.iter().map(String::as_str).filter(|name| !is_fixed(name) && !present(name)))
}

fn encoded<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut set = Vec::new();
    for file in names.filter_map(|name| KNOWN.get_file_by_name(name)) {
        push_file(&mut set, &file.encode_to_vec());
    }
    set
}

/// The file that defines the rules of `buf.validate`, for a set that has rules and does not contain it: rules are options
/// by number, and without the file they would be read as unknown fields and not be checked.
///
/// Its own options, which take most of its memory, are left out: the validator has them.
#[cfg(feature = "validation")]
pub(crate) fn rules_file() -> &'static [u8] {
    static SLIM: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let file = OPTIONS.get_file_by_name(RULES).map(|file| file.encode_to_vec()).unwrap_or_default();
        // This type has no room for options of others.
        let mut file = prost_types::FileDescriptorProto::decode(file.as_slice()).unwrap_or_default();
        file.source_code_info = None;
        file.encode_to_vec()
    });
    &SLIM
}

/// True if the bytes of a file may contain rules: the key of the extension 1159 occurs in them.
pub(crate) fn may_have_rules(file: &[u8]) -> bool {
    file.windows(2).any(|pair| pair == [0xba, 0x48])
}

/// Appends a file to the bytes of a set.
pub(crate) fn push_file(set: &mut Vec<u8>, file: &[u8]) {
    prost::encoding::encode_key(1, prost::encoding::WireType::LengthDelimited, set);
    prost::encoding::encode_varint(file.len() as u64, set);
    set.extend_from_slice(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_begins_with_all_files_that_the_peer_does_not_replace() {
        let names = |pool: &DescriptorPool| pool.files().map(|file| file.name().to_owned()).collect::<Vec<_>>();
        let whole = Beginning::of(|_| false);
        assert_eq!((names(&whole.pool).len(), whole.set.len()), (names(&KNOWN).len(), 0));
        assert!(whole.pool.get_message_by_name("google.protobuf.FileDescriptorSet").is_some());
        // A fixed file of the peer is ignored.
        assert!(Beginning::of(is_fixed).set.is_empty());
        // No other known file imports this one.
        let api = "google/protobuf/api.proto";
        let mut replaced = Beginning::of(|name| name == api);
        assert_eq!(names(&replaced.pool).len(), FIXED.len());
        replaced.pool.decode_file_descriptor_set(replaced.set.as_slice()).expect("the others link without it");
        assert_eq!(names(&replaced.pool).len() + 1, names(&KNOWN).len());
        assert!(replaced.pool.get_file_by_name(api).is_none() && whole.pool.get_file_by_name(api).is_some());
    }

    #[test]
    fn the_base_has_the_messages_with_a_json_form() {
        let names =
            ["Any", "Duration", "Empty", "FieldMask", "Struct", "Value", "ListValue", "Timestamp", "Int64Value"];
        for name in names {
            assert!(base().get_message_by_name(&format!("google.protobuf.{name}")).is_some(), "{name}");
        }
        assert!(is_known("google/protobuf/descriptor.proto") && !is_fixed("google/protobuf/descriptor.proto"));
    }
}

//! A descriptor set of a peer or a registry, loaded.
//!
//! Each set has its own pool, so two versions of one package do not meet. The bytes are kept as they came: the rules
//! of validation are extensions, which decoding into generated types would drop.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use crate::editions;
use crate::limits::SchemaLimits;
use crate::message_type::MessageType;
use crate::schema_error::SchemaError;
use crate::survey::Survey;
use crate::well_known::{self, Beginning};
use crate::wire::{Fields, Payload};

/// The messages of one descriptor set. Cloning is cheap.
#[derive(Clone)]
pub struct Schema(Arc<Loaded>);

struct Loaded {
    pool: DescriptorPool,
    bytes: Bytes,
    /// The files that no file of the set imports, sorted.
    roots: Vec<String>,
}

impl Schema {
    /// Loads an encoded `google.protobuf.FileDescriptorSet`. The files of `google/protobuf` may be missing.
    ///
    /// # Errors
    ///
    /// Fails if the set exceeds a limit or is not consistent. No set causes a panic.
    pub fn decode(bytes: impl Into<Bytes>, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        let bytes = bytes.into();
        let mut survey = Survey::of(&bytes, limits)?;
        let rewritten;
        if survey.files.values().any(|file| file.edition == Some(editions::EDITION_2023)) {
            rewritten = editions::rewrite(&bytes);
            survey = Survey::of(&rewritten, limits)?;
        }
        survey.check_imports(well_known::is_known)?;
        check_syntax(&survey)?;
        let Beginning { pool, mut set } = Beginning::of(|name| survey.files.contains_key(name));
        #[cfg(feature = "validation")]
        if !survey.files.contains_key(well_known::RULES)
            && survey
                .files
                .values()
                .any(|file| file.imports.contains(well_known::RULES) || well_known::may_have_rules(file.bytes))
        {
            well_known::push_file(&mut set, well_known::rules_file());
        }
        let mut roots: Vec<String> = Vec::new();
        let imported: BTreeSet<&str> = survey.files.values().flat_map(|file| file.imports.iter().copied()).collect();
        for (name, file) in &survey.files {
            if !well_known::is_fixed(name) {
                well_known::push_file(&mut set, file.bytes);
            }
            if !imported.contains(name) && !well_known::is_known(name) {
                roots.push((*name).to_owned());
            }
        }
        let pool = load(&pool, &set)?;
        Ok(Self(Arc::new(Loaded { pool, bytes, roots })))
    }

    /// The bytes of the set, as they came.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// The bytes of the set without the well-known files that this crate brings along, for a reader that has them. A
    /// reader need not have other files of `google/protobuf`, such as `cpp_features.proto`.
    #[must_use]
    pub fn bytes_without_common_files(&self) -> Bytes {
        let mut kept = Vec::new();
        for field in Fields::new(&self.0.bytes) {
            // The set was read before, so it is not malformed.
            if let Ok((1, Payload::Bytes(file))) = field
                && !file_name(file).is_some_and(well_known::is_known)
            {
                well_known::push_file(&mut kept, file);
            }
        }
        kept.into()
    }

    /// True if the set may contain rules of `buf.validate`.
    #[must_use]
    pub fn may_have_rules(&self) -> bool {
        well_known::may_have_rules(&self.0.bytes)
    }

    /// The files of the set with the well-known ones, for a validator.
    #[cfg(feature = "validation")]
    pub(crate) fn pool(&self) -> &DescriptorPool {
        &self.0.pool
    }

    /// True if the schema defines its own options, or brings its own definition of the rules.
    #[cfg(feature = "validation")]
    pub(crate) fn has_extensions(&self) -> bool {
        let brings_rules = Fields::new(&self.0.bytes)
            .any(|field| matches!(field, Ok((1, Payload::Bytes(file))) if file_name(file) == Some(well_known::RULES)));
        let is_own = |name: &str| !well_known::is_common(name);
        brings_rules || self.0.pool.all_extensions().any(|extension| is_own(extension.parent_file().name()))
    }

    /// A message by its full name, without a leading dot.
    #[must_use]
    pub fn message(&self, full_name: &str) -> Option<MessageType> {
        self.0.pool.get_message_by_name(full_name).filter(|found| !found.is_map_entry()).map(MessageType::new)
    }

    /// The messages outside of others in the files that no other file of the set imports.
    pub fn messages(&self) -> impl Iterator<Item = MessageType> {
        let files = self.0.roots.iter().filter_map(|name| self.0.pool.get_file_by_name(name));
        files.flat_map(|file| file.messages().collect::<Vec<_>>()).map(MessageType::new)
    }

    /// The input of a tool that names none: the only message whose name ends in `Request`, or the only message.
    #[must_use]
    pub fn default_input(&self) -> Option<MessageType> {
        let only = |mut found: Vec<MessageType>| if found.len() == 1 { found.pop() } else { None };
        only(self.messages().filter(|message| message.full_name().ends_with("Request")).collect())
            .or_else(|| only(self.messages().collect()))
    }

    /// The output of a tool that names none: the message named like its input, with `Response` in place of `Request`.
    #[must_use]
    pub fn default_output(&self, input: &MessageType) -> Option<MessageType> {
        let stem = input.full_name().strip_suffix("Request")?;
        self.message(&format!("{stem}Response"))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("bytes", &self.0.bytes.len()).field("roots", &self.0.roots).finish()
    }
}

/// `name` of a `FileDescriptorProto`.
fn file_name(file: &[u8]) -> Option<&str> {
    let names = Fields::new(file).filter_map(|field| match field {
        Ok((1, Payload::Bytes(name))) => std::str::from_utf8(name).ok(),
        _ => None,
    });
    names.last()
}

/// The library knows proto2 and proto3.
fn check_syntax(survey: &Survey<'_>) -> Result<(), SchemaError> {
    for (name, file) in &survey.files {
        let syntax = match (file.syntax, file.edition) {
            (None | Some("proto2" | "proto3"), None) => continue,
            (_, Some(edition)) => format!("edition {edition}"),
            (syntax, None) => syntax.unwrap_or_default().to_owned(),
        };
        return Err(SchemaError::Syntax { file: SchemaError::quote(name), syntax: SchemaError::quote(&syntax) });
    }
    Ok(())
}

/// Adds the files of a set to a pool. The survey leaves no set on which the library is known to panic; a panic that is
/// not known is an error nevertheless.
fn load(beginning: &DescriptorPool, set: &[u8]) -> Result<DescriptorPool, SchemaError> {
    let built = catch_unwind(AssertUnwindSafe(|| {
        let mut pool = beginning.clone();
        // The text of an error quotes the set; it is made here, because making it can fail, too.
        pool.decode_file_descriptor_set(set).map(|()| pool).map_err(|error| SchemaError::quote(&error.to_string()))
    }));
    match built {
        Ok(Ok(pool)) => check_maps(&pool).map(|()| pool),
        Ok(Err(reason)) => Err(SchemaError::Invalid(reason)),
        Err(_) => Err(SchemaError::Invalid("its definitions cannot be linked".to_owned())),
    }
}

/// Each entry of a map has a key and a value, of types that `descriptor.proto` allows. The library relies on it.
fn check_maps(pool: &DescriptorPool) -> Result<(), SchemaError> {
    let is_key = |field: &FieldDescriptor| {
        !matches!(field.kind(), Kind::Double | Kind::Float | Kind::Bytes | Kind::Message(_) | Kind::Enum(_))
    };
    for entry in pool.all_messages().filter(MessageDescriptor::is_map_entry) {
        let part = |number| entry.get_field(number).filter(|part| part.cardinality() != Cardinality::Repeated);
        if !part(1).is_some_and(|key| is_key(&key)) || part(2).is_none() {
            let name = SchemaError::quote(entry.full_name());
            return Err(SchemaError::Invalid(format!("the entry {name} of a map needs a key and a value")));
        }
    }
    Ok(())
}

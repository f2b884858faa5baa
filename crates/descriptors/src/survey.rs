//! Measures a descriptor set before it is decoded.
//!
//! The library that decodes it panics on some sets and needs memory out of proportion for others. The survey reads the
//! bytes once, allocates only names of files, and refuses sets that exceed a limit, miss an import, import in a circle,
//! or use a syntax that the library does not read. Field numbers are from `google/protobuf/descriptor.proto`.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::SchemaLimits;
use crate::schema_error::SchemaError;
use crate::wire::{Fields, Malformed, Payload};

/// The facts about a set that loading it needs.
#[derive(Debug, Default)]
pub(crate) struct Survey<'a> {
    /// The files by name, with their bytes and imports.
    pub(crate) files: BTreeMap<&'a str, SurveyedFile<'a>>,
    counts: Counts,
}

/// A file of a set.
#[derive(Debug, Default)]
pub(crate) struct SurveyedFile<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) imports: BTreeSet<&'a str>,
    pub(crate) syntax: Option<&'a str>,
    pub(crate) edition: Option<u64>,
}

#[derive(Debug, Default)]
struct Counts {
    types: usize,
    members: usize,
    option_bytes: usize,
    elements: usize,
}

/// The kind of a descriptor, which determines its field numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Enum,
    Service,
    Field,
    EnumValue,
    Method,
    Oneof,
    Range,
}

impl From<Malformed> for SchemaError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl<'a> Survey<'a> {
    /// Reads the set once.
    pub(crate) fn of(bytes: &'a [u8], limits: &SchemaLimits) -> Result<Self, SchemaError> {
        check("bytes", bytes.len(), limits.bytes)?;
        let mut survey = Self::default();
        for field in Fields::new(bytes) {
            match field? {
                (1, Payload::Bytes(file)) => survey.file(file, limits)?,
                (1, _) => return Err(SchemaError::Malformed),
                _ => survey.element(limits)?,
            }
        }
        Ok(survey)
    }

    fn file(&mut self, bytes: &'a [u8], limits: &SchemaLimits) -> Result<(), SchemaError> {
        let mut file = SurveyedFile { bytes, ..SurveyedFile::default() };
        let mut name = None;
        for field in Fields::new(bytes) {
            match field? {
                (1, Payload::Bytes(text)) => name = Some(utf8(text)?),
                (3, Payload::Bytes(import)) => {
                    self.element(limits)?;
                    file.imports.insert(utf8(import)?);
                }
                (4, Payload::Bytes(message)) => self.descriptor(Kind::Message, message, 1, limits)?,
                (5, Payload::Bytes(kind)) => self.descriptor(Kind::Enum, kind, 1, limits)?,
                (6, Payload::Bytes(service)) => self.descriptor(Kind::Service, service, 1, limits)?,
                (7, Payload::Bytes(extension)) => self.descriptor(Kind::Field, extension, 1, limits)?,
                (8, Payload::Bytes(options)) => self.options(options, limits)?,
                (9, Payload::Bytes(info)) => self.positions(info, limits)?,
                (12, Payload::Bytes(text)) => file.syntax = Some(utf8(text)?),
                (14, Payload::Varint(edition)) => file.edition = Some(edition),
                (14, _) => return Err(SchemaError::Malformed),
                _ => self.element(limits)?,
            }
        }
        let name = name.ok_or(SchemaError::Malformed)?;
        if self.files.insert(name, file).is_some() {
            return Err(SchemaError::DuplicateFile(SchemaError::quote(name)));
        }
        check("files", self.files.len(), limits.files)
    }

    fn descriptor(&mut self, kind: Kind, bytes: &[u8], depth: usize, limits: &SchemaLimits) -> Result<(), SchemaError> {
        check("levels of nesting", depth, limits.nesting)?;
        match kind {
            Kind::Message | Kind::Enum | Kind::Service => {
                self.counts.types += 1;
                check("types", self.counts.types, limits.types)?;
            }
            Kind::Field | Kind::EnumValue | Kind::Method => {
                self.counts.members += 1;
                check("fields", self.counts.members, limits.members)?;
            }
            Kind::Oneof | Kind::Range => self.element(limits)?,
        }
        for field in Fields::new(bytes) {
            match field? {
                (number, Payload::Bytes(inner)) if number == options_number(kind) => self.options(inner, limits)?,
                (number, Payload::Bytes(inner)) => self.inner(child(kind, number), inner, depth, limits)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A descriptor inside another one, or a name.
    fn inner(
        &mut self,
        kind: Option<Kind>,
        bytes: &[u8],
        depth: usize,
        limits: &SchemaLimits,
    ) -> Result<(), SchemaError> {
        match kind {
            Some(Kind::Message) => self.descriptor(Kind::Message, bytes, depth + 1, limits),
            Some(kind) => self.descriptor(kind, bytes, depth, limits),
            None => self.element(limits),
        }
    }

    fn options(&mut self, bytes: &[u8], limits: &SchemaLimits) -> Result<(), SchemaError> {
        self.counts.option_bytes += bytes.len();
        check("bytes of options", self.counts.option_bytes, limits.option_bytes)?;
        for option in Fields::new(bytes) {
            // `uninterpreted_option`: a compiler replaces it by the option that it means.
            if option?.0 == 999 {
                return Err(SchemaError::Invalid("an option is not interpreted".to_owned()));
            }
        }
        Ok(())
    }

    /// `SourceCodeInfo`: positions with numbers and comments.
    fn positions(&mut self, info: &[u8], limits: &SchemaLimits) -> Result<(), SchemaError> {
        for position in Fields::new(info) {
            self.element(limits)?;
            let (_, Payload::Bytes(position)) = position? else { continue };
            for part in Fields::new(position) {
                // A path and a span have few numbers; one that has more counts for them.
                match part? {
                    (1 | 2, Payload::Bytes(numbers)) => self.elements(numbers.len() / 16, limits)?,
                    _ => self.element(limits)?,
                }
            }
        }
        Ok(())
    }

    fn element(&mut self, limits: &SchemaLimits) -> Result<(), SchemaError> {
        self.elements(1, limits)
    }

    fn elements(&mut self, count: usize, limits: &SchemaLimits) -> Result<(), SchemaError> {
        self.counts.elements += count;
        check("elements", self.counts.elements, limits.elements)
    }

    /// Refuses imports that are missing or lead back to their file. `is_known` names files that need not be in the set.
    pub(crate) fn check_imports(&self, is_known: impl Fn(&str) -> bool) -> Result<(), SchemaError> {
        let mut open: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, file) in &self.files {
            for import in &file.imports {
                if !self.files.contains_key(import) && !is_known(import) {
                    let (file, import) = (SchemaError::quote(name), SchemaError::quote(import));
                    return Err(SchemaError::MissingImport { file, import });
                }
            }
            open.insert(name, file.imports.iter().copied().filter(|import| self.files.contains_key(import)).collect());
        }
        // A file closes when all its imports are closed. The files that stay open import each other.
        loop {
            let closed: Vec<&str> = open.iter().filter(|(_, left)| left.is_empty()).map(|(name, _)| *name).collect();
            if closed.is_empty() {
                break;
            }
            for name in &closed {
                open.remove(name);
            }
            for left in open.values_mut() {
                left.retain(|import| closed.binary_search(import).is_err());
            }
        }
        match open.first_key_value() {
            Some((name, _)) => Err(SchemaError::Cycle(SchemaError::quote(name))),
            None => Ok(()),
        }
    }
}

/// The number of the field `options` in a descriptor.
fn options_number(kind: Kind) -> u32 {
    match kind {
        Kind::Message => 7,
        Kind::Enum | Kind::Service | Kind::EnumValue | Kind::Range => 3,
        Kind::Field => 8,
        Kind::Method => 4,
        Kind::Oneof => 2,
    }
}

/// The kind of descriptor that a field of another one contains.
fn child(parent: Kind, number: u32) -> Option<Kind> {
    match (parent, number) {
        (Kind::Message, 2 | 6) => Some(Kind::Field),
        (Kind::Message, 3) => Some(Kind::Message),
        (Kind::Message, 4) => Some(Kind::Enum),
        (Kind::Message, 8) => Some(Kind::Oneof),
        (Kind::Message, 5 | 9) | (Kind::Enum, 4) => Some(Kind::Range),
        (Kind::Enum, 2) => Some(Kind::EnumValue),
        (Kind::Service, 2) => Some(Kind::Method),
        _ => None,
    }
}

fn check(quantity: &'static str, count: usize, limit: usize) -> Result<(), SchemaError> {
    if count > limit { Err(SchemaError::TooLarge { quantity, limit }) } else { Ok(()) }
}

fn utf8(bytes: &[u8]) -> Result<&str, SchemaError> {
    std::str::from_utf8(bytes).map_err(|_| SchemaError::Malformed)
}

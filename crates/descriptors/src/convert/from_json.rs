//! JSON Schema to protobuf.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::convert::descriptor_set::encode_set;
use crate::convert::field_names::field_names;
use crate::convert::keywords::Kind;
use crate::convert::lock::FieldLock;
use crate::convert::model::{FieldType, ProtoField, ProtoFile, ProtoMessage, Shape};
use crate::convert::names::{pascal_case, snake_case};
use crate::convert::report::Report;
use crate::convert::rules::Rules;
use crate::convert::text::{file_text, imports};

mod choices;
mod notes;
mod types;

/// The schemas around a nested one, and itself.
const MAX_DEPTH: usize = 24;

/// The fields of all messages of a tool.
const MAX_FIELDS: usize = 4096;

/// The bytes of the rules of all fields of a tool, about.
const MAX_RULES: usize = 512 << 10;

/// The bytes of names, of pointers and of schemas behind references that a tool may take: each field has its own
/// copies.
const MAX_COPIED: usize = 4 << 20;

/// The keywords of an object with properties that its message expresses. Keys that no schema mentions are refused.
const OBJECT_KEYWORDS: &[&str] = &["properties", "required", "additionalProperties", "dependentRequired"];

/// The way in which types are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Every field has presence, required ones have a rule, and integers without bounds have 64 bits.
    #[default]
    Strict,
    /// The style of the specification's example: required fields are plain, others `optional`, integers have 32 bits,
    /// and keys follow from the names of fields. The report says where that differs from the schema.
    Seed,
}

/// Converts the schemas of tools.
#[derive(Debug, Clone)]
pub struct Converter {
    package: String,
    style: Style,
}

/// The messages of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    file: ProtoFile,
    input: String,
    output: Option<String>,
    report: Report,
    is_open: bool,
}

/// The reason for which a schema is not converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The schema is not one of an object.
    #[error("the schema of a tool is one of an object")]
    NotAnObject,
    /// The package is not made of identifiers, or has a part inside that hides the packages of other files.
    #[error("{0:?} is not the name of a package for tools")]
    Package(String),
    /// The schema has more fields or rules, or is nested deeper, than is converted.
    #[error(
        "the schema has more than {MAX_FIELDS} properties, more than {MAX_DEPTH} schemas inside each other, or too many \
         bytes of names and rules, of which each field has copies"
    )]
    TooLarge,
}

impl Converter {
    /// Messages of `package`, in the strict style.
    ///
    /// # Errors
    ///
    /// Fails if `package` is not made of identifiers separated by dots, or if one behind the first is `google` or `buf`.
    pub fn new(package: &str) -> Result<Self, ConvertError> {
        let is_name = package.parse::<crate::FullName>().is_ok();
        // Inside `acme.google`, `google.protobuf` would mean `acme.google.protobuf`.
        let hides = package.split('.').skip(1).any(|part| part == "google" || part == "buf");
        if !is_name || hides {
            return Err(ConvertError::Package(package.chars().take(100).collect()));
        }
        Ok(Self { package: package.to_owned(), style: Style::Strict })
    }

    /// The style.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Converts the schemas of a tool. `lock` has the field numbers of earlier conversions, and gets the new ones.
    ///
    /// # Errors
    ///
    /// Fails if a schema is not one of an object, or too large.
    pub fn convert(
        &self,
        tool: &str,
        input: &Value,
        output: Option<&Value>,
        lock: &mut FieldLock,
    ) -> Result<Converted, ConvertError> {
        let stem = pascal_case(tool);
        let (mut messages, mut report) = (Vec::new(), Report::default());
        let mut taken = BTreeSet::new();
        let (mut names, mut is_open) = (Vec::new(), false);
        for (schema, suffix) in [(Some(input), "Request"), (output, "Response")] {
            let Some(schema) = schema else { continue };
            let name = format!("{stem}{suffix}");
            let mut reading = Reading::new(schema, self.style, lock);
            reading.taken = std::mem::take(&mut taken);
            reading.root(&name)?;
            if reading.is_too_large {
                return Err(ConvertError::TooLarge);
            }
            is_open |= reading.is_open;
            names.push(format!("{}.{name}", self.package));
            taken = reading.taken;
            messages.append(&mut reading.messages);
            for loss in reading.report.losses() {
                report.add(loss.verdict, &loss.pointer, &loss.keyword, &loss.reason);
            }
        }
        let file = ProtoFile { package: self.package.clone(), messages };
        let mut names = names.into_iter();
        let input = names.next().unwrap_or_default();
        Ok(Converted { file, input, output: names.next(), report, is_open })
    }
}

impl Converted {
    /// The source text.
    #[must_use]
    pub fn text(&self) -> String {
        file_text(&self.file)
    }

    /// The paths of the files that the source text imports.
    pub fn imports(&self) -> impl Iterator<Item = &'static str> + use<> {
        imports(&self.file)
    }

    /// The encoded descriptor set, for `Tool.inline_schema`. It contains comments and rules, and neither
    /// `buf/validate/validate.proto` nor `google/protobuf/struct.proto`: rules are known by number, and the other by name.
    #[must_use]
    pub fn descriptor_set(&self) -> Vec<u8> {
        encode_set(&self.file, &self.file_name())
    }

    /// The same set with `google/protobuf/struct.proto` in front, if it is used: all imports are in the set.
    #[must_use]
    pub fn complete_descriptor_set(&self) -> Vec<u8> {
        let mut set = if self.file.uses_struct() { crate::well_known::struct_set() } else { Vec::new() };
        set.extend(self.descriptor_set());
        set
    }

    /// True if a schema takes further keys, in addition to its properties or in place of them, which its message
    /// refuses. A `google.protobuf.Struct` suits such a tool better.
    #[must_use]
    pub fn refuses_keys(&self) -> bool {
        self.is_open
    }

    /// The path of the source file, such as `acme/tools/v1/web_search.proto`. A name that file systems refuse is cut and ends
    /// in a hash.
    #[must_use]
    pub fn file_name(&self) -> String {
        const LONGEST: usize = 255 - ".proto".len();
        let name = self.input.rsplit('.').next().unwrap_or_default();
        let mut stem = snake_case(name.strip_suffix("Request").unwrap_or(name));
        if stem.len() > LONGEST {
            // FNV-1a: stable for all versions, and no secret.
            let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            let hash = format!("_{:08x}", name.bytes().fold(0x811c_9dc5, mix));
            stem.truncate(LONGEST - hash.len());
            stem.push_str(&hash);
        }
        format!("{}/{stem}.proto", self.file.package.replace('.', "/"))
    }

    /// The full name of the input.
    #[must_use]
    pub fn input_type(&self) -> &str {
        &self.input
    }

    /// The full name of the output, if there is a schema of it.
    #[must_use]
    pub fn output_type(&self) -> Option<&str> {
        self.output.as_deref()
    }

    /// The parts that the messages do not express.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The names of the messages, without the package.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.file.messages.iter().map(|message| message.name.as_str())
    }

    /// The source text of one message without package and imports, for documents.
    #[must_use]
    pub fn message_text(&self, full_name: &str) -> Option<String> {
        let name = full_name.rsplit('.').next()?;
        let message = self.file.messages.iter().find(|message| message.name == name)?;
        Some(crate::convert::text::message_text(message))
    }
}

/// The conversion of one schema.
struct Reading<'a> {
    root: &'a Value,
    style: Style,
    lock: &'a mut FieldLock,
    report: Report,
    messages: Vec<ProtoMessage>,
    /// The messages of references, by JSON pointer.
    by_pointer: BTreeMap<String, String>,
    /// The ones of these that have been looked at: true if null is allowed, too.
    nullable: BTreeMap<String, bool>,
    /// The references that are being read, of which one inside itself has no message.
    open: Vec<String>,
    taken: BTreeSet<String>,
    depth: usize,
    fields: usize,
    /// The bytes of the rules of all fields.
    rules: usize,
    /// The bytes of copies.
    copied: usize,
    is_too_large: bool,
    /// The root takes keys that are not among its properties.
    is_open: bool,
}

/// A place in the schema, and the name of a message that is made there.
#[derive(Debug, Clone)]
struct Place {
    pointer: String,
    name: String,
}

/// The type of a schema, before it is known if its field is required.
struct Mapped {
    shape: Shape,
    rules: Rules,
    nullable: bool,
}

impl Mapped {
    fn new(element: FieldType, rules: Rules) -> Self {
        Self { shape: Shape::Plain(element), rules, nullable: false }
    }

    fn any(name: &'static str) -> Self {
        Self::new(FieldType::Any(name), Rules::default())
    }
}

impl Place {
    fn member(&self, keyword: &str, key: &str) -> Self {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        let pointer = format!("{}/{keyword}/{escaped}", self.pointer);
        Self { pointer, name: format!("{}{}", self.name, pascal_case(key)) }
    }

    fn inner(&self, keyword: &str) -> Self {
        Self { pointer: format!("{}/{keyword}", self.pointer), name: format!("{}Item", self.name) }
    }
}

impl<'a> Reading<'a> {
    fn new(root: &'a Value, style: Style, lock: &'a mut FieldLock) -> Self {
        Self {
            root,
            style,
            lock,
            report: Report::default(),
            messages: Vec::new(),
            by_pointer: BTreeMap::new(),
            nullable: BTreeMap::new(),
            open: Vec::new(),
            taken: BTreeSet::new(),
            depth: 0,
            fields: 0,
            rules: 0,
            copied: 0,
            is_too_large: false,
            is_open: false,
        }
    }

    fn root(&mut self, name: &str) -> Result<(), ConvertError> {
        let (schema, pointer) = self.dereference(self.root, "").ok_or(ConvertError::NotAnObject)?;
        let schema = schema.as_object().ok_or(ConvertError::NotAnObject)?;
        let is_object = match schema.get("type") {
            None => true,
            Some(Value::String(name)) => name == "object",
            Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
            Some(_) => false,
        };
        if !is_object {
            return Err(ConvertError::NotAnObject);
        }
        let place = Place { pointer: pointer.clone(), name: name.to_owned() };
        let schema = self.merged(schema, &place);
        self.by_pointer.insert(pointer, name.to_owned());
        self.taken.insert(name.to_owned());
        if schema.get("additionalProperties").is_some_and(|extra| *extra != Value::Bool(false)) {
            self.lossy(&place, "additionalProperties", "further keys are refused");
        }
        self.is_open = takes_keys(&schema);
        self.object(&schema, &place);
        Ok(())
    }

    fn copy(&mut self, bytes: usize) {
        self.copied += bytes;
        self.is_too_large |= self.copied > MAX_COPIED;
    }

    /// Makes the message of an object with properties. Its name is the name of the place.
    fn object(&mut self, schema: &Map<String, Value>, place: &Place) {
        let at = self.messages.len();
        let comment = description(schema);
        self.messages.push(ProtoMessage { name: place.name.clone(), comment, ..ProtoMessage::default() });
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            self.lossy(place, "required", &format!("{name:?} has no schema"));
        }
        let mut fields = Vec::new();
        for (key, property) in properties {
            self.fields += 1;
            self.is_too_large |= self.fields > MAX_FIELDS;
            if self.is_too_large {
                break;
            }
            let presence = if required.contains(&key.as_str()) { Presence::Required } else { Presence::Optional };
            let field = self.field(key, property, presence, place);
            fields.push(field);
        }
        self.name(properties, &mut fields, place);
        let rules = self.dependent_required(schema, properties, &fields, place);
        self.note(schema, Kind::Object, OBJECT_KEYWORDS, place);
        let numbers: Vec<u32> = fields.iter().map(|field| field.number).collect();
        let reserved = self.lock.reserved(&place.name, &numbers);
        let message = &mut self.messages[at];
        (message.fields, message.reserved, message.rules) = (fields, reserved, rules);
    }

    /// A field that has no name yet.
    fn field(&mut self, key: &str, schema: &Value, presence: Presence, place: &Place) -> ProtoField {
        let inner = place.member("properties", key);
        self.copy(inner.pointer.len() + inner.name.len());
        let mut mapped = self.mapped(schema, &inner);
        let number = self.lock.number(&place.name, key);
        self.present(&mut mapped, presence, &inner);
        self.rules += mapped.rules.size();
        self.is_too_large |= self.rules > MAX_RULES;
        let comment = schema.as_object().map(comment).unwrap_or_default();
        let (name, json_name) = (String::new(), None);
        ProtoField { name, json_name, number, shape: mapped.shape, rules: mapped.rules, comment }
    }

    /// Names the fields, each for the property at its position.
    fn name(&mut self, properties: &Map<String, Value>, fields: &mut [ProtoField], place: &Place) {
        let keys: Vec<(&str, bool)> =
            properties.keys().zip(&*fields).map(|(key, field)| (key.as_str(), field.shape.has_group())).collect();
        let mut names = field_names(&keys);
        for ((key, _), field) in keys.iter().zip(fields) {
            field.name = names.remove(key).unwrap_or_default();
            field.json_name = self.json_name(
                key,
                &field.name,
                |name| properties.contains_key(name),
                &place.member("properties", key),
            );
        }
    }
}

/// True for an object that takes keys in addition to its properties, by its own words or because it has no properties.
fn takes_keys(schema: &Map<String, Value>) -> bool {
    let has_keys = |keyword: &str| schema.get(keyword).and_then(Value::as_object).is_some_and(|list| !list.is_empty());
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|keyword| schema.get(*keyword)?.as_array()).flatten();
    match schema.get("additionalProperties") {
        _ if has_keys("patternProperties") => true,
        Some(Value::Bool(false)) => false,
        Some(_) => true,
        None => {
            !schema.contains_key("properties") || alternatives.into_iter().any(|one| one.get("properties").is_some())
        }
    }
}

/// The need for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}

fn description(schema: &Map<String, Value>) -> String {
    let text = schema.get("description").or_else(|| schema.get("title")).and_then(Value::as_str).unwrap_or_default();
    printable(text.trim())
}

/// The text without characters that would end a comment or change the order in which it is shown.
fn printable(text: &str) -> String {
    let reorders =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .filter(|c| *c == '\n' || !c.is_control() && !reorders(*c) && !['\u{2028}', '\u{2029}'].contains(c))
        .collect()
}

/// The comment of a field: its description, and its default.
fn comment(schema: &Map<String, Value>) -> String {
    let mut comment = description(schema);
    if let Some(default) = schema.get("default") {
        if !comment.is_empty() {
            comment.push('\n');
        }
        comment.push_str(&printable(&format!("Default: {default}")));
    }
    comment
}

//! Converted schemas against the originals: what a JSON Schema accepts its message accepts, what it refuses the message
//! refuses or the report names, and the schema that is made from the message agrees.
//!
//! The schemas are generated, or come from the lists in `tests/samples`. `MCP_TOOL_LISTS` names a folder with captured
//! results of `tools/list`, which are not part of the project; the test of their schemas is ignored, and runs with
//! `--ignored`.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use proptest::prelude::*;
use protomcp_descriptors::convert::{Converted, Converter, FieldLock, Report, Style, Verdict, to_json_schema};
use protomcp_descriptors::{MessageLimits, MessageType, Protovalidate, Schema, SchemaLimits, Validator};
use protox::file::{ChainFileResolver, DescriptorSetFileResolver, File, FileResolver, GoogleFileResolver};
use serde_json::{Map, Value, json};

/// A converted schema, ready to check values.
struct Checked {
    schema: Value,
    text: String,
    original: jsonschema::Validator,
    message: MessageType,
    validator: Protovalidate,
    back: jsonschema::Validator,
    report: Report,
}

impl Checked {
    fn new(schema: &Value) -> Self {
        let converter = Converter::new("samples.v1").expect("a package");
        let converted = converter.convert("tool", schema, None, &mut FieldLock::default());
        let converted = converted.unwrap_or_else(|error| panic!("{schema}: {error}"));
        agrees_with_its_text(&converted);
        let set = Schema::decode(converted.descriptor_set(), &SchemaLimits::default())
            .unwrap_or_else(|error| panic!("{schema}: {error}\n{}", converted.text()));
        let message = set.message(converted.input_type()).expect("the input is there");
        let back = to_json_schema(&message).expect("it is small");
        assert!(jsonschema::draft202012::meta::is_valid(&back), "{back}");
        Self {
            schema: schema.clone(),
            text: converted.text(),
            original: compiled(schema),
            validator: Protovalidate::new(&set),
            back: compiled(&back),
            report: converted.report().clone(),
            message,
        }
    }

    /// The reason for which the message refuses a value.
    fn refusal(&self, value: &Value) -> Option<String> {
        let read = match self.message.parse_json(&value.to_string(), &MessageLimits::default()) {
            Ok(read) => read,
            Err(error) => return Some(error.to_string()),
        };
        self.validator.validate(&read).err().map(|error| error.to_string())
    }

    fn check(&self, value: &Value) {
        let refusal = self.refusal(value);
        let set = without_nulls(value);
        let context = || format!("{value}\n{}\n{}", self.schema, self.text);
        if self.original.is_valid(value) {
            assert_eq!(refusal, None, "the original accepts {}", context());
            let back = self.comes_back(value);
            assert!(self.back.is_valid(&back), "the schema of the message refuses {back}, which was {}", context());
        } else if self.report.verdict() == Verdict::Lossless && !self.original.is_valid(&set) {
            assert!(refusal.is_some(), "the original refuses {}", context());
            assert!(!self.back.is_valid(value), "the schema of the message accepts {}", context());
        }
    }

    /// A value survives the binary form, but for nulls and empty lists. Returns the JSON form of its message.
    fn comes_back(&self, value: &Value) -> Value {
        let limits = MessageLimits::default();
        let read = self.message.parse_json(&value.to_string(), &limits).expect("it was accepted");
        let again = self.message.decode(&read.encode(), &limits).expect("what was written is read");
        let json = again.to_json(Default::default(), &limits).expect("it has a JSON form");
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(plain(&json), plain(value), "{value}");
        json
    }
}

/// A schema whose formats are checked, as rules are.
fn compiled(schema: &Value) -> jsonschema::Validator {
    let compiled = jsonschema::options().should_validate_formats(true).build(schema);
    compiled.unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// A value without the members that are null: they are missing fields.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let some = members.iter().filter(|(_, value)| !value.is_null());
            some.map(|(key, value)| (key.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// A value without the parts that protobuf does not tell from missing ones, and with one form for each number.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().map(|(key, value)| (key.clone(), plain(value)));
            let is_there = |value: &Value| !value.is_null() && *value != json!([]) && *value != json!({});
            kept.filter(|(_, value)| is_there(value)).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Number(number) => json!(number.as_f64()),
        other => other.clone(),
    }
}

/// The source text compiles to the same definitions.
fn agrees_with_its_text(converted: &Converted) {
    let mut files = ChainFileResolver::new();
    files.add(Source(converted.text()));
    files.add(GoogleFileResolver::new());
    let known = prost_protovalidate::types::DESCRIPTOR_POOL.encode_to_vec();
    files.add(DescriptorSetFileResolver::decode(known.as_slice()).expect("a sound set"));
    let mut compiler = protox::Compiler::with_file_resolver(files);
    compiler.include_imports(false);
    compiler.open_file("source.proto").unwrap_or_else(|error| panic!("{error:?}\n{}", converted.text()));
    let compiled = normalized(&compiler.encode_file_descriptor_set());
    assert_eq!(compiled, normalized(&converted.descriptor_set()), "{}", converted.text());
}

struct Source(String);

impl FileResolver for Source {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            "source.proto" => File::from_source(name, &self.0),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The definitions of a set, without names and positions of files. Rules are compared by what they do.
fn normalized(set: &[u8]) -> prost_types::FileDescriptorProto {
    let set = <prost_types::FileDescriptorSet as prost::Message>::decode(set).expect("a set");
    let mut file = set.file.into_iter().next().expect("one file");
    (file.name, file.source_code_info, file.dependency) = (None, None, Vec::new());
    for message in &mut file.message_type {
        message.options = None;
        message.field.iter_mut().for_each(|field| field.options = None);
        // Several ranges of one statement may be in any order.
        message.reserved_range.sort_by_key(|range| range.start);
    }
    file
}

/// Numbers that only depend on a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A schema of the kinds that have a type of protobuf.
fn schema(dice: &mut Dice, depth: u64) -> Value {
    let kinds = if depth == 0 { 8 } else { 12 };
    match dice.roll(kinds) {
        0 => json!({"type": "string", "minLength": dice.roll(3), "maxLength": 3 + dice.roll(5)}),
        1 => json!({"enum": ["a", "bb", "ccc"]}),
        2 => json!({"type": "integer", "minimum": dice.roll(10), "maximum": 10 + dice.roll(1000)}),
        3 => json!({"type": "integer", "exclusiveMinimum": -5, "multipleOf": 1 + dice.roll(3)}),
        4 => json!({"type": "number", "minimum": -1.5, "exclusiveMaximum": 10}),
        5 => json!({"type": "boolean"}),
        6 => json!({"type": ["string", "null"], "pattern": "^[a-z]*$"}),
        7 => json!({}),
        8 => json!({"type": "array", "items": schema(dice, 0), "maxItems": 3}),
        9 => json!({"type": "object", "additionalProperties": schema(dice, 0)}),
        10 => json!({"type": "array", "items": object(dice, depth - 1)}),
        _ => object(dice, depth - 1),
    }
}

fn object(dice: &mut Dice, depth: u64) -> Value {
    let names = ["query", "maxResults", "per-page", "x_y", "Z"];
    let count = 1 + dice.roll(names.len() as u64) as usize;
    let properties: Map<_, _> = names[..count].iter().map(|name| ((*name).to_owned(), schema(dice, depth))).collect();
    let required: Vec<&str> = names[..count].iter().copied().filter(|_| dice.roll(2) == 0).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A value for a schema, mostly a valid one.
fn value(schema: &Value, root: &Value, dice: &mut Dice) -> Value {
    if dice.roll(25) == 0 {
        return [json!("odd"), json!(-7), json!(1.5), json!(true), json!([]), json!({}), Value::Null]
            [dice.roll(7) as usize]
            .clone();
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#')) {
        return value(root.pointer(pointer).unwrap_or(&Value::Null), root, dice);
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array).filter(|list| !list.is_empty());
    if let Some(choices) = list("enum") {
        return choices[dice.roll(choices.len() as u64) as usize].clone();
    }
    if let Some(choices) = list("anyOf").or(list("oneOf")) {
        return value(&choices[dice.roll(choices.len() as u64) as usize], root, dice);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ if schema.get("properties").is_some() => vec!["object"],
        _ => vec!["string", "number", "boolean", "object"],
    };
    match types[dice.roll(types.len() as u64) as usize] {
        "string" => text(schema, dice),
        "integer" => {
            let least = schema["minimum"]
                .as_i64()
                .or(schema["exclusiveMinimum"].as_i64().map(|above| above + 1))
                .unwrap_or(-100);
            json!(least.saturating_add(dice.roll(30) as i64))
        }
        "number" => json!(schema["minimum"].as_f64().unwrap_or(0.0) + dice.roll(8) as f64 / 2.0),
        "boolean" => json!(dice.roll(2) == 0),
        "array" => {
            let count = schema["minItems"].as_u64().unwrap_or(0) + dice.roll(3);
            (0..count).map(|_| value(schema.get("items").unwrap_or(&json!({})), root, dice)).collect()
        }
        "object" => members(schema, root, dice),
        _ => Value::Null,
    }
}

fn text(schema: &Value, dice: &mut Dice) -> Value {
    match schema["format"].as_str() {
        Some("date-time") => json!("2026-01-01T00:00:00Z"),
        Some("uri") => json!("https://example.com/a"),
        Some("email") => json!("a@example.com"),
        Some("uuid") => json!("00112233-4455-6677-8899-aabbccddeeff"),
        Some("date") => json!("2026-01-01"),
        _ => json!("abcdefghijkl"[..(schema["minLength"].as_u64().unwrap_or(0) + dice.roll(4)).min(12) as usize]),
    }
}

fn members(schema: &Value, root: &Value, dice: &mut Dice) -> Value {
    let mut members = Map::new();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let chance = if required.contains(&key.as_str()) { 20 } else { 2 };
        if dice.roll(chance) != 0 {
            members.insert(key.clone(), value(property, root, dice));
        }
    }
    if let Some(extra) = schema.get("additionalProperties").filter(|extra| extra.is_object()) {
        for key in ["k1", "k 2"].iter().take(dice.roll(3) as usize) {
            members.insert((*key).to_owned(), value(extra, root, dice));
        }
    }
    members.into()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn messages_accept_what_their_schemas_accept(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let schema = object(&mut dice, 2);
        let checked = Checked::new(&schema);
        for _ in 0..40 {
            checked.check(&value(&schema, &schema, &mut dice));
        }
    }
}

/// Tools of lists in a folder: JSON arrays, or results of `tools/list`.
fn tools(folder: &Path) -> Vec<Value> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut tools = Vec::new();
    for file in files {
        let read: Value = serde_json::from_str(&fs::read_to_string(&file).expect("text")).expect("JSON");
        let list = read.get("tools").unwrap_or(&read);
        tools.extend(list.as_array().unwrap_or_else(|| panic!("{} has no list", file.display())).iter().cloned());
    }
    tools
}

/// Converts and checks the schemas of a list. Returns the number of schemas by verdict, and the losses as text.
fn convert_and_check(tools: &[Value]) -> ([usize; 3], String) {
    let (mut counts, mut losses) = ([0; 3], String::new());
    for tool in tools {
        for schema in [tool.get("inputSchema"), tool.get("outputSchema")].into_iter().flatten() {
            let checked = Checked::new(schema);
            let mut dice = Dice(7);
            for _ in 0..100 {
                checked.check(&value(schema, schema, &mut dice));
            }
            counts[checked.report.verdict() as usize] += 1;
            for loss in checked.report.losses() {
                losses.push_str(&format!("{} {}: {} {}\n", tool["name"], loss.pointer, loss.keyword, loss.reason));
            }
        }
        let seed_style = Converter::new("samples.v1").expect("a package").style(Style::Seed);
        let converted = seed_style.convert("tool", &tool["inputSchema"], None, &mut FieldLock::default());
        agrees_with_its_text(&converted.expect("it converts"));
    }
    (counts, losses)
}

#[test]
fn schemas_of_tools_convert_and_agree() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let (counts, losses) = convert_and_check(&tools(&samples));
    assert_eq!(counts, [5, 4, 2], "{losses}");
}

#[test]
#[ignore = "MCP_TOOL_LISTS has to name a folder with captured lists"]
fn captured_schemas_convert_and_agree() {
    let folder = env::var_os("MCP_TOOL_LISTS").expect("MCP_TOOL_LISTS names a folder with captured lists");
    let (counts, losses) = convert_and_check(&tools(Path::new(&folder)));
    println!("{losses}{} lossless, {} lossy, {} with a fallback", counts[0], counts[1], counts[2]);
    assert!(counts.iter().sum::<usize>() > 0, "the folder has tools");
}

/// The compiler of protobuf reads the text, and finds the same definitions.
#[test]
fn the_compiler_of_protobuf_agrees() {
    let mut lists = tools(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples"));
    lists.extend(env::var_os("MCP_TOOL_LISTS").map(|folder| tools(Path::new(&folder))).into_iter().flatten());
    assert!(!lists.is_empty(), "there are samples");
    let folder = tempfile::tempdir().expect("a folder");
    let known = folder.path().join("known.binpb");
    fs::write(&known, prost_protovalidate::types::DESCRIPTOR_POOL.encode_to_vec()).expect("it can be written");
    for style in [Style::Strict, Style::Seed] {
        let converter = Converter::new("samples.v1").expect("a package").style(style);
        let mut lock = FieldLock::default();
        for tool in &lists {
            let name = tool["name"].as_str().expect("a tool has a name");
            let converted = converter.convert(name, &tool["inputSchema"], tool.get("outputSchema"), &mut lock);
            let converted = converted.unwrap_or_else(|error| panic!("{name}: {error}"));
            let (source, made) = (folder.path().join("source.proto"), folder.path().join("made.binpb"));
            fs::write(&source, converted.text()).expect("it can be written");
            let output = Command::new(env::var_os("PROTOC").unwrap_or_else(|| "protoc".into()))
                .arg("--descriptor_set_in")
                .arg(&known)
                .arg("--proto_path")
                .arg(folder.path())
                .arg("--descriptor_set_out")
                .arg(&made)
                .arg(&source)
                .output()
                .expect("protoc starts");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}: {errors}\n{}", converted.text());
            let made = fs::read(&made).expect("it was written");
            assert_eq!(normalized(&made), normalized(&converted.descriptor_set()), "{name}: {}", converted.text());
        }
    }
}

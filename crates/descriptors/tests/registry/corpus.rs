//! The published conformance cases of protovalidate: descriptors from a registry, messages by reference, and validation.
//!
//! The cases are not part of the project. `PROTOVALIDATE_CORPUS` names a file with them (one message `ResultSet` of the
//! conformance harness, compressed by gzip). The test that needs it is ignored, and runs with `--ignored`.
//! A few cases of this project's own are always tested, and that wrong ones fail.
//! A case passes as in the default mode of the harness: violations are compared by field and rule, not by their texts, and
//! errors of compilation and of evaluation count as equal.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::time::{Duration, SystemTime};

use prost::{Message as _, bytes::Bytes};
use prost_protovalidate::types::DESCRIPTOR_POOL;
use protomcp_descriptors::registry::{Api, Codec, ModuleVersion, Resolver};
use protomcp_descriptors::{EntryPart, MessageLimits, Protovalidate, Schema, SchemaRef, ValidationError, Validator};
use protox::file::{ChainFileResolver, DescriptorSetFileResolver, File, FileResolver, GoogleFileResolver};

use super::stand_in::{APIS, StandIn};

#[derive(Clone, PartialEq, prost::Message)]
struct ResultSet {
    #[prost(message, repeated, tag = "3")]
    suites: Vec<Suite>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Suite {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "4")]
    cases: Vec<Case>,
    #[prost(bytes = "bytes", tag = "5")]
    descriptor_set: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Case {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, tag = "3")]
    wanted: Option<Outcome>,
    #[prost(message, tag = "5")]
    input: Option<prost_types::Any>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Outcome {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(bool, tag = "1")]
    Valid(bool),
    #[prost(message, tag = "2")]
    Violations(Violations),
    #[prost(string, tag = "3")]
    Compilation(String),
    #[prost(string, tag = "4")]
    Runtime(String),
    #[prost(string, tag = "5")]
    Unexpected(String),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Violations {
    #[prost(message, repeated, tag = "1")]
    violations: Vec<Violation>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Violation {
    #[prost(string, tag = "2")]
    rule_id: String,
    #[prost(bool, tag = "4")]
    for_key: bool,
    #[prost(message, tag = "5")]
    field: Option<FieldPath>,
    #[prost(message, tag = "6")]
    rule: Option<FieldPath>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct FieldPath {
    #[prost(message, repeated, tag = "1")]
    elements: Vec<Element>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Element {
    #[prost(string, tag = "2")]
    name: String,
    #[prost(oneof = "Subscript", tags = "6, 7, 8, 9, 10")]
    subscript: Option<Subscript>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Subscript {
    #[prost(uint64, tag = "6")]
    Index(u64),
    #[prost(bool, tag = "7")]
    Bool(bool),
    #[prost(int64, tag = "8")]
    Int(i64),
    #[prost(uint64, tag = "9")]
    Uint(u64),
    #[prost(string, tag = "10")]
    Text(String),
}

impl FieldPath {
    fn text(&self) -> String {
        let element = |element: &Element| match &element.subscript {
            None => element.name.clone(),
            Some(Subscript::Index(index)) => format!("{}[{index}]", element.name),
            Some(Subscript::Bool(key)) => format!("{}[{key}]", element.name),
            Some(Subscript::Int(key)) => format!("{}[{key}]", element.name),
            Some(Subscript::Uint(key)) => format!("{}[{key}]", element.name),
            Some(Subscript::Text(key)) => format!("{}[{key:?}]", element.name),
        };
        self.elements.iter().map(element).collect::<Vec<_>>().join(".")
    }
}

/// The time at which the corpus was recorded: its cases about the past and the future are relative to it.
fn recorded() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_257_517)
}

/// The parts of a violation that the default mode compares.
type Compared = (String, String, String, bool);

/// The outcome of a case, in a form that can be compared.
#[derive(Debug, PartialEq)]
enum Verdict {
    Valid,
    Violations(Vec<Compared>),
    BrokenRules,
}

fn wanted(outcome: &Outcome) -> Verdict {
    match outcome.kind.as_ref().expect("a case has an outcome") {
        Kind::Valid(_) => Verdict::Valid,
        Kind::Compilation(_) | Kind::Runtime(_) => Verdict::BrokenRules,
        Kind::Unexpected(text) => panic!("the corpus has no unexpected outcomes: {text}"),
        Kind::Violations(list) => {
            let text = |path: &Option<FieldPath>| path.as_ref().map(FieldPath::text).unwrap_or_default();
            let compared =
                |found: &Violation| (text(&found.field), text(&found.rule), found.rule_id.clone(), found.for_key);
            sorted(list.violations.iter().map(compared).collect())
        }
    }
}

fn sorted(mut violations: Vec<Compared>) -> Verdict {
    violations.sort();
    Verdict::Violations(violations)
}

/// The schema of a suite as a registry serves it, and the rules of its messages.
struct Served {
    resolver: Resolver,
    schema: Schema,
    validator: Protovalidate,
}

impl Served {
    async fn new(set: &Bytes, api: Api, codec: Codec) -> Self {
        let registry = StandIn::start().await;
        registry.order(|orders| orders.set = set.to_vec());
        let resolver = registry.resolver().api(api, codec).build();
        let any: SchemaRef = "registry.test/conformance/cases/a.B:v1".parse().expect("a reference");
        let schema = resolver.schema(&ModuleVersion::from(&any)).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(schema.bytes(), set, "the rules are extensions: every byte has to arrive");
        let validator = Protovalidate::with_clock(&schema, recorded);
        Self { resolver, schema, validator }
    }

    async fn verdict(&self, input: &prost_types::Any) -> Verdict {
        let name = input.type_url.rsplit('/').next().expect("a split has a last part");
        let reference = format!("registry.test/conformance/cases/{name}:v1").parse().expect("a reference");
        let message_type = self.resolver.resolve(&reference).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(Some(&message_type), self.schema.message(name).as_ref(), "it is cached");
        let limits = MessageLimits::default();
        let message = message_type.unpack(&input.type_url, &input.value, &limits).expect("the input is a message");
        match self.validator.validate(&message) {
            Ok(()) => Verdict::Valid,
            Err(ValidationError::Violations(found)) => {
                let compared = found
                    .into_iter()
                    .map(|found| (found.field, found.rule, found.rule_id, found.part == EntryPart::Key));
                sorted(compared.collect())
            }
            Err(_) => Verdict::BrokenRules,
        }
    }
}

/// The outcome of all cases of a corpus.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
    sets: usize,
}

async fn run(corpus: &ResultSet) -> Tally {
    let binary = APIS.into_iter().filter(|(_, codec)| *codec == Codec::Binary).cycle();
    let mut schemas: BTreeMap<Bytes, Served> = BTreeMap::new();
    let mut tally = Tally::default();
    for (suite, (api, codec)) in corpus.suites.iter().zip(binary) {
        if !schemas.contains_key(&suite.descriptor_set) {
            let served = Served::new(&suite.descriptor_set, api, codec).await;
            schemas.insert(suite.descriptor_set.clone(), served);
        }
        let served = &schemas[&suite.descriptor_set];
        for case in &suite.cases {
            let wanted = wanted(case.wanted.as_ref().expect("a case has an outcome"));
            let found = served.verdict(case.input.as_ref().expect("a case has an input")).await;
            if found == wanted {
                tally.passed += 1;
            } else {
                tally.failed.push(format!("{}/{}: {found:?}, not {wanted:?}", suite.name, case.name));
            }
        }
    }
    tally.sets = schemas.len();
    tally
}

#[tokio::test]
#[ignore = "PROTOVALIDATE_CORPUS has to name a file with the corpus"]
async fn every_case_of_the_corpus_passes() {
    let path = env::var_os("PROTOVALIDATE_CORPUS").expect("PROTOVALIDATE_CORPUS names a file with the corpus");
    let unpacked = Command::new("gzip").arg("-dc").arg(&path).output().expect("gzip starts");
    assert!(unpacked.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&unpacked.stderr));
    let corpus = ResultSet::decode(unpacked.stdout.as_slice()).expect("the corpus is a ResultSet");
    let Tally { passed, failed, sets } = run(&corpus).await;
    println!("{passed} of {} cases pass, over {sets} descriptor sets", passed + failed.len());
    assert!(passed > 0 && failed.is_empty(), "{passed} pass, {} fail:\n{}", failed.len(), failed.join("\n"));
}

/// Messages with rules of each outcome that a case can have.
const OWN: &str = r#"
    syntax = "proto3";
    package own.v1;
    import "buf/validate/validate.proto";
    import "google/protobuf/timestamp.proto";
    message Text { string a = 1 [(buf.validate.field).string = { min_len: 2, max_len: 4 }]; }
    message Items { repeated Text a = 1 [(buf.validate.field).repeated.max_items = 2]; }
    message Keys { map<string, int32> a = 1 [(buf.validate.field).map.keys.string.min_len = 2]; }
    message Past { google.protobuf.Timestamp a = 1 [(buf.validate.field).timestamp.lt_now = true]; }
    message Order {
      option (buf.validate.message).cel = { id: "order", message: "low before high", expression: "this.low <= this.high" };
      int64 low = 1;
      int64 high = 2;
    }
    message Unreadable { int32 a = 1 [(buf.validate.field).cel = { id: "x", expression: "this +" }]; }
    message Failing { int32 a = 1 [(buf.validate.field).cel = { id: "x", expression: "1 / this == 1" }]; }
"#;

struct Sources;

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            "own.proto" => File::from_source(name, OWN),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

fn own_set() -> Bytes {
    let mut files = ChainFileResolver::new();
    files.add(Sources);
    files.add(GoogleFileResolver::new());
    let rules = DESCRIPTOR_POOL.encode_to_vec();
    files.add(DescriptorSetFileResolver::decode(rules.as_slice()).expect("a sound set"));
    let mut compiler = protox::Compiler::with_file_resolver(files);
    compiler.include_imports(true).open_file("own.proto").expect("the source compiles");
    compiler.encode_file_descriptor_set().into()
}

/// A path of names, without subscripts.
fn path(names: &str) -> FieldPath {
    let element = |name: &str| Element { name: name.to_owned(), subscript: None };
    FieldPath { elements: names.split('.').filter(|name| !name.is_empty()).map(element).collect() }
}

/// The same path, whose last element has a subscript.
fn at(names: &str, subscript: Subscript) -> FieldPath {
    let mut path = path(names);
    if let Some(last) = path.elements.last_mut() {
        last.subscript = Some(subscript);
    }
    path
}

fn violates(field: Option<FieldPath>, rule: Option<FieldPath>, rule_id: &str, for_key: bool) -> Kind {
    let violation = Violation { rule_id: rule_id.to_owned(), for_key, field, rule };
    Kind::Violations(Violations { violations: vec![violation] })
}

/// Messages by name and bytes, with their outcomes.
fn own_cases() -> Vec<(&'static str, &'static [u8], Kind)> {
    let inner = || {
        let mut path = at("a", Subscript::Index(1));
        path.elements.push(Element { name: "a".to_owned(), subscript: None });
        path
    };
    vec![
        ("Text", b"\x0a\x02ab", Kind::Valid(true)),
        ("Text", b"\x0a\x01a", violates(Some(path("a")), Some(path("string.min_len")), "string.min_len", false)),
        ("Text", b"\x0a\x05abcde", violates(Some(path("a")), Some(path("string.max_len")), "string.max_len", false)),
        ("Items", b"\x0a\x04\x0a\x02ab", Kind::Valid(true)),
        (
            "Items",
            b"\x0a\x04\x0a\x02ab\x0a\x03\x0a\x01b",
            violates(Some(inner()), Some(path("string.min_len")), "string.min_len", false),
        ),
        (
            "Keys",
            b"\x0a\x05\x0a\x01x\x10\x01",
            violates(
                Some(at("a", Subscript::Text("x".to_owned()))),
                Some(path("map.keys.string.min_len")),
                "string.min_len",
                true,
            ),
        ),
        // A second before and after the time at which the corpus was recorded.
        ("Past", b"\x0a\x06\x08\xac\xe9\x85\xd8\x06", Kind::Valid(true)),
        (
            "Past",
            b"\x0a\x06\x08\xae\xe9\x85\xd8\x06",
            violates(Some(path("a")), Some(path("timestamp.lt_now")), "timestamp.lt_now", false),
        ),
        ("Order", b"\x08\x01\x10\x02", Kind::Valid(true)),
        ("Order", b"\x08\x02\x10\x01", violates(None, None, "order", false)),
        ("Unreadable", b"\x08\x01", Kind::Compilation("it is not an expression".to_owned())),
        ("Failing", b"", Kind::Runtime("it divides by zero".to_owned())),
    ]
}

fn own_corpus(cases: Vec<(&str, &[u8], Kind)>) -> ResultSet {
    let case = |(name, value, kind): (&str, &[u8], Kind)| Case {
        name: name.to_owned(),
        wanted: Some(Outcome { kind: Some(kind) }),
        input: Some(prost_types::Any { type_url: format!("type.googleapis.com/own.v1.{name}"), value: value.to_vec() }),
    };
    let cases = cases.into_iter().map(case).collect();
    ResultSet { suites: vec![Suite { name: "own".to_owned(), cases, descriptor_set: own_set() }] }
}

#[tokio::test]
async fn cases_of_every_outcome_pass_from_a_registry() {
    let Tally { passed, failed, .. } = run(&own_corpus(own_cases())).await;
    assert_eq!((passed, failed), (own_cases().len(), Vec::new()));
}

/// So that a corpus cannot pass by accident.
#[tokio::test]
async fn cases_with_another_outcome_fail() {
    let turned = own_cases().into_iter().map(|(name, value, kind)| {
        let other = match kind {
            Kind::Valid(_) => violates(Some(path("a")), None, "string.min_len", false),
            Kind::Violations(mut list) if list.violations[0].for_key => {
                list.violations[0].for_key = false;
                Kind::Violations(list)
            }
            _ => Kind::Valid(true),
        };
        (name, value, other)
    });
    let Tally { passed, failed, .. } = run(&own_corpus(turned.collect())).await;
    assert_eq!((passed, failed.len()), (0, own_cases().len()), "{failed:?}");
}

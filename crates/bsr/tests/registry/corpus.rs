//! The published conformance cases of protovalidate: descriptors from a registry, messages by reference, and validation.
//!
//! The cases are not part of the project. `PROTOVALIDATE_CORPUS` names a file with them (one message `ResultSet` of the
//! conformance harness, compressed by gzip); without it the test says so and does nothing.
//! A case passes as in the default mode of the harness: violations are compared by field and rule, not by their texts, and
//! errors of compilation and of evaluation count as equal.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::time::{Duration, SystemTime};

use prost::{Message as _, bytes::Bytes};
use protomcp_bsr::registry::{Api, Codec, ModuleVersion, Resolver};
use protomcp_bsr::{EntryPart, MessageLimits, Protovalidate, Schema, SchemaRef, ValidationError, Validator};

use crate::stand_in::{APIS, StandIn};

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
    async fn new(set: &Bytes, (api, codec): (Api, Codec)) -> Self {
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

#[tokio::test]
async fn every_case_of_the_corpus_passes() {
    let Some(path) = env::var_os("PROTOVALIDATE_CORPUS") else {
        println!("PROTOVALIDATE_CORPUS is not set: the corpus is not tested");
        return;
    };
    let unpacked = Command::new("gzip").arg("-dc").arg(&path).output().expect("gzip starts");
    assert!(unpacked.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&unpacked.stderr));
    let corpus = ResultSet::decode(unpacked.stdout.as_slice()).expect("the corpus is a ResultSet");
    let binary = APIS.into_iter().filter(|(_, codec)| *codec == Codec::Binary).cycle();
    let mut schemas: BTreeMap<Bytes, Served> = BTreeMap::new();
    let (mut passed, mut failed) = (0, Vec::new());
    for (suite, interface) in corpus.suites.iter().zip(binary) {
        if !schemas.contains_key(&suite.descriptor_set) {
            let served = Served::new(&suite.descriptor_set, interface).await;
            schemas.insert(suite.descriptor_set.clone(), served);
        }
        let served = &schemas[&suite.descriptor_set];
        for case in &suite.cases {
            let wanted = wanted(case.wanted.as_ref().expect("a case has an outcome"));
            let found = served.verdict(case.input.as_ref().expect("a case has an input")).await;
            if found == wanted {
                passed += 1;
            } else {
                failed.push(format!("{}/{}: {found:?}, not {wanted:?}", suite.name, case.name));
            }
        }
    }
    println!("{passed} of {} cases pass, over {} descriptor sets", passed + failed.len(), schemas.len());
    assert!(passed > 0 && failed.is_empty(), "{passed} pass, {} fail:\n{}", failed.len(), failed.join("\n"));
}

//! The grammar of schema references, as a table, and its round trip.

use proptest::prelude::*;
use protomcp_descriptors::{Module, ReferenceError, SchemaRef, Strictness, Version};

const COMMIT: &str = "0123456789abcdef0123456789abcdef";

/// References that are accepted, with the version that they name.
const GOOD: &[(&str, Option<&str>)] = &[
    ("buf.build/acme/tools/acme.tools.v1.WebSearchRequest:v1", Some("v1")),
    ("buf.build/buf/stdlib/buf.mcp.tools.v1.FileReadRequest:v1.2.3", Some("v1.2.3")),
    ("buf.build/acme/tools/acme.tools.v1.WebSearchRequest", None),
    ("buf.build/acme/tools/a.B:main", Some("main")),
    ("buf.build/acme/tools/a.B:0123456789abcdef0123456789abcdef", Some(COMMIT)),
    ("buf.build/acme/tools/a.B:feature/new-tools", Some("feature/new-tools")),
    ("buf.build/acme/tools/a.B:user/feature/x", Some("user/feature/x")),
    ("buf.build/acme/tools/a.B:v1.0.0-rc.1+build", Some("v1.0.0-rc.1+build")),
    ("buf.build/acme/tools/a.B:%2e", Some("%2e")),
    ("acme.buf.dev/acme/tools/a.B:v1", Some("v1")),
    ("schemas.example.internal/acme/tools/a.B:v1", Some("v1")),
    ("buf.build/a/bc/a.B:v1", Some("v1")),
    ("buf.build/a-1/b_2.c-3/a.B:v1", Some("v1")),
    ("buf.build/acme/tools/a_1.B_2:v1", Some("v1")),
    ("buf.build/acme/tools/_a._B:v1", Some("v1")),
    ("buf.build/acme/tools/a.Outer.Inner:v1", Some("v1")),
    ("buf.build/acme/tools/a.B:größe", Some("größe")),
];

/// References that are refused, with the part that is at fault.
const BAD: &[(&str, &str)] = &[
    ("", "parts"),
    ("buf.build", "parts"),
    ("buf.build/acme", "parts"),
    ("buf.build/acme/tools", "parts"),
    ("buf.build/acme/tools/", "name"),
    ("buf.build/acme/tools/web_search:v1", "package"),
    ("buf.build/acme/tools/:v1", "name"),
    ("buf.build/acme/tools/.a.B:v1", "name"),
    ("buf.build/acme/tools/a.B.:v1", "name"),
    ("buf.build/acme/tools/a..B:v1", "name"),
    ("buf.build/acme/tools/a.1B:v1", "name"),
    ("buf.build/acme/tools/a.B-C:v1", "name"),
    ("buf.build/acme/tools/a/b.C:v1", "name"),
    ("buf.build/acme/tools/../b.C:v1", "name"),
    ("buf.build/acme/tools/a.B%20:v1", "name"),
    ("buf.build/acme/tools/a.B:", "version"),
    ("buf.build/acme/tools/a.B:v1:v2", "version"),
    ("buf.build/acme/tools/a.B:v 1", "version"),
    ("buf.build/acme/tools/a.B:v1\n", "version"),
    ("buf.build/acme/tools/a.B:v1@x", "version"),
    ("buf.build/acme/tools/a.B:v1?x", "version"),
    ("buf.build/acme/tools/a.B:v1#x", "version"),
    ("buf.build/acme/tools/a.B:../v1", "version"),
    ("buf.build/acme/tools/a.B:/v1", "version"),
    ("buf.build/acme/tools/a.B:v1/", "version"),
    ("buf.build/acme/tools/a.B:a//b", "version"),
    ("buf.build/acme/tools/a.B:a\\b", "version"),
    ("build/acme/tools/a.B:v1", "host"),
    ("/acme/tools/a.B:v1", "host"),
    (".build/acme/tools/a.B:v1", "host"),
    ("buf./acme/tools/a.B:v1", "host"),
    ("buf..build/acme/tools/a.B:v1", "host"),
    ("-buf.build/acme/tools/a.B:v1", "host"),
    ("buf.build:443/acme/tools/a.B:v1", "host"),
    ("user@buf.build/acme/tools/a.B:v1", "host"),
    ("127.0.0.1/acme/tools/a.B:v1", "host"),
    ("https://buf.build/acme/tools/a.B:v1", "host"),
    ("büf.build/acme/tools/a.B:v1", "host"),
    ("buf.build//tools/a.B:v1", "owner"),
    ("buf.build/Acme/tools/a.B:v1", "owner"),
    ("buf.build/ac_me/tools/a.B:v1", "owner"),
    ("buf.build/../tools/a.B:v1", "owner"),
    ("buf.build/acme//a.B:v1", "module"),
    ("buf.build/acme/t/a.B:v1", "module"),
    ("buf.build/acme/Tools/a.B:v1", "module"),
    ("buf.build/acme/../a.B:v1", "module"),
    ("buf.build/acme/t..s/a.B:v1", "module"),
    ("buf.build/acme/tools:v1/a.B", "module"),
];

fn part(error: &ReferenceError) -> &'static str {
    match error {
        ReferenceError::Parts => "parts",
        ReferenceError::Host(_) => "host",
        ReferenceError::Owner(_) => "owner",
        ReferenceError::Module(_) => "module",
        ReferenceError::FullName(_) => "name",
        ReferenceError::NoPackage(_) => "package",
        ReferenceError::Version(_) => "version",
        _ => "other",
    }
}

#[test]
fn good_references_are_read_and_written_alike() {
    for (text, version) in GOOD {
        let reference: SchemaRef = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(reference.to_string(), *text);
        assert_eq!(reference.version().map(Version::as_str), *version, "{text}");
    }
}

#[test]
fn bad_references_are_refused_by_the_part_at_fault() {
    for (text, at_fault) in BAD {
        let error = text.parse::<SchemaRef>().expect_err(text);
        assert_eq!(part(&error), *at_fault, "{text}: {error}");
    }
}

#[test]
fn each_limit_is_the_last_length_that_fits() {
    let owner = |len: usize| format!("buf.build/{}/tools/a.B", "o".repeat(len));
    let module = |len: usize| format!("buf.build/acme/{}/a.B", "m".repeat(len));
    let label = |len: usize| format!("buf.build/acme/tools/a.B:{}", "ß".repeat(len));
    let name = |len: usize| format!("buf.build/acme/tools/a.{}", "B".repeat(len - 2));
    let makes: [(&dyn Fn(usize) -> String, usize); 4] = [
        (&owner, protomcp_descriptors::MAX_OWNER),
        (&module, protomcp_descriptors::MAX_MODULE),
        (&label, protomcp_descriptors::MAX_LABEL),
        (&name, protomcp_descriptors::MAX_FULL_NAME),
    ];
    for (make, limit) in makes {
        assert!(make(limit).parse::<SchemaRef>().is_ok(), "{limit}");
        let error = make(limit + 1).parse::<SchemaRef>().expect_err("one more is too long");
        assert!(error.to_string().len() < 400, "a message quotes little: {error}");
    }
}

#[test]
fn hosts_are_compared_in_lower_case() {
    let reference: SchemaRef = "Buf.Build/acme/tools/a.B:v1".parse().expect("a host has no case");
    assert_eq!(reference, "buf.build/acme/tools/a.B:v1".parse().expect("the canonical form"));
}

#[test]
fn a_message_without_a_package_needs_lenience() {
    let text = "buf.build/acme/tools/WebSearchRequest:v1";
    assert_eq!(part(&text.parse::<SchemaRef>().expect_err("strict")), "package");
    let reference = SchemaRef::parse(text, Strictness::Lenient).expect("lenient");
    assert_eq!(reference.message().package(), "");
}

#[test]
fn only_a_commit_is_immutable() {
    for (text, is_commit) in [
        (COMMIT, true),
        ("main", false),
        ("0123456789abcdef0123456789abcde", false),
        ("0123456789ABCDEF0123456789ABCDEF", false),
        ("0123456789abcdef0123456789abcdeg", false),
    ] {
        assert_eq!(text.parse::<Version>().expect("a version").is_commit(), is_commit, "{text}");
    }
}

#[test]
fn modules_stand_alone() {
    let module: Module = "buf.build/acme/tools".parse().expect("a module");
    assert_eq!((module.host().as_str(), module.owner(), module.name()), ("buf.build", "acme", "tools"));
    assert!("buf.build/acme".parse::<Module>().is_err());
    assert!("buf.build/acme/tools/more".parse::<Module>().is_err());
}

proptest! {
    #[test]
    fn text_of_any_kind_is_read_or_refused(text in "\\PC*") {
        if let Ok(reference) = SchemaRef::parse(&text, Strictness::Lenient) {
            prop_assert_eq!(SchemaRef::parse(&reference.to_string(), Strictness::Lenient), Ok(reference));
        }
    }

    #[test]
    fn parts_that_look_right_make_a_round_trip(
        owner in "[a-z0-9-]{1,32}", module in "[a-z0-9_-]{2,100}", message in "[a-z]{1,9}\\.[A-Z][A-Za-z]{0,9}",
        label in "[a-zA-Z0-9_.-]{1,5}(/[a-zA-Z0-9]{1,5}){0,3}",
    ) {
        prop_assume!(!label.contains(".."));
        let text = format!("buf.build/{owner}/{module}/{message}:{label}");
        prop_assert_eq!(text.parse::<SchemaRef>().map(|reference| reference.to_string()), Ok(text));
    }
}

//! Any text in a format that hosts read is the same after a server was inserted and removed.

use proptest::prelude::*;
use protomcp_install::{Format, Origin, Value, insert, remove, servers};

/// White space, and comments if there may be some.
fn filler(comments: bool) -> BoxedStrategy<String> {
    let space = prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        3 => prop_oneof![Just("\n"), Just("\n  "), Just("\n    "), Just("\n\t"), Just("\r\n  "), Just("  \n\n")].prop_map(str::to_owned),
    ];
    if !comments {
        return space.boxed();
    }
    let comment = prop_oneof![
        Just("// one, {line} \"\n".to_owned()),
        Just("//  \r\n".to_owned()),
        Just("/* a, */".to_owned()),
        Just("/* ä\n // } */".to_owned()),
        Just("/**/".to_owned()),
    ];
    prop_oneof![
        4 => space.clone(),
        1 => (space.clone(), comment, space).prop_map(|(before, comment, after)| before + &comment + &after),
    ]
    .boxed()
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1".to_owned()),
        Just("-2.50e3".to_owned()),
        Just("null".to_owned()),
        Just("\"\"".to_owned()),
        Just(r#""// no \" comment, ""#.to_owned()),
        Just(r#""ä\u00e4\\""#.to_owned()),
    ]
}

/// The rules of a format.
#[derive(Debug, Clone, Copy)]
struct Rules {
    comments: bool,
    commas: bool,
}

fn items(rules: Rules, open: char, close: char, item: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let item = (filler(rules.comments), item, filler(rules.comments)).prop_map(|(a, item, b)| a + &item + &b);
    (prop::collection::vec(item, 0..4), filler(rules.comments), any::<bool>())
        .prop_map(move |(items, rest, comma)| {
            let comma = if comma && rules.commas && !items.is_empty() { "," } else { "" };
            format!("{open}{}{comma}{rest}{close}", items.join(","))
        })
        .boxed()
}

fn value(rules: Rules) -> BoxedStrategy<String> {
    scalar()
        .prop_recursive(3, 12, 3, move |inner| {
            let member =
                (filler(rules.comments), inner.clone()).prop_map(|(space, value)| format!("\"k\"{space}:{value}"));
            prop_oneof![items(rules, '[', ']', inner.boxed()), items(rules, '{', '}', member.boxed())]
        })
        .boxed()
}

/// A file: nothing, or an object with or without servers.
fn file(rules: Rules) -> impl Strategy<Value = String> {
    let server = ("[a-c]", value(rules)).prop_map(|(name, value)| format!("\"{name}\": {value}")).boxed();
    let other = ("[d-f]", value(rules)).prop_map(|(name, value)| format!("\"{name}\":{value}"));
    let servers = prop_oneof![9 => items(rules, '{', '}', server), 1 => Just("null".to_owned()).boxed()];
    let some = (filler(rules.comments), servers).prop_map(|(space, object)| format!("\"mcp\":{space}{object}"));
    let member = prop_oneof![3 => other.boxed(), 1 => some.boxed()].boxed();
    let object = items(rules, '{', '}', member);
    let mark = prop_oneof![9 => Just(""), 1 => Just("\u{feff}")];
    let whole = prop_oneof![9 => object, 1 => Just(String::new()).boxed()];
    (mark, filler(rules.comments), whole, filler(rules.comments))
        .prop_map(|(mark, before, object, after)| format!("{mark}{before}{object}{after}"))
}

fn entry() -> Value {
    let args = Value::List(vec!["dev".into(), "/my tools/\"t\".py".into()]);
    let env = Value::Object(vec![("KEY".into(), "a\nb\u{7f}".into())]);
    Value::Object(vec![("command".into(), "/bin/pmcp".into()), ("args".into(), args), ("env".into(), env)])
}

/// Names of servers, or `None` if a key occurs twice.
fn names(text: &str, format: Format) -> Option<Vec<String>> {
    servers(text, format, &["mcp"]).ok().map(|servers| servers.into_iter().map(|(name, _)| name).collect())
}

fn check(text: &str, format: Format) -> Result<(), TestCaseError> {
    let Some(before) = names(text, format) else { return Ok(()) };
    let insert = |text: &str, name: &str| insert(text, format, &["mcp"], name, &entry());
    let remove = |text: &str, name: &str, origin: Option<&Origin>| remove(text, format, &["mcp"], name, origin);
    let first = insert(text, "new").map_err(|error| TestCaseError::fail(format!("{error}: {text:?}")))?;
    let mut expected = before.clone();
    expected.push("new".into());
    prop_assert_eq!(names(&first.text, format), Some(expected), "{}", first.text);
    let back = remove(&first.text, "new", Some(&first.origin));
    prop_assert_eq!(back.as_deref(), Ok(text), "after {:?}", first.text);

    // Two servers, removed in either order.
    let second = insert(&first.text, "other").expect("a second server fits");
    for order in [["new", "other"], ["other", "new"]] {
        let one = remove(&second.text, order[0], None).expect("it is there");
        let none = remove(&one, order[1], Some(&first.origin));
        prop_assert_eq!(none.as_deref(), Ok(text), "{:?} of {:?}", order, second.text);
    }
    Ok(())
}

#[test]
fn null_in_the_place_of_servers_is_filled() {
    let keys: &[&str] = &["of", "mcp"];
    for (text, filled) in [
        (r#"{"of":null}"#, r#"{"of":{"mcp": {"new": {"command": "x"}}}}"#),
        (r#"{"of":{"a":1,"mcp":null}}"#, r#"{"of":{"a":1,"mcp":{"new": {"command": "x"}}}}"#),
        (
            "{\n  \"of\": null,\n  \"a\": 1\n}",
            "{\n  \"of\": {\n    \"mcp\": {\n      \"new\": {\n        \"command\": \"x\"\n      }\n    }\n  },\n  \"a\": 1\n}",
        ),
    ] {
        assert_eq!(servers(text, Format::Json, keys), Ok(vec![]), "{text}");
        let value = Value::Object(vec![("command".into(), "x".into())]);
        let edited = insert(text, Format::Json, keys, "new", &value).expect(text);
        assert_eq!(edited.text, filled);
        let back = remove(&edited.text, Format::Json, keys, "new", Some(&edited.origin));
        assert_eq!(back.as_deref(), Ok(text));
    }
}

#[test]
fn a_server_that_is_null_gives_way_to_one() {
    let text = r#"{"mcp":{"new":null,"a":{}}}"#;
    assert_eq!(names(text, Format::Json), Some(vec!["a".to_owned()]));
    let edited = insert(text, Format::Json, &["mcp"], "new", &entry()).expect("the name is free");
    assert_eq!(names(&edited.text, Format::Json), Some(vec!["new".to_owned(), "a".to_owned()]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn jsonc_comes_back(text in file(Rules { comments: true, commas: true })) {
        check(&text, Format::Jsonc)?;
    }

    #[test]
    fn json_with_comments_comes_back(text in file(Rules { comments: true, commas: false })) {
        check(&text, Format::JsonWithComments)?;
    }

    #[test]
    fn json_comes_back(text in file(Rules { comments: false, commas: false })) {
        check(&text, Format::Json)?;
    }

    #[test]
    fn toml_comes_back(
        lines in prop::collection::vec(prop_oneof![
            Just("# a comment"), Just(""), Just("[a]"), Just("[b.c]"), Just("x = 1"), Just("y = \"\"\"\n[mcp.new]\n\"\"\""),
            Just("[mcp.a]"), Just("[mcp]"), Just("  [mcp.b] # c"), Just("z = { k = [1,\n2] }"),
        ], 0..8),
        newline in prop_oneof![Just("\n"), Just("\r\n")],
        last in prop_oneof![Just(""), Just("\n"), Just("\r\n\r\n")],
    ) {
        check(&(lines.join(newline) + last), Format::Toml)?;
    }
}

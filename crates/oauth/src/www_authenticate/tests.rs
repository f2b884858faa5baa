//! Spellings of `WWW-Authenticate` as a table, and the properties of all of them.

use proptest::prelude::*;

use super::*;

/// The challenges as text: `scheme name=value name=value`.
fn shown(values: &[&str]) -> Vec<String> {
    let show = |challenge: &AuthChallenge| {
        let params = challenge.params.iter().map(|(name, value)| format!(" {name}={value}"));
        std::iter::once(challenge.scheme.clone()).chain(params).collect()
    };
    parse(values.iter().copied()).iter().map(show).collect()
}

#[test]
fn challenges_are_read_in_every_spelling() {
    for (value, expected) in [
        ("", &[][..]),
        ("Bearer", &["bearer"]),
        ("bEARER", &["bearer"]),
        ("Bearer realm=\"a\"", &["bearer realm=a"]),
        ("Bearer realm=a", &["bearer realm=a"]),
        ("Bearer realm = \"a\" ,\tScope=b", &["bearer realm=a scope=b"]),
        ("Bearer , realm=\"a\",, scope=b,", &["bearer realm=a scope=b"]),
        ("Bearer scope=\"a b\", error=\"x\"", &["bearer scope=a b error=x"]),
        ("Bearer realm=\"a \\\"b\\\", c\", scope=d", &["bearer realm=a \"b\", c scope=d"]),
        ("Bearer realm=\"Basic x=y, Digest\", scope=d", &["bearer realm=Basic x=y, Digest scope=d"]),
        ("Basic realm=\"a\", Bearer scope=\"b\"", &["basic realm=a", "bearer scope=b"]),
        ("Basic, Bearer scope=\"b\"", &["basic", "bearer scope=b"]),
        ("Negotiate YWJj/+==, Bearer scope=\"b\"", &["negotiate", "bearer scope=b"]),
        ("Negotiate, DPoP algs=\"ES256\", Bearer", &["negotiate", "dpop algs=ES256", "bearer"]),
        (", Bearer scope=b", &["bearer scope=b"]),
        // Not legal, but sent.
        (
            "Bearer resource_metadata=https://a/b?c=d, scope=mcp:x",
            &["bearer resource_metadata=https://a/b?c=d scope=mcp:x"],
        ),
        ("Bearer realm=\"a\" scope=\"b\"", &["bearer realm=a scope=b"]),
        ("Bearer realm=\"a", &["bearer realm=a"]),
        ("Bearer realm=", &["bearer"]),
        ("realm=\"lost\", Bearer scope=b", &["bearer scope=b"]),
        ("Bearer \"lost, too\", scope=b", &["bearer scope=b"]),
        ("Bearer scope=ü, realm=b", &["bearer scope=ü realm=b"]),
    ] {
        assert_eq!(shown(&[value]), expected, "{value}");
    }
    assert_eq!(shown(&["Basic", "Bearer scope=b"]), ["basic", "bearer scope=b"]);
}

#[test]
fn the_first_of_two_equal_parameters_counts() {
    let challenges = parse(["Bearer scope=a, SCOPE=b"]);
    assert_eq!(challenges[0].param("scope"), Some("a"));
}

#[test]
fn a_long_value_is_cut() {
    let value = format!("Bearer realm=\"{}\", scope=b", "ü".repeat(MAX_VALUE));
    let challenges = parse([value.as_str()]);
    assert_eq!(challenges[0].param("scope"), None);
    let many = "Bearer, ".repeat(MAX_ITEMS + 9);
    assert_eq!(parse([many.as_str()]).len(), MAX_ITEMS);
}

proptest! {
    #[test]
    fn any_text_is_read_to_its_end(values in prop::collection::vec(".{0,80}", 0..4)) {
        parse(values.iter().map(String::as_str));
    }

    #[test]
    fn written_challenges_are_read_back(
        challenges in prop::collection::vec(
            ("[A-Z][a-z]{2,8}", prop::collection::vec(("[a-z_]{1,8}", "[ -~]{0,20}"), 1..4)),
            0..4,
        ),
        separator in "[ \t]{0,2},[ \t]{0,2}",
    ) {
        let param = |(name, value): &(String, String)| {
            format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
        };
        let write = |(scheme, params): &(String, Vec<(String, String)>)| {
            format!("{scheme} {}", params.iter().map(param).collect::<Vec<_>>().join(&separator))
        };
        let value = challenges.iter().map(write).collect::<Vec<_>>().join(&separator);
        let expected: Vec<_> = challenges
            .into_iter()
            .map(|(scheme, params)| AuthChallenge { scheme: scheme.to_ascii_lowercase(), params })
            .collect();
        prop_assert_eq!(parse([value.as_str()]), expected);
    }
}

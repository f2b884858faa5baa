//! URI templates: the examples of RFC 6570 forth and back, and what holds for all of them.

use proptest::prelude::*;
use protomcp_types::{UriTemplate, UriTemplateError};

/// Values of RFC 6570, 3.2.
const VALUES: &[(&str, &str)] = &[
    ("var", "value"),
    ("hello", "Hello World!"),
    ("half", "50%"),
    ("path", "/foo/bar"),
    ("x", "1024"),
    ("y", "768"),
    ("empty", ""),
    ("who", "fred"),
    ("base", "http://example.com/home/"),
    ("v", "6"),
    ("dom", "example.com"),
    ("umlaut", "Füße"),
];

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(name: &str) -> Option<&'static str> {
    VALUES.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The captures of a template in a URI, as `name=value` with the raw values.
fn check(text: &str, uri: &str, expected: Option<&[&str]>) {
    let template = template(text);
    let found = template.captures(uri).map(|found| found.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>());
    assert_eq!(found, expected.map(|found| found.iter().map(ToString::to_string).collect()), "{text} in {uri}");
    assert_eq!(template.matches(uri), expected.is_some());
}

#[test]
fn values_expand_as_in_the_examples_of_the_rfc() {
    for (text, uri) in [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{umlaut:2}", "F%C3%BC"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("{+path}/here", "/foo/bar/here"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{#path}", "#/foo/bar"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("X{#empty}", "X#"),
        ("X{#undef}", "X"),
        ("{.who,who}", ".fred.fred"),
        ("www{.dom}", "www.example.com"),
        ("X{.empty}", "X."),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/var,empty}", "/value/"),
        ("{/var:1,var}", "/v/value"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;v,undef,who}", ";v=6;who=fred"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?undef,y}", "?y=768"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&var:3}", "&var=val"),
        ("ü/%C3%BC/{x}", "%C3%BC/%C3%BC/1024"),
    ] {
        let template = template(text);
        assert_eq!(template.expand(value), uri, "{text}");
        // Nothing that was put in may be missing on the way back, but for the empty string where something is required.
        assert_eq!(template.matches(uri), !text.contains("O{"), "{text} in {uri}");
    }
}

#[test]
fn a_gap_is_one_or_more_characters_of_one_segment() {
    check("note://{id}", "note://7", Some(&["id=7"]));
    check("note://{id}", "note://a%2Fb:c,d.e", Some(&["id=a%2Fb:c,d.e"]));
    for uri in ["note://", "note://a/b", "note://a?b", "note://a#b", "note:/a", "xnote://a", ""] {
        check("note://{id}", uri, None);
    }
    check("note://{user}/notes/{id}.md", "note://ann/notes/a.b.md", Some(&["user=ann", "id=a.b"]));
    check("note://{a}-{b}", "note://1-2-3", Some(&["a=1-2", "b=3"]));
    check("{a}{b}", "xyz", Some(&["a=xy", "b=z"]));
    check("{a}{b}", "x", None);
    check("é{a}", "%C3%A9%C3%A9", Some(&["a=%C3%A9"]));
    check("{a}{b}", "é%C3%A9", Some(&["a=é", "b=%C3%A9"]));
    // A byte that goes on with no character is one.
    check("{a}%8D", "v%8d", Some(&["a=v"]));
    check("{a}%8D", "%C3%A9%8d", Some(&["a=%C3%A9"]));
    check("{a}%A9", "%C3%A9", None);
}

#[test]
fn literals_are_compared_in_their_encoded_form() {
    for uri in ["docs://café/a.txt", "docs://caf%C3%A9/a.txt", "docs://caf%c3%a9/a.txt", "d%6Fcs://café/a.txt"] {
        check("docs://café/{name}", uri, Some(&["name=a.txt"]));
        check("docs://caf%C3%A9/{name}", uri, Some(&["name=a.txt"]));
    }
    check("a://x y/{n}.[b]", "a://x%20y/%41.%5bb%5D", Some(&["n=%41"]));
    check("a://x%2Fy/{n}", "a://x/y/1", None);
    check("a://x/y/{n}", "a://x%2Fy/1", None);
    check("a://{n}é", "a://1%C3%A9", Some(&["n=1"]));
    check("a://{n}é", "a://%C3%A9%C3%A9", Some(&["n=%C3%A9"]));
}

#[test]
fn each_operator_finds_its_values() {
    check("file:///{+path}", "file:///a/b?c#d", Some(&["path=a/b?c#d"]));
    check("file:///{+path}", "file:///", None);
    check("{+path}/{name}", "a/b/c", Some(&["path=a/b", "name=c"]));
    check("{+path}{?q}", "a/b?q=c", Some(&["path=a/b", "q=c"]));
    check("{+path}{?q}", "a/b?r=c", Some(&["path=a/b?r=c"]));
    check("{x,y}", "1,2", Some(&["x=1", "y=2"]));
    check("{x,y}", "1", Some(&["x=1"]));
    check("{x,y}", "1,2,3", None);
    check("{list*}", "1,2,3", Some(&["list=1,2,3"]));
    check("a{#part}", "a", Some(&[]));
    check("a{#part}", "a#x/y", Some(&["part=x/y"]));
    check("a{.kind,more}", "a.tar.gz", Some(&["kind=tar", "more=gz"]));
    check("a{.kind}", "a.tar.gz", Some(&["kind=tar.gz"]));
    check("a{/b,c}", "a/1/2", Some(&["b=1", "c=2"]));
    check("a{/b,c}", "a/1", Some(&["b=1"]));
    check("a{/b,c}", "a/1/2/3", None);
    check("a{/path*}", "a/1/2/3", Some(&["path=1/2/3"]));
    check("a{;x,y}", "a;y=2", Some(&["y=2"]));
    check("a{;x,y}", "a;x;y=2", Some(&["x=", "y=2"]));
    check("a{;x}", "a;xy", None);
    check("a{?q,limit}", "a?q=b/c&limit=3", Some(&["q=b/c", "limit=3"]));
    check("a{?q,limit}", "a?limit=3", Some(&["limit=3"]));
    check("a{?q,limit}", "a", Some(&[]));
    check("a{?q,limit}", "a&limit=3", None);
    check("a{?q,limit}", "a?q=1?limit=3", Some(&["q=1?limit=3"]));
    check("a{?q}", "a?other=1", None);
    check("a{?rest*}", "a?x=1&y=2", Some(&["rest=x=1&y=2"]));
    check("a?b=c{&x}", "a?b=c&x=", Some(&["x="]));
    check("", "", Some(&[]));
    check("a", "a", Some(&[]));
    check("a", "b", None);
}

#[test]
fn a_prefix_holds_no_more_characters_than_it_says() {
    check("{a:2}{b}", "xyz", Some(&["a=xy", "b=z"]));
    check("{a:2}", "xyz", None);
    check("{a:2}", "ü%C3%BC", Some(&["a=ü%C3%BC"]));
    check("{a:2}", "%C3%BCüü", None);
}

#[test]
fn values_are_read_decoded_or_as_they_stand() {
    let template = template("{name:1}/{name}/{other}");
    let found = template.captures("%C3%A9/%C3%A9a%20b/%FF").unwrap();
    assert_eq!((found.get("name").as_deref(), found.raw("name")), (Some("éa b"), Some("%C3%A9a%20b")));
    assert_eq!((found.get("other").as_deref(), found.get("none")), (Some("%FF"), None));
    assert_eq!(template.variables().collect::<Vec<_>>(), ["name", "name", "other"]);
}

#[test]
fn an_invalid_template_is_refused_with_the_position() {
    let expression = |at, expression: &str| UriTemplateError::Expression { at, expression: expression.to_owned() };
    for (text, error) in [
        ("a{b", UriTemplateError::Unbalanced(1)),
        ("a}b", UriTemplateError::Unbalanced(1)),
        ("{a{b}}", UriTemplateError::Unbalanced(0)),
        ("x{}", expression(1, "")),
        ("{a,}", expression(0, "a,")),
        ("{a b}", expression(0, "a b")),
        ("{=a}", expression(0, "=a")),
        ("{a:0}", expression(0, "a:0")),
        ("{a:12345}", expression(0, "a:12345")),
        ("{a:b}", expression(0, "a:b")),
        ("{?}", expression(0, "?")),
    ] {
        assert_eq!(UriTemplate::parse(text), Err(error), "{text}");
    }
    assert_eq!(UriTemplate::parse(&"a".repeat(2049)), Err(UriTemplateError::TooLong(2049)));
    assert_eq!(UriTemplate::parse(&"{a}".repeat(33)), Err(UriTemplateError::TooManyVariables));
    assert!(UriTemplate::parse(&"a".repeat(2048)).is_ok() && UriTemplate::parse(&"{a}".repeat(32)).is_ok());
    assert_eq!(template("a{b}").to_string(), "a{b}");
}

#[test]
fn no_template_takes_long_over_any_uri() {
    let long = "a".repeat(UriTemplate::MAX_URI);
    let almost = format!("{}/", &long[1..]);
    for text in ["{a}".repeat(32), format!("{{?{}}}", ["a"; 32].join(",")), "a{a}".repeat(32), "{+a}{b}".repeat(16)] {
        let hostile = template(&format!("{text}!"));
        // Each way to divide the URI would be more than can be tried before the end of days.
        assert!(!hostile.matches(&long) && !hostile.matches(&almost), "{text}");
    }
    assert!(template("{a}").matches(&long) && !template("{a}").matches(&format!("{long}a")));
}

proptest! {
    #[test]
    fn a_template_finds_what_it_was_given(values in prop::collection::vec("[a-c0/?#&=;.,% !éß漢]{1,8}", 5)) {
        let template = template("s://{a}/x{/b}{?c,d}{#e}");
        let value = |name: &str| values[usize::from(name.as_bytes()[0] - b'a')].as_str();
        let uri = template.expand(|name| Some(value(name)));
        let found = template.captures(&uri);
        prop_assert!(found.is_some(), "{}", uri);
        for name in ["a", "b", "c", "d"] {
            let text = found.as_ref().and_then(|found| found.get(name));
            prop_assert_eq!(text.as_deref(), Some(value(name)), "{} in {}", name, &uri);
        }
    }

    #[test]
    fn any_text_is_read_or_refused_and_matched_without_a_panic(
        text in "[a-c{}+#./;?&*:,0-9é%]{0,40}",
        uri in "[a-c+#./;?&,=é%0-9]{0,40}",
    ) {
        if let Ok(template) = UriTemplate::parse(&text) {
            prop_assert_eq!(template.as_str(), &text);
            if let Some(found) = template.captures(&uri) {
                for (name, value) in found.iter() {
                    prop_assert!(uri.contains(value) && found.get(name).is_some());
                }
            }
            let expanded = template.expand(|_| Some("v"));
            prop_assert!(template.matches(&expanded) || text.contains('*'), "{} makes {}", text, expanded);
        }
    }

    #[test]
    fn a_template_without_variables_is_its_own_uri(uri in "[a-zA-Z0-9:/._~-]{0,30}", other in "[a-z:/]{0,4}") {
        let template = template(&uri);
        prop_assert!(template.matches(&uri));
        prop_assert_eq!(template.matches(&other), uri == other);
    }
}

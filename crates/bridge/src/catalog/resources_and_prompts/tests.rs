//! Valid and invalid definitions.

use super::*;

fn resource(uri: &str, name: &str) -> ResourceDefinition {
    ResourceDefinition { uri: uri.into(), name: name.into(), ..Default::default() }
}

fn template(uri_template: &str, mime_type: &str) -> ResourceTemplateDefinition {
    ResourceTemplateDefinition { uri_template: uri_template.into(), mime_type: mime_type.into(), ..Default::default() }
}

/// A catalog of these answers, and its faults.
fn catalog(listed: impl IntoIterator<Item = Listed>) -> (Catalog, Vec<String>) {
    let (mut catalog, mut faults) = (Catalog::default(), Faults::default());
    for listed in listed {
        catalog = catalog.with(listed, &mut faults).unwrap_or(catalog);
    }
    (catalog, faults.into_lines())
}

/// One list, as clients see it.
fn check(listed: Listed, expected: &str, faults: &[&str]) {
    let kind = listed.kind();
    let (catalog, found) = catalog([listed]);
    assert_eq!(catalog.page(kind, None).unwrap().items.as_str(), expected);
    assert_eq!(found, faults);
}

#[test]
fn resources_are_sorted_and_listed_with_their_details() {
    let full = ResourceDefinition {
        uri: "a://1".into(),
        name: "one".into(),
        description: "d".into(),
        mime_type: "text/plain".into(),
        size: 7,
        title: "One".into(),
        icons_json: r#"[{"src":"i"}]"#.into(),
        annotations_json: r#"{"priority":0.50}"#.into(),
        metadata_json: r#"{"ui":{}}"#.into(),
    };
    let odd =
        ResourceDefinition { size: -1, icons_json: "{}".into(), annotations_json: "[".into(), ..resource("a://0", "") };
    check(
        Listed::Resources(vec![full, odd]),
        r#"[{"uri":"a://0","name":"a://0"},{"uri":"a://1","name":"one","title":"One","description":"d","mimeType":"text/plain","size":7,"annotations":{"priority":0.50},"icons":[{"src":"i"}],"_meta":{"ui":{}}}]"#,
        &[],
    );
}

#[test]
fn nameless_entries_are_dropped_and_the_last_duplicate_counts() {
    check(
        Listed::Resources(vec![resource("a", "1"), resource("", "2"), resource("a", "3")]),
        r#"[{"uri":"a","name":"3"}]"#,
        &[
            r#"resource "": it has no name under which it could be asked for, so it is left out"#,
            r#"resource "a": it is registered twice; the last definition counts"#,
        ],
    );
}

#[test]
fn an_invalid_template_is_listed_and_matches_nothing() {
    check(
        Listed::Templates(vec![template("b://{x", ""), template("a://{x}", "text/plain")]),
        r#"[{"uriTemplate":"a://{x}","name":"a://{x}","mimeType":"text/plain"},{"uriTemplate":"b://{x","name":"b://{x"}]"#,
        &[r#"resource template "b://{x": nothing can be read through it: unmatched brace at byte 4"#],
    );
}

#[test]
fn a_uri_is_known_if_listed_or_matched_by_a_template() {
    let resource = ResourceDefinition { mime_type: "text/css".into(), ..resource("a://css", "") };
    let templates = vec![template("a://{x}", "text/plain"), template("b://{x", "")];
    let (catalog, _) = catalog([Listed::Resources(vec![resource]), Listed::Templates(templates)]);
    for (uri, media_type) in [
        ("a://css", Some("text/css")),
        ("a://other", Some("text/plain")),
        ("a://x/y", None),
        ("b://1", None),
        ("", None),
    ] {
        assert_eq!(catalog.media_type(uri), media_type, "{uri}");
    }
    for (text, known) in [("a://{x}", true), ("b://{x", true), ("a://1", true), ("a://css", true), ("a://{y}/", false)]
    {
        assert_eq!(catalog.has_template_or_uri(text), known, "{text}");
    }
}

#[test]
fn a_prompt_knows_what_it_needs() {
    use protomcp_envelope::PromptArgument;
    let argument = |name: &str, required| PromptArgument { name: name.into(), required, ..Default::default() };
    let arguments = vec![argument("a", false), argument("b", true), argument("c", true)];
    let listed = vec![PromptDefinition { name: "p".into(), arguments, ..Default::default() }];
    let (catalog, _) = catalog([Listed::Prompts(listed.clone())]);
    let prompt = catalog.prompt("p").unwrap();
    assert_eq!(prompt.missing(|_| false), Some("b"));
    assert_eq!(prompt.missing(|name| name == "b"), Some("c"));
    assert_eq!(prompt.missing(|name| name != "a"), None);
    assert!(catalog.prompt("q").is_none());
    check(
        Listed::Prompts(listed),
        r#"[{"name":"p","arguments":[{"name":"a"},{"name":"b","required":true},{"name":"c","required":true}]}]"#,
        &[],
    );
}

#[test]
fn only_a_visible_difference_makes_another_catalog() {
    let (before, _) = catalog([Listed::Resources(vec![resource("a", ""), resource("b", "")])]);
    let same = Listed::Resources(vec![resource("b", ""), resource("a", "a")]);
    assert!(before.with(same, &mut Faults::default()).is_none());
    assert!(before.with(Listed::none(Kind::Prompts), &mut Faults::default()).is_none());
    let fewer = before.with(Listed::Resources(vec![resource("a", "")]), &mut Faults::default()).unwrap();
    assert!(fewer.media_type("b").is_none() && before.media_type("b").is_some());
}

#[test]
fn a_fault_of_many_definitions_takes_a_few_lines() {
    for listed in [
        Listed::Resources(vec![ResourceDefinition::default(); 10_000]),
        Listed::Templates(vec![ResourceTemplateDefinition::default(); 10_000]),
        Listed::Templates((0..10_000).map(|number| template(&format!("{{{number}"), "")).collect()),
        Listed::Prompts(vec![PromptDefinition { name: "p".repeat(5000), ..Default::default() }; 10_000]),
    ] {
        let kind = listed.kind();
        let (_, faults) = catalog([listed]);
        assert!((9..20).contains(&faults.len()), "{faults:?}");
        assert!(faults.iter().all(|line| line.len() < 300), "{kind:?}: {faults:?}");
    }
}

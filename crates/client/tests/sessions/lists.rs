//! Lists and their pages, and answers that are used again.

use std::time::Duration;

use futures_util::{Stream, StreamExt, TryStreamExt};
use protomcp_client::{ClientSession, MAX_PAGES, Mode, RequestError};
use protomcp_testing::run_paused;
use protomcp_types::{JsonObject, RawJson, ToolName, code};

use super::script::Script;
use super::server::{client, in_both_eras};

#[test]
fn all_pages_come_in_order() {
    in_both_eras(client, async |stage| {
        let session = &stage.session;
        let names: Vec<String> =
            session.tools().map_ok(|tool| tool.name.as_str().to_owned()).try_collect().await.unwrap();
        assert_eq!(names.len(), 10, "{names:?}");
        let first = session.list_tools(None).await.unwrap();
        assert_eq!((first.items.len(), first.next_cursor.is_some()), (3, true));
        assert!(names.starts_with(&first.items.iter().map(|tool| tool.name.as_str().to_owned()).collect::<Vec<_>>()));
        assert!(session.list_tools(Some("bad cursor".into())).await.is_err());
        assert_eq!(session.resources().count().await, 2);
        assert_eq!(session.resource_templates().count().await, 1);
        assert_eq!(session.prompts().count().await, 1);
        assert_eq!(session.list_all_tools().await.unwrap().len(), 10);
        assert_eq!(session.list_all_resources().await.unwrap().len(), 2);
        assert_eq!(session.list_all_resource_templates().await.unwrap().len(), 1);
        assert_eq!(session.list_all_prompts().await.unwrap().len(), 1);
    });
}

/// The lists, with the member of their pages.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// All elements of a list, as the error that ends it.
async fn end_of(session: ClientSession, method: &str) -> Option<RequestError> {
    async fn last<T>(list: impl Stream<Item = Result<T, RequestError>>) -> Option<RequestError> {
        list.filter_map(async |item| item.err()).collect::<Vec<_>>().await.pop()
    }
    match method {
        "tools/list" => last(session.tools()).await,
        "prompts/list" => last(session.prompts()).await,
        "resources/list" => last(session.resources()).await,
        _ => last(session.resource_templates()).await,
    }
}

/// Cursors by the number of the page, and the end of the list with the number of pages that are asked for.
type Hostile = (&'static str, fn(usize) -> String, Option<&'static str>, usize);

const HOSTILE: [Hostile; 9] = [
    ("one page", |_| "null".into(), None, 1),
    ("an empty cursor, then none", |page| if page == 0 { r#""""#.into() } else { "null".into() }, None, 2),
    ("an empty cursor that means the end", |page| if page == 1 { r#""""# } else { r#""a""# }.into(), None, 3),
    ("the same cursor", |_| r#""a""#.into(), Some("a cursor has come twice"), 2),
    ("a circle", |page| format!(r#""{}""#, page % 3), Some("a cursor has come twice"), 4),
    ("no end", |page| format!(r#""{page}""#), Some("it has 1000 pages"), MAX_PAGES),
    ("a number", |_| "5".into(), Some("expected a string"), 1),
    ("an object", |_| "{}".into(), Some("expected a string"), 1),
    ("a long one", |_| format!(r#""{}""#, "x".repeat(64 * 1024 + 1)), Some("longer than 65536 bytes"), 1),
];

/// Answers each request for a page, until the list has ended. Returns the number of pages.
async fn answer_pages(script: &mut Script, method: &str, member: &str, cursor: fn(usize) -> String) -> usize {
    let mut page = 0;
    loop {
        let Ok(sent) = tokio::time::timeout(Duration::from_secs(60), script.next()).await else { return page };
        let request: serde_json::Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(request["method"], method, "{sent:.200}");
        let next = cursor(page);
        let id = request["id"].as_u64().unwrap();
        script.answer(id, &format!(r#"{{"resultType":"complete","{member}":[],"nextCursor":{next}}}"#));
        page += 1;
    }
}

#[test]
fn a_hostile_list_ends_with_a_clear_error() {
    run_paused(async {
        for mode in [Mode::Stateful, Mode::Stateless] {
            for (method, member) in LISTS {
                for (name, cursor, expected, pages) in HOSTILE {
                    let (session, mut script) = Script::open(mode, client()).await;
                    let listing = tokio::spawn(end_of(session.clone(), method));
                    assert_eq!(
                        answer_pages(&mut script, method, member, cursor).await,
                        pages,
                        "{mode:?} {method} {name}"
                    );
                    let end = listing.await.unwrap().map(|error| match error {
                        RequestError::InvalidAnswer(why) => why,
                        other => panic!("{other:?}"),
                    });
                    let is_expected = match (&end, expected) {
                        (Some(why), Some(expected)) => why.contains(expected) && why.len() < 200,
                        (end, expected) => end.is_none() && expected.is_none(),
                    };
                    assert!(is_expected, "{mode:?} {method} {name}: {end:?}");
                }
            }
        }
    });
}

#[test]
fn a_hostile_list_does_not_hold_up_the_repair_of_a_call() {
    run_paused(async {
        for (name, cursor, expected, pages) in HOSTILE {
            let (session, mut script) = Script::open(Mode::Stateless, client()).await;
            let call = tokio::spawn(session.call_tool("a", &JsonObject::new()).into_future());
            script.expect("tools/call").await;
            script.refuse(2, code::HEADER_MISMATCH);
            let Some(expected) = expected else { continue };
            let [(method, member), ..] = LISTS;
            assert_eq!(answer_pages(&mut script, method, member, cursor).await, pages, "{name}");
            let failed = call.await.unwrap().unwrap_err();
            assert!(failed.to_string().contains(expected), "{name}: {failed}");
        }
    });
}

#[test]
fn a_proxy_leaves_out_invalid_annotations_on_any_connection() {
    run_paused(async {
        for mode in [Mode::Stateful, Mode::Stateless] {
            let (session, _script) = Script::open(mode, client()).await;
            for (annotation, is_listed) in [("Region", true), ("not a name", false)] {
                let tool = format!(
                    r#"{{"name":"t","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":"{annotation}"}}}}}}}}"#
                );
                assert_eq!(session.learn_tool(&RawJson::parse(tool).unwrap()), is_listed, "{mode:?} {annotation}");
            }
        }
    });
}

#[test]
fn an_invalid_schema_costs_its_own_tool_alone() {
    run_paused(async {
        let deep = |depth: usize| format!("{}{}{}", r#"{"items":"#.repeat(depth), "{}", "}".repeat(depth));
        let wide = format!(r#"{{"type":"object","properties":{{{}"z":{{}}}}}}"#, r#""a":{},"#.repeat(10_000));
        let annotated = |annotation: &str| {
            format!(r#"{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":{annotation}}}}}}}"#)
        };
        for (schema, is_listed) in [
            ("5".to_owned(), true),
            ("null".to_owned(), false),
            ("[]".to_owned(), true),
            (r#"{"type":"nothing","properties":5}"#.to_owned(), true),
            (r##"{"$ref":"#"}"##.to_owned(), true),
            (r#"{"$ref":"http://127.0.0.1:1/"}"#.to_owned(), true),
            (deep(60), true),
            (wide, true),
            (annotated(r#""A""#), true),
            (annotated("5"), false),
            (annotated(r#""a\r\nb""#), false),
            (annotated(&format!(r#""{}""#, "x".repeat(10_000))), true),
            (annotated(&format!(r#""{}""#, "x".repeat(100_000))), false),
        ] {
            let (session, mut script) = Script::open(Mode::Stateless, client()).await;
            let listing = tokio::spawn(async move { session.list_tools(None).await });
            script.expect("tools/list").await;
            let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
            let bad = format!(r#"{{"name":"bad","inputSchema":{schema}}}"#);
            script.answer(2, &format!(r#"{{"resultType":"complete","tools":[{bad},{good}]}}"#));
            let names: Vec<_> = listing.await.unwrap().unwrap().items.into_iter().map(|tool| tool.name).collect();
            let names: Vec<_> = names.iter().map(ToolName::as_str).collect();
            let expected: &[_] = if is_listed { &["bad", "good"] } else { &["good"] };
            assert_eq!(names, expected, "{schema:.100}");
        }
    });
}

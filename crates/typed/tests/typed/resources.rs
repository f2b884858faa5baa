//! Resources and templates from functions, and the completion of variables.

use std::time::Duration;

use protomcp_server::Context;
use protomcp_typed::{DefinitionError, Json, JsonSchema, Registry, Resource, Template, argument};
use protomcp_types::{ErrorObject, RawJson, ResourceContents, UiResource};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::{Host, with};

#[derive(Deserialize, JsonSchema)]
struct Row {
    table: Table,
    id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Table {
    Users,
    Orders,
}

async fn row(row: Row) -> String {
    format!("{:?} {}", row.table, row.id)
}

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

async fn read(host: &mut Host, uri: &str) -> Result<Value, Value> {
    host.ask("resources/read", json!({"uri": uri})).await.map(|result| result["contents"].clone())
}

#[test]
fn every_kind_of_value_becomes_contents() {
    let two = || vec![ResourceContents::text("a:1", "1"), ResourceContents::text("a:2", "2")];
    let registry = Registry::builder("t", "1")
        .resource(Resource::new("t:text", "text").text("héllo").mime_type("text/plain"))
        .resource(Resource::new("t:bytes", "bytes").bytes(vec![1_u8, 2, 3]).mime_type("image/png"))
        .resource(Resource::new("t:json", "json").handler(async || Json(json!({"a": 1}))))
        .resource(Resource::new("t:two", "two").handler(move || std::future::ready(two())))
        .resource(Resource::new("t:gone", "gone").handler(async || None::<String>))
        .resource(Resource::new("t:broken", "broken").handler(async || Err::<String, _>("disk full")))
        .resource(Resource::new("t:no", "no").handler(async || Err::<String, _>(ErrorObject::new(-1, "no"))))
        .resource(Resource::new("t:who", "who").handler(async |context: Context| context.client().name.clone()))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        for (uri, contents) in [
            ("t:text", json!([{"uri": "t:text", "mimeType": "text/plain", "text": "héllo"}])),
            ("t:bytes", json!([{"uri": "t:bytes", "mimeType": "image/png", "blob": "AQID"}])),
            ("t:json", json!([{"uri": "t:json", "mimeType": "application/json", "text": r#"{"a":1}"#}])),
            ("t:two", json!([{"uri": "a:1", "text": "1"}, {"uri": "a:2", "text": "2"}])),
            ("t:who", json!([{"uri": "t:who", "text": "host"}])),
        ] {
            assert_eq!(read(&mut host, uri).await.unwrap(), contents);
        }
        for (uri, code, message) in [
            ("t:gone", -32002, "Resource not found"),
            ("t:unknown", -32002, "Resource not found"),
            ("t:broken", -32603, "disk full"),
            ("t:no", -1, "no"),
        ] {
            let error = read(&mut host, uri).await.unwrap_err();
            assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(message)), "{uri}");
            assert!(code != -32002 || error["data"]["uri"] == uri);
        }
        let page = host.ask("resources/list", json!({})).await.unwrap();
        let text = page["resources"].as_array().unwrap().iter().find(|one| one["uri"] == "t:text").unwrap();
        assert_eq!(*text, json!({"uri": "t:text", "name": "text", "mimeType": "text/plain", "size": 6}));
    });
}

#[test]
fn variables_are_parsed_as_their_types_require() {
    let registry = Registry::builder("t", "1")
        .resource(Resource::new("db://users/0", "root").text("the first"))
        .template(Template::new("db://{table}/{id}", "row").handler(row).mime_type("text/plain"))
        .template(Template::new("db://{+path}", "anything").handler(async |file: File| format!("any {}", file.path)))
        .template(Template::new("fixed://{x}", "fixed").handler(async || "whatever"))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        for (uri, text) in [
            ("db://users/0", "the first"),
            ("db://users/7", "Users 7"),
            ("db://orders/8", "Orders 8"),
            // A URI whose variables do not parse belongs to the next template.
            ("db://users/x", "any users/x"),
            ("db://guests/7", "any guests/7"),
            ("db://a/b%20c/d", "any a/b c/d"),
            ("fixed://anything", "whatever"),
            ("db://%75sers/0", "the first"),
            ("fix%65d://anything", "whatever"),
        ] {
            assert_eq!(read(&mut host, uri).await.unwrap()[0]["text"], text, "{uri}");
            assert_eq!(read(&mut host, uri).await.unwrap()[0]["uri"], uri);
        }
        assert_eq!(read(&mut host, "fixed://a/b").await.unwrap_err()["code"], -32002);
        let page = host.ask("resources/templates/list", json!({})).await.unwrap();
        let templates: Vec<_> =
            page["resourceTemplates"].as_array().unwrap().iter().map(|one| &one["uriTemplate"]).collect();
        assert_eq!(templates, ["db://{+path}", "db://{table}/{id}", "fixed://{x}"]);
    });
}

#[test]
fn subscribers_are_notified_of_existing_resources_only() {
    let registry = Registry::builder("t", "1")
        .resource(Resource::new("t:a", "a").text("a"))
        .template(Template::new("f:{+path}", "f").handler(async |file: File| file.path))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        for uri in ["t:a", "f:x/y"] {
            assert_eq!(host.ask("resources/subscribe", json!({"uri": uri})).await.unwrap(), json!({}));
        }
        assert_eq!(host.ask("resources/subscribe", json!({"uri": "t:b"})).await.unwrap_err()["code"], -32002);
        registry.resource_updated("f:x/y");
        let told = host.peer.next().await;
        assert_eq!(
            (&told["method"], &told["params"]["uri"]),
            (&json!("notifications/resources/updated"), &json!("f:x/y"))
        );
        host.ask("resources/unsubscribe", json!({"uri": "t:a"})).await.unwrap();
        registry.resource_updated("t:a");
        assert!(host.peer.is_silent_for(Duration::from_secs(60)).await);
        registry.templates().remove("f:{+path}");
        registry.resources().insert(Resource::new("t:b", "b").text("b")).unwrap();
        assert_eq!(host.peer.next().await["method"], "notifications/resources/list_changed");
        assert_eq!(read(&mut host, "t:b").await.unwrap()[0]["text"], "b");
        assert!(host.peer.is_silent_for(Duration::from_secs(60)).await);
    });
}

#[test]
fn variables_are_completed_from_type_list_or_function() {
    let registry = Registry::builder("t", "1")
        .resource(Resource::new("file:///a.txt", "a").text(""))
        .resource(Resource::new("file:///b.txt", "b").text(""))
        .resource(Resource::new("other:///c.txt", "c").text(""))
        .template(Template::new("file:///{+path}", "file").handler(async |file: File| file.path))
        .template(Template::new("db://{table}/{id}", "row").handler(row).argument(
            argument("id").complete(async |typed: String| (0..3).map(|n| format!("{typed}{n}")).collect::<Vec<_>>()),
        ))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        let mut complete = async |template: &str, variable: &str, value: &str| {
            let params = json!({"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": variable, "value": value}});
            host.ask("completion/complete", params).await.map(|result| result["completion"]["values"].clone())
        };
        assert_eq!(complete("db://{table}/{id}", "table", "o").await.unwrap(), json!(["orders"]));
        assert_eq!(complete("db://{table}/{id}", "id", "4").await.unwrap(), json!(["40", "41", "42"]));
        assert_eq!(complete("file:///{+path}", "path", "").await.unwrap(), json!(["a.txt", "b.txt"]));
        assert_eq!(complete("file:///{+path}", "path", "b").await.unwrap(), json!(["b.txt"]));
        for (template, variable) in [("db://{table}", "table"), ("db://{table}/{id}", "x")] {
            assert_eq!(complete(template, variable, "").await.unwrap_err()["code"], -32602);
        }
    });
}

#[test]
fn a_definition_has_all_that_was_set_and_slips_are_found() {
    let set = || (RawJson::parse(r#"{"priority":1}"#).unwrap(), RawJson::EMPTY_ARRAY, RawJson::EMPTY_OBJECT);
    let (annotations, icons, meta) = set();
    let resource =
        Resource::new("t:a", "a").text("").title("A").describe("d").annotations(annotations).icons(icons).meta(meta);
    let (annotations, icons, meta) = set();
    let template = Template::new("t:{x}", "x")
        .handler(async || "")
        .title("X")
        .describe("d")
        .annotations(annotations)
        .icons(icons)
        .meta(meta);
    let registry = Registry::builder("t", "1").resource(resource).template(template).build().unwrap();
    with(&registry, async |mut host| {
        let resources = host.ask("resources/list", json!({})).await.unwrap();
        let more = json!({"title": "A", "description": "d", "annotations": {"priority": 1}, "icons": [], "_meta": {}});
        for (name, value) in more.as_object().unwrap() {
            assert_eq!(resources["resources"][0][name], *value);
        }
        let templates = host.ask("resources/templates/list", json!({})).await.unwrap();
        let expected = json!({"uriTemplate": "t:{x}", "name": "x", "title": "X", "description": "d", "annotations": {"priority": 1}, "icons": [], "_meta": {}});
        assert_eq!(templates["resourceTemplates"], json!([expected]));
    });
    let fails = |template: Template| registry.templates().insert(template).unwrap_err();
    assert!(matches!(fails(Template::new("t:{x", "x").handler(async || "")), DefinitionError::BadTemplate { .. }));
    assert!(matches!(fails(Template::new("t:{x}", "x").handler(row)), DefinitionError::BadTemplate { .. }));
    let slip = Template::new("db://{table}/{id}", "x").handler(row).argument(argument("tabel"));
    assert_eq!(fails(slip).to_string(), "\"db://{table}/{id}\" has no argument \"tabel\"; did you mean \"table\"?");
    assert_eq!(registry.resources().insert(Resource::new("", "x").text("")), Err(DefinitionError::NoName));
}

/// MCP Apps (2026-01-26): the settings of a page are in its definition and in its contents.
#[test]
fn a_page_of_mcp_apps_has_its_settings_in_both_places() {
    let ui = UiResource { prefers_border: Some(true), ..UiResource::default() };
    let own = RawJson::parse(r#"{"own":1}"#).unwrap();
    let kept = ResourceContents { meta: Some(own.clone()), ..ResourceContents::text("ui://t/kept", "<!doctype html>") };
    let server = Registry::builder("t", "1")
        .resource(Resource::app("ui://t/page", "page").text("<!doctype html>").meta(own).ui(&ui))
        .resource(Resource::app("ui://t/kept", "kept").handler(move || std::future::ready(kept.clone())).ui(&ui))
        .build()
        .unwrap();
    with(&server, async |mut host| {
        let listed = host.ask("resources/list", json!({})).await.unwrap();
        let page = listed["resources"].as_array().unwrap().iter().find(|page| page["name"] == "page").unwrap();
        assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
        assert_eq!(page["_meta"], json!({"own": 1, "ui": {"prefersBorder": true}}));
        let read = async |host: &mut Host, uri: &str| {
            host.ask("resources/read", json!({"uri": uri})).await.unwrap()["contents"][0].take()
        };
        let contents = read(&mut host, "ui://t/page").await;
        assert_eq!(contents["mimeType"], "text/html;profile=mcp-app");
        assert_eq!(contents["_meta"], json!({"ui": {"prefersBorder": true}}));
        assert_eq!(read(&mut host, "ui://t/kept").await["_meta"], json!({"own": 1}), "contents have the last word");
    });
    let page = Resource::app("https://example.com/", "page").text("");
    let refused = Registry::builder("t", "1").resource(page).build().unwrap_err();
    assert_eq!(refused, DefinitionError::NotAnApp("https://example.com/".into()));
}

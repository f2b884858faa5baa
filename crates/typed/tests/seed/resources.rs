//! Resources and templates.

use protomcp_typed::{Capability, JsonSchema, Registry, Resource, Template};
use serde::Deserialize;
use serde_json::json;

use crate::host::with;

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

/// `AddResources`, `RemoveResources`, `AddResourceTemplates`, `RemoveResourceTemplates`, `ListResources`,
/// `ReadResource`, `ListResourceTemplates`
#[test]
fn resources_and_templates_are_added_read_and_removed() {
    let server = Registry::builder("t", "1").declare(Capability::Resources).build().unwrap();
    with(&server, async |mut host| {
        server.resources().insert(Resource::new("file:///motd", "motd").text("welcome")).unwrap();
        let files =
            Template::new("file:///{+path}", "file").handler(async |file: File| format!("contents of {}", file.path));
        server.templates().insert(files).unwrap();
        assert_eq!(host.peer.next().await["method"], "notifications/resources/list_changed");
        let resources = host.ask("resources/list", json!({})).await.unwrap();
        assert_eq!(resources["resources"][0]["uri"], "file:///motd");
        let templates = host.ask("resources/templates/list", json!({})).await.unwrap();
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "file:///{+path}");
        for (uri, text) in [("file:///motd", "welcome"), ("file:///a/b", "contents of a/b")] {
            let result = host.ask("resources/read", json!({"uri": uri})).await.unwrap();
            assert_eq!(result["contents"][0], json!({"uri": uri, "text": text}));
        }
        assert!(server.resources().remove("file:///motd"));
        assert!(server.templates().remove("file:///{+path}"));
        assert!(!server.templates().remove("file:///{+path}"), "removing an unknown template is not an error");
        assert_eq!(host.peer.next().await["method"], "notifications/resources/list_changed");
        assert_eq!(host.ask("resources/read", json!({"uri": "file:///motd"})).await.unwrap_err()["code"], -32002);
    });
}

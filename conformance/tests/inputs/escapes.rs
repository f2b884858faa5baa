//! Percent-encoded characters in URIs of resources: clients encode them, and authors do not.

use protomcp_conformance::Sandbox;
use serde_json::json;

const RESOURCES: &str = r#"from protomcp import resource, resource_template

@resource(uri="f://café/x", description="fixed")
def fixed(uri: str = "") -> str:
    return "fixed"

@resource_template(uri_template="docs://café/{name}", description="templated")
def templated(name: str) -> str:
    return name
"#;

#[test]
fn resources_are_read_in_any_form_of_their_uri() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", RESOURCES);
    let host = sandbox.pmcp(&["run", "tools.py", "--sdk", "bundled"]).without("PROTOMCP_PYTHON").start();
    host.initialize();
    for (uri, text) in [
        ("f://café/x", "fixed"),
        ("f://caf%C3%A9/x", "fixed"),
        ("f://caf%c3%a9/%78", "fixed"),
        ("docs://café/a", "a"),
        ("docs://caf%C3%A9/a", "a"),
        ("docs://caf%c3%a9/b%20c", "b c"),
    ] {
        assert_eq!(host.ask("resources/read", &json!({"uri": uri}))["contents"][0]["text"], text, "{uri}");
    }
    for uri in ["f://cafe/x", "f://café%2Fx"] {
        assert!(host.refused("resources/read", &json!({"uri": uri}))["message"].is_string(), "{uri}");
    }
}

//! Tools: inferred schemas, options, adding and removing.

use protomcp_testing::run_paused;
use protomcp_typed::{Capability, JsonSchema, Registry, Tool, property};
use protomcp_types::ContentBlock;
use serde::Deserialize;
use serde_json::json;

use crate::host::{Host, with};

#[derive(Deserialize, JsonSchema)]
struct SayHi {
    name: String,
}

async fn say_hi(request: SayHi) -> Vec<ContentBlock> {
    vec![ContentBlock::text(format!("Hi {}", request.name))]
}

/// `NewServer("greeter", "v1.0.0", nil)`, `AddTool(NewTool("greet", "say hi", SayHi))`, `CallTool("greet", …)`
#[test]
fn a_server_with_a_single_tool() {
    let server =
        Registry::builder("greeter", "v1.0.0").tool(Tool::new("greet", "say hi").handler(say_hi)).build().unwrap();
    with(&server, async |mut host| assert_eq!(host.text("greet", json!({"name": "you"})).await, "Hi you"));
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

/// `AddTools(add, subtract)`, `RemoveTools("add", "subtract")`
#[test]
fn tools_are_added_and_removed_and_every_session_is_notified() {
    let server = Registry::builder("calculator", "1").declare(Capability::Tools).build().unwrap();
    run_paused(async {
        let (mut one, mut two) = (Host::connect(&server.server()).await, Host::connect(&server.server()).await);
        let add = Tool::new("add", "add numbers").handler(async |n: Numbers| n.a + n.b);
        let subtract = Tool::new("subtract", "subtract numbers").handler(async |n: Numbers| n.a - n.b);
        for tool in [add, subtract] {
            server.tools().insert(tool).unwrap();
        }
        for host in [&mut one, &mut two] {
            assert_eq!(host.peer.next().await["method"], "notifications/tools/list_changed");
            assert_eq!(host.text("subtract", json!({"a": 5, "b": 3})).await, "2");
        }
        for name in ["add", "subtract"] {
            assert!(server.tools().remove(name));
        }
        for host in [&mut one, &mut two] {
            assert_eq!(host.peer.next().await["method"], "notifications/tools/list_changed");
            assert_eq!(host.ask("tools/list", json!({})).await.unwrap()["tools"], json!([]));
        }
    });
}

#[derive(Deserialize, JsonSchema)]
struct Inventory {
    name: String,
    #[serde(default)]
    count: i64,
    #[serde(rename = "Choices")]
    choices: Vec<String>,
    #[serde(skip)]
    password: Vec<u8>,
}

async fn inventory(request: Inventory) -> String {
    assert!(request.password.is_empty(), "a skipped field is never read from the arguments");
    format!("{} {} {}", request.name, request.count, request.choices.len())
}

/// The struct of the design: `name` and `Choices` are required, `count` is optional, `Password` is absent.
#[test]
fn a_struct_determines_the_properties_and_the_required_ones() {
    let server = Registry::builder("t", "1").tool(Tool::new("inventory", "d").handler(inventory)).build().unwrap();
    with(&server, async |mut host| {
        let schema = host.definition("inventory").await["inputSchema"].clone();
        let names: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, ["name", "count", "Choices"]);
        assert_eq!(schema["required"], json!(["name", "Choices"]));
        assert_eq!(host.text("inventory", json!({"name": "n", "Choices": ["a"]})).await, "n 0 1");
        let result = host.call("inventory", json!({"name": "n", "Choices": [], "password": [1]})).await;
        assert_eq!(result["isError"], true);
    });
}

/// `Input(Property("count", Description("size of the inventory")))`,
/// `Input(Property("Choices", Schema(&jsonschema.Schema{UniqueItems: true})))`
#[test]
fn options_add_to_a_struct_and_are_validated_before_the_handler() {
    let tool = Tool::new("inventory", "d")
        .handler(inventory)
        .input(property("count").describe("size of the inventory"))
        .input(property("Choices").set("uniqueItems", true));
    with(&Registry::builder("t", "1").tool(tool).build().unwrap(), async |mut host| {
        let schema = host.definition("inventory").await["inputSchema"].clone();
        assert_eq!(schema["properties"]["count"]["description"], "size of the inventory");
        let result = host.call("inventory", json!({"name": "n", "Choices": ["a", "a"]})).await;
        assert_eq!(result["isError"], true);
        assert!(result["content"][0]["text"].as_str().unwrap().contains("at /Choices"), "{result}");
    });
}

#[derive(Deserialize, JsonSchema)]
struct Checklist {
    items: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    id: String,
    status: i64,
}

/// The nested schema that needs untyped maps elsewhere.
#[test]
fn nested_schemas_need_no_untyped_maps() {
    let items = || property("items").elements();
    let tool = Tool::new("check", "d")
        .handler(async |list: Checklist| {
            list.items.iter().map(|item| format!("{}={}", item.id, item.status)).collect::<String>()
        })
        .input(property("items").describe("Checklist items of the task"))
        .input(items().property("id").describe("Unique identifier of the checklist item"))
        .input(
            items()
                .property("status")
                .describe("Status of the checklist item (0: normal, 1: completed)")
                .one_of([0, 1]),
        );
    with(&Registry::builder("t", "1").tool(tool).build().unwrap(), async |mut host| {
        let schema = host.definition("check").await["inputSchema"]["properties"]["items"].clone();
        assert_eq!(schema["items"]["properties"]["status"]["enum"], json!([0, 1]));
        assert_eq!(host.text("check", json!({"items": [{"id": "a", "status": 1}]})).await, "a=1");
        let text = host.text("check", json!({"items": [{"id": "a", "status": 2}]})).await;
        assert!(text.contains("at /items/0/status: expected one of 0, 1, got 2"), "{text}");
    });
}

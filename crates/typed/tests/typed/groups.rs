//! Groups: tools that belong together, and tools of several actions.

use protomcp_server::Context;
use protomcp_typed::{DefinitionError, Group, Json, JsonSchema, Registry, Tool, ToolError};
use protomcp_types::TaskSupport;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::host::with;

#[derive(Deserialize, JsonSchema)]
struct Write {
    /// The name of the note.
    title: String,
    color: Option<Color>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
struct Read {
    title: String,
    #[serde(default)]
    lines: u8,
}

async fn write(args: Write) -> String {
    format!("kept {} in {:?}", args.title, args.color)
}

async fn read(args: Read) -> Result<String, ToolError> {
    match args.title.as_str() {
        "tea" => Ok(format!("{} lines of tea", args.lines)),
        title => Err(ToolError::new(format!("no note {title:?}")).with_code("NOT_FOUND")),
    }
}

fn notes() -> Group {
    Group::new("notes")
        .action(Tool::new("write", "Keeps a note.").handler(write).destructive(false))
        .action(Tool::new("read", "Reads a note.").handler(read).read_only().destructive(false))
}

#[test]
fn actions_are_tools_whose_names_every_host_accepts() {
    let registry = Registry::builder("t", "1").group(notes()).build().unwrap();
    assert_eq!(registry.tools().names(), ["notes_read", "notes_write"]);
    let dotted = Registry::builder("t", "1").group(notes().separator(".")).build().unwrap();
    assert_eq!(dotted.tools().names(), ["notes.read", "notes.write"]);
    with(&registry, async |mut host| {
        assert_eq!(host.text("notes_read", json!({"title": "tea", "lines": 3})).await, "3 lines of tea");
        assert_eq!(host.definition("notes_read").await["annotations"]["readOnlyHint"], true);
    });
}

#[test]
fn one_tool_runs_the_action_that_is_named() {
    let registry = Registry::builder("t", "1").group(notes().union("Keeps notes.").title("Notes")).build().unwrap();
    with(&registry, async |mut host| {
        let definition = host.definition("notes").await;
        assert_eq!((&definition["title"], &definition["description"]), (&json!("Notes"), &json!("Keeps notes.")));
        assert_eq!(definition["annotations"], json!({"destructiveHint": false}), "only one reads only");
        let schema = &definition["inputSchema"];
        assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["action"]), &json!(false)));
        assert_eq!(schema["properties"]["action"]["enum"], json!(["write", "read"]));
        assert_eq!(schema["properties"]["lines"]["type"], "integer");
        let text = host.text("notes", json!({"action": "write", "title": "a", "color": "red"})).await;
        assert_eq!(text, "kept a in Some(Red)");
        assert_eq!(host.text("notes", json!({"action": "read", "title": "tea"})).await, "0 lines of tea");
        let failed = host.call("notes", json!({"action": "read", "title": "coal"})).await;
        assert_eq!(failed["_meta"]["protomcp/error"]["error_code"], "NOT_FOUND");
    });
}

#[test]
fn a_wrong_action_or_argument_is_explained() {
    let registry = Registry::builder("t", "1").group(notes().union("Keeps notes.")).build().unwrap();
    with(&registry, async |mut host| {
        for (arguments, why) in [
            (json!({"action": "reed", "title": "a"}), "got \"reed\"; did you mean \"read\"?"),
            (json!({"title": "a"}), "invalid arguments for tool \"notes\":\n- \"action\" is missing (string: write: "),
            (json!({"action": "read", "tilte": "a"}), "- unknown argument \"tilte\"; did you mean \"title\"?"),
            (
                json!({"action": "read"}),
                "invalid arguments for action \"read\" of tool \"notes\":\n- \"title\" is missing",
            ),
            (
                json!({"action": "write", "title": "a", "lines": 2}),
                "invalid arguments for action \"write\" of tool \"notes\":\n- unknown argument \"lines\"",
            ),
            (json!({"action": "write", "title": "a", "color": "gren"}), "\"gren\""),
        ] {
            let result = host.call("notes", arguments).await;
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(why), "{text}");
            assert_eq!(result["_meta"]["protomcp/error"]["error_code"], "INVALID_ARGUMENTS", "{result}");
        }
    });
}

#[derive(Serialize, JsonSchema)]
struct Area {
    area: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    children: Vec<Self>,
}

fn count(tree: &Tree) -> usize {
    1 + tree.children.iter().map(count).sum::<usize>()
}

#[test]
fn actions_keep_results_layers_and_recursive_types() {
    let group = Group::new("all")
        .action(Tool::new("area", "Area").handler(async || Json(Area { area: 2.5 })))
        .action(Tool::new("count", "Counts").handler(async |tree: Tree| count(&tree).to_string()))
        .action(
            Tool::new("slow", "Never ends")
                .handler(async |context: Context| context.cancelled().await)
                .timeout(std::time::Duration::from_secs(1)),
        );
    let registry = Registry::builder("t", "1").group(group.union("Everything")).build().unwrap();
    with(&registry, async |mut host| {
        let area = host.call("all", json!({"action": "area"})).await;
        assert_eq!(area["structuredContent"], json!({"area": 2.5}));
        let tree = json!({"action": "count", "children": [{"children": []}, {"children": [{"children": []}]}]});
        assert_eq!(host.text("all", tree).await, "4");
        let wrong = host.call("all", json!({"action": "count", "children": [{"children": 1}]})).await;
        assert_eq!(wrong["isError"], true);
        assert_eq!(host.call("all", json!({"action": "slow"})).await["isError"], true);
    });
}

#[test]
fn an_action_can_be_a_task() {
    let group = Group::new("kitchen")
        .action(Tool::new("brew", "Makes coffee").handler(async || "coffee").task(TaskSupport::Required))
        .action(Tool::new("look", "Looks").handler(async || "clean"));
    let registry = Registry::builder("t", "1").group(group.union("A kitchen")).build().unwrap();
    with(&registry, async |mut host| {
        assert_eq!(host.definition("kitchen").await["execution"]["taskSupport"], "optional");
        assert_eq!(host.text("kitchen", json!({"action": "look"})).await, "clean");
        let call = json!({"name": "kitchen", "arguments": {"action": "brew"}, "task": {}});
        let task = host.ask("tools/call", call).await.unwrap()["task"]["taskId"].clone();
        let result = host.ask("tasks/result", json!({"taskId": task})).await.unwrap();
        assert_eq!(result["content"][0]["text"], "coffee");
        let call = json!({"name": "kitchen", "arguments": {"action": "brew"}});
        assert_eq!(host.ask("tools/call", call).await.unwrap_err()["code"], -32601);
    });
}

#[derive(Deserialize, JsonSchema)]
struct Reserved {
    action: String,
}

#[test]
fn faults_of_a_group_are_found_before_it_is_served() {
    let build = |group: Group| Registry::builder("t", "1").group(group.union("d")).build().map(drop).unwrap_err();
    assert_eq!(build(Group::new("none")), DefinitionError::NoActions("none".into()));
    let taken = Tool::new("take", "d").handler(async |args: Reserved| args.action);
    let owner = "g take".to_owned();
    assert_eq!(build(Group::new("g").action(taken)), DefinitionError::ReservedArgument { owner, argument: "action" });
    let twice = || Tool::new("a", "d").handler(async || "");
    assert_eq!(build(Group::new("g").action(twice()).action(twice())), DefinitionError::Twice("g a".into()));
}

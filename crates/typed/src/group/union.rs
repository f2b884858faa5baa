//! One tool for all actions of a group: its schema, its hints, and the choice of the action.

use std::collections::BTreeMap;
use std::sync::Arc;

use protomcp_schema::Mismatch;
use protomcp_types::{CallTool, JsonObject, TaskSupport, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::collection::{Define, Defined};
use crate::definition::DefinitionError;
use crate::schema::walk::each_subschema;
use crate::tool::Tool;
use crate::tool::entry::{AsTask, Entry};
use crate::tool::service::AnyHandler;

/// The argument that names the action.
const ACTION: &str = "action";

/// An action as clients see it.
struct Action {
    name: String,
    /// Its definition as a tool.
    definition: Value,
}

/// The tool with this name whose calls choose one of these actions.
pub(super) fn tool(name: String, description: String, actions: Vec<Tool>) -> Result<Tool, DefinitionError> {
    let mut seen = Vec::new();
    let mut entries = BTreeMap::new();
    for tool in actions {
        let Defined { key, definition, content } = tool.of_group(&name).define()?;
        let action = Action { name: key.to_string(), definition: definition.to().unwrap_or_default() };
        if properties(&action.definition["inputSchema"]).iter().any(|(argument, _)| *argument == ACTION) {
            return Err(DefinitionError::ReservedArgument { owner: format!("{name} {key}"), argument: ACTION });
        }
        if entries.insert(action.name.clone(), content).is_some() {
            return Err(DefinitionError::Twice(format!("{name} {key}")));
        }
        seen.push(action);
    }
    if seen.is_empty() {
        return Err(DefinitionError::NoActions(name));
    }
    let schema = schema(&seen);
    let (hints, tasks) = (hints(&seen), tasks(entries.values()));
    let is_hidden = entries.values().all(|entry| entry.is_hidden);
    let tool = Tool::of_actions(name, description, choose(entries), schema);
    let tool = if hints == ToolAnnotations::default() { tool } else { tool.annotations(hints) };
    let tool = if is_hidden { tool.hidden() } else { tool };
    Ok(tool.with_tasks(tasks))
}

/// Calls the action that the arguments name. The schema of the tool allows no others.
fn choose(actions: BTreeMap<String, Entry>) -> AnyHandler {
    let actions = Arc::new(actions);
    Box::new(move |context, call| {
        let unreadable = |error: serde_json::Error| Mismatch::new(error.to_string());
        let mut members = JsonObject::from_raw(&call.arguments_or_empty()).map_err(unreadable)?;
        let action: String = match members.take(ACTION) {
            Some(name) => name.to().map_err(unreadable)?,
            None => String::new(),
        };
        if !actions.contains_key(&action) {
            return Err(Mismatch::new(format!("there is no action {action:?}")));
        }
        let actions = Arc::clone(&actions);
        let call = CallTool { arguments: Some(members.to_body().into_raw()), ..call };
        Ok(Box::pin(async move { actions[&action].call(call, context).await }))
    })
}

/// One object with the arguments of all actions: hosts refuse schemas that choose between several at the top.
fn schema(actions: &[Action]) -> Value {
    let names: Vec<_> = actions.iter().map(|action| json!(action.name)).collect();
    let about: Vec<_> = actions.iter().map(Action::describe).collect();
    let mut all = Map::new();
    all.insert(ACTION.into(), json!({"type": "string", "enum": names, "description": about.join("\n")}));
    let mut definitions = Map::new();
    let mut is_closed = true;
    for (index, action) in actions.iter().enumerate() {
        let mut schema = action.definition["inputSchema"].clone();
        let place = format!("action{index}");
        if move_references(&mut schema, &format!("#/$defs/{place}")) {
            definitions.insert(place, schema.clone());
        }
        is_closed &= schema.get("additionalProperties") == Some(&Value::Bool(false));
        for (argument, schema) in properties(&schema) {
            merge(&mut all, argument, schema);
        }
    }
    let mut union = json!({"type": "object", "properties": all, "required": [ACTION]});
    if is_closed {
        union["additionalProperties"] = Value::Bool(false);
    }
    if !definitions.is_empty() {
        union["$defs"] = Value::Object(definitions);
    }
    union
}

/// Adds an argument; one that several actions have in different ways may have any of them.
fn merge(all: &mut Map<String, Value>, argument: &str, schema: &Value) {
    let known = all.entry(argument).or_insert_with(|| schema.clone());
    if known == schema {
        return;
    }
    let is_choice = known.as_object().is_some_and(|members| members.len() == 1);
    match known.get_mut("anyOf").and_then(Value::as_array_mut).filter(|_| is_choice) {
        Some(choices) if choices.contains(schema) => {}
        Some(choices) => choices.push(schema.clone()),
        None => *known = json!({"anyOf": [known.clone(), schema.clone()]}),
    }
}

/// Lets references point to the new place of their document. Returns true if there are any.
fn move_references(schema: &mut Value, place: &str) -> bool {
    let mut has_any = false;
    each_subschema(schema, &mut |object| {
        if let Some(Value::String(reference)) = object.get_mut("$ref")
            && let Some(rest) = reference.strip_prefix('#')
        {
            // A name holds in the whole document.
            if rest.is_empty() || rest.starts_with('/') {
                *reference = format!("{place}{rest}");
            }
            has_any = true;
        }
    });
    has_any
}

/// The arguments that a schema names, also in the parts that it is combined from.
fn properties(schema: &Value) -> Vec<(&str, &Value)> {
    let own = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut found: Vec<_> = own.map(|(name, schema)| (name.as_str(), schema)).collect();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        found.extend(parts.flat_map(properties));
    }
    found
}

impl Action {
    /// A line for the model: the purpose of the action, and the arguments that it needs.
    fn describe(&self) -> String {
        let about = self.definition["description"].as_str().unwrap_or_default();
        let mut line = format!("{}: {about}", self.name);
        let required = self.definition["inputSchema"].get("required").and_then(Value::as_array);
        let required: Vec<_> = required.into_iter().flatten().filter_map(Value::as_str).collect();
        if !required.is_empty() {
            let end = if about.ends_with(char::is_alphanumeric) { "." } else { "" };
            line.push_str(&format!("{end} Requires {}.", required.join(", ")));
        }
        line
    }
}

/// The hints that hold for each action.
fn hints(actions: &[Action]) -> ToolAnnotations {
    let all = |name: &str, value: bool| {
        let is_hinted = |action: &Action| action.definition["annotations"][name] == Value::Bool(value);
        actions.iter().all(is_hinted).then_some(value)
    };
    ToolAnnotations {
        title: None,
        read_only_hint: all("readOnlyHint", true),
        destructive_hint: all("destructiveHint", false),
        idempotent_hint: all("idempotentHint", true),
        open_world_hint: all("openWorldHint", false),
    }
}

/// A call can be a task if one of the actions can; the action decides.
fn tasks<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> AsTask {
    let mut with_tasks =
        entries.clone().map(|entry| entry.tasks).filter(|tasks| tasks.support != TaskSupport::Forbidden);
    let Some(first) = with_tasks.next() else { return AsTask::default() };
    let are_all_required = entries.map(|entry| entry.tasks.support).all(|support| support == TaskSupport::Required);
    let support = if are_all_required { TaskSupport::Required } else { TaskSupport::Optional };
    AsTask { support, on_demand: true, ..first }
}

#[cfg(test)]
mod tests {
    use protomcp_schema::Validator;

    use super::*;

    fn action(name: &str, about: &str, schema: &Value) -> Action {
        Action { name: name.into(), definition: json!({"description": about, "inputSchema": schema}) }
    }

    #[test]
    fn a_union_has_the_arguments_of_all_actions() {
        let text = json!({"type": "string"});
        let write = json!({"type": "object", "properties": {"title": text, "size": {"type": "integer"}},
            "required": ["title"], "additionalProperties": false});
        let read = json!({"type": "object", "properties": {"title": text, "size": {"type": "string"}},
            "additionalProperties": false});
        let open = json!({"type": "object"});
        let mut actions = vec![action("write", "Keeps a note.", &write), action("read", "Reads", &read)];
        let expected = json!({
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["write", "read"],
                    "description": "write: Keeps a note. Requires title.\nread: Reads",
                },
                "title": text,
                "size": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            },
            "required": ["action"],
            "additionalProperties": false,
        });
        assert_eq!(schema(&actions), expected);
        actions.push(action("other", "Anything", &open));
        assert_eq!(schema(&actions).get("additionalProperties"), None, "an action takes any argument");
    }

    #[test]
    fn references_lead_to_the_schema_of_their_action() {
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}});
        let one = json!({"type": "object", "properties": {"list": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}});
        let other = json!({"type": "object", "properties": {"inner": {"$ref": "#"}}});
        let union = schema(&[action("one", "", &one), action("other", "", &other)]);
        assert_eq!(union["properties"]["list"], json!({"$ref": "#/$defs/action0/$defs/Node"}));
        assert_eq!(union["properties"]["inner"], json!({"$ref": "#/$defs/action1"}));
        let next = "/$defs/action0/$defs/Node/properties/next";
        assert_eq!(union.pointer(next).unwrap(), &json!({"$ref": "#/$defs/action0/$defs/Node"}));
    }

    #[test]
    fn references_of_draft_7_and_names_lead_to_their_schemas() {
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/definitions/Node"}}});
        let old = json!({"type": "object", "properties": {"old": {"$ref": "#/definitions/Node"}},
            "definitions": {"Node": node}});
        let named = json!({"type": "object", "properties": {"named": {"$ref": "#node"}},
            "$defs": {"Node": {"$anchor": "node", "type": "object", "properties": {"next": {"$ref": "#node"}}}}});
        let union = schema(&[action("old", "", &old), action("named", "", &named)]);
        assert_eq!(union["properties"]["old"], json!({"$ref": "#/$defs/action0/definitions/Node"}));
        let check = Validator::compile(union).unwrap();
        for name in ["old", "named"] {
            assert!(check.is_valid(&json!({"action": name, name: {"next": {"next": {}}}})), "{name}");
            assert!(!check.is_valid(&json!({"action": name, name: {"next": {"next": 5}}})), "{name}");
        }
    }

    #[test]
    fn arguments_of_combined_schemas_are_found() {
        let schema = json!({"type": "object", "properties": {"a": true},
            "oneOf": [{"properties": {"b": true}}, {"allOf": [{"properties": {"c": true}}]}]});
        assert_eq!(properties(&schema).iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn only_hints_of_all_actions_count() {
        let with =
            |annotations: Value| Action { name: String::new(), definition: json!({ "annotations": annotations }) };
        let found = hints(&[
            with(json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true})),
            with(json!({"readOnlyHint": true, "destructiveHint": true})),
        ]);
        assert_eq!(found, ToolAnnotations { read_only_hint: Some(true), ..ToolAnnotations::default() });
    }
}

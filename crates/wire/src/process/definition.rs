//! Definitions of tools, resources, resource templates and prompts for the envelope.

use bytes::Bytes;
use protomcp_envelope as proto;
use protomcp_types::{Prompt, PromptArgument, RawJson, Resource, ResourceTemplate, TaskSupport, Tool};

/// A tool.
#[must_use]
pub fn tool(tool: Tool) -> proto::ToolDefinition {
    let tasks = TaskSupport::of(tool.execution.as_ref());
    let hints = tool.annotations.clone().unwrap_or_default();
    proto::ToolDefinition {
        name: tool.name.as_str().to_owned(),
        description: tool.description.unwrap_or_default(),
        input_schema_json: tool.input_schema.into_bytes(),
        output_schema_json: text(tool.output_schema),
        title: tool.title.unwrap_or_default(),
        read_only_hint: hints.read_only_hint == Some(true),
        destructive_hint: hints.destructive_hint == Some(true),
        idempotent_hint: hints.idempotent_hint == Some(true),
        open_world_hint: hints.open_world_hint == Some(true),
        task_support: tasks != TaskSupport::Forbidden,
        annotations_json: text(tool.annotations.and_then(|annotations| RawJson::of(&annotations).ok())),
        icons_json: text(tool.icons),
        task_required: tasks == TaskSupport::Required,
        metadata_json: text(tool.meta),
        checks_arguments: false,
    }
}

/// A resource.
#[must_use]
pub fn resource(resource: Resource) -> proto::ResourceDefinition {
    proto::ResourceDefinition {
        uri: resource.uri,
        name: resource.name,
        description: resource.description.unwrap_or_default(),
        mime_type: resource.mime_type.unwrap_or_default(),
        size: resource.size.and_then(|size| i64::try_from(size).ok()).unwrap_or_default(),
        title: resource.title.unwrap_or_default(),
        icons_json: text(resource.icons),
        annotations_json: text(resource.annotations),
        metadata_json: text(resource.meta),
    }
}

/// A resource template.
#[must_use]
pub fn resource_template(template: ResourceTemplate) -> proto::ResourceTemplateDefinition {
    proto::ResourceTemplateDefinition {
        uri_template: template.uri_template,
        name: template.name,
        description: template.description.unwrap_or_default(),
        mime_type: template.mime_type.unwrap_or_default(),
        title: template.title.unwrap_or_default(),
        icons_json: text(template.icons),
        annotations_json: text(template.annotations),
        metadata_json: text(template.meta),
    }
}

/// A prompt.
#[must_use]
pub fn prompt(prompt: Prompt) -> proto::PromptDefinition {
    let argument = |argument: PromptArgument| proto::PromptArgument {
        name: argument.name,
        description: argument.description.unwrap_or_default(),
        required: argument.required,
        title: argument.title.unwrap_or_default(),
    };
    proto::PromptDefinition {
        name: prompt.name,
        description: prompt.description.unwrap_or_default(),
        arguments: prompt.arguments.into_iter().map(argument).collect(),
        title: prompt.title.unwrap_or_default(),
        icons_json: text(prompt.icons),
        metadata_json: text(prompt.meta),
    }
}

fn text(json: Option<RawJson>) -> Bytes {
    json.map(RawJson::into_bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use protomcp_types::{ToolAnnotations, ToolName};

    use super::*;
    use crate::definition;

    fn json(text: &'static str) -> Option<RawJson> {
        Some(RawJson::parse(text).unwrap())
    }

    #[test]
    fn a_tool_keeps_all_that_the_envelope_has() {
        let mut mine = Tool::new(ToolName::new("add").unwrap());
        mine.description = Some("Adds".into());
        mine.title = Some("Add".into());
        mine.output_schema = json(r#"{"type":"object"}"#);
        mine.annotations = Some(ToolAnnotations { destructive_hint: Some(false), ..Default::default() });
        mine.icons = json("[]");
        mine.meta = json(r#"{"a":1}"#);
        mine.execution = Some(TaskSupport::Optional.put(None));
        let envelope = tool(mine.clone());
        assert_eq!((envelope.name.as_str(), envelope.title.as_str()), ("add", "Add"));
        assert_eq!(envelope.annotations_json, r#"{"destructiveHint":false}"#.as_bytes());
        assert_eq!(envelope.output_schema_json, r#"{"type":"object"}"#.as_bytes());
        assert!(envelope.task_support && !envelope.task_required && !envelope.destructive_hint);
        mine.execution = Some(TaskSupport::Required.put(None));
        assert!(tool(mine).task_required);
    }

    #[test]
    fn the_bridge_reads_what_was_written() {
        let mut file = Resource::new("file:///a", "a");
        file.title = Some("A".into());
        file.size = Some(7);
        file.annotations = json(r#"{"priority":1}"#);
        assert_eq!(definition::resource(resource(file.clone())), file);
        let mut files = ResourceTemplate::new("file:///{a}", "t");
        files.mime_type = Some("text/plain".into());
        files.meta = json(r#"{"x":2}"#);
        assert_eq!(definition::resource_template(resource_template(files.clone())), files);
        let mut ask = Prompt::new("ask");
        ask.description = Some("Asks".into());
        ask.arguments = vec![PromptArgument::new("who").required()];
        ask.icons = json("[]");
        assert_eq!(definition::prompt(prompt(ask.clone())), ask);
    }
}

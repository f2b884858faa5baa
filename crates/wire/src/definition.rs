//! Definitions of resources, resource templates and prompts.

use bytes::Bytes;
use protomcp_envelope::{PromptDefinition, ResourceDefinition, ResourceTemplateDefinition};
use protomcp_types::{Kind, Prompt, PromptArgument, RawJson, Resource, ResourceTemplate};

/// A resource; one without a name is named by its URI.
#[must_use]
pub fn resource(envelope: ResourceDefinition) -> Resource {
    let ResourceDefinition {
        uri,
        name,
        description,
        mime_type,
        size,
        title,
        icons_json,
        annotations_json,
        metadata_json,
    } = envelope;
    Resource {
        name: name_or(name, &uri),
        uri,
        title: non_empty(title),
        description: non_empty(description),
        mime_type: non_empty(mime_type),
        // An SDK that does not know the size sends 0, too.
        size: u64::try_from(size).ok().filter(|size| *size > 0),
        annotations: json(annotations_json, Kind::Object),
        icons: json(icons_json, Kind::Array),
        meta: json(metadata_json, Kind::Object),
    }
}

/// A resource template; one without a name is named by its URI template.
#[must_use]
pub fn resource_template(envelope: ResourceTemplateDefinition) -> ResourceTemplate {
    let ResourceTemplateDefinition {
        uri_template,
        name,
        description,
        mime_type,
        title,
        icons_json,
        annotations_json,
        metadata_json,
    } = envelope;
    ResourceTemplate {
        name: name_or(name, &uri_template),
        uri_template,
        title: non_empty(title),
        description: non_empty(description),
        mime_type: non_empty(mime_type),
        annotations: json(annotations_json, Kind::Object),
        icons: json(icons_json, Kind::Array),
        meta: json(metadata_json, Kind::Object),
    }
}

/// A prompt.
#[must_use]
pub fn prompt(envelope: PromptDefinition) -> Prompt {
    let PromptDefinition { name, description, arguments, title, icons_json, metadata_json } = envelope;
    let argument = |argument: protomcp_envelope::PromptArgument| PromptArgument {
        name: argument.name,
        title: non_empty(argument.title),
        description: non_empty(argument.description),
        required: argument.required,
    };
    Prompt {
        name,
        title: non_empty(title),
        description: non_empty(description),
        arguments: arguments.into_iter().map(argument).collect(),
        icons: json(icons_json, Kind::Array),
        meta: json(metadata_json, Kind::Object),
    }
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// MCP requires a name.
fn name_or(name: String, key: &str) -> String {
    if name.is_empty() { key.to_owned() } else { name }
}

fn json(text: Bytes, kind: Kind) -> Option<RawJson> {
    RawJson::parse_lossy(text).ok().filter(|json| json.kind() == kind)
}

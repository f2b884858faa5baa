//! From the definition of a tool process to the one that hosts read.

use bytes::Bytes;
use protomcp_proto::{PromptDefinition, ResourceDefinition, ResourceTemplateDefinition};
use protomcp_types::{self as types, PromptArgument, RawJson, UriTemplate};

use crate::catalog::faults::Faults;
use crate::catalog::resources_and_prompts::{Item, fault};

/// Something that can be read under one URI.
#[derive(Debug)]
pub(super) struct Resource {
    json: RawJson,
    pub(super) mime_type: String,
}

impl Item for Resource {
    type Wire = ResourceDefinition;
    const NOUN: &'static str = "resource";
    const NAMELESS: &'static str = "resources without a name under which they could be asked for";
    const REPEATED: &'static str = "definitions of resources that are registered already";

    fn read(wire: ResourceDefinition, _: &mut Faults) -> (String, Self) {
        let ResourceDefinition { uri, name, description, mime_type, size, title, icons_json, annotations_json } = wire;
        let definition = types::Resource {
            name: or(name, &uri),
            uri,
            title: some(title),
            description: some(description),
            mime_type: some(mime_type.clone()),
            // 0 is also what an SDK sends that does not know.
            size: u64::try_from(size).ok().filter(|size| *size > 0),
            annotations: json(annotations_json, types::Kind::Object),
            icons: json(icons_json, types::Kind::Array),
            meta: None,
        };
        (definition.uri.clone(), Self { json: definition.to_raw(), mime_type })
    }

    fn json(&self) -> &RawJson {
        &self.json
    }
}

/// A family of resources.
#[derive(Debug)]
pub(super) struct Template {
    json: RawJson,
    pub(super) mime_type: String,
    /// `None`: it cannot be understood, and stands for nothing.
    pattern: Option<UriTemplate>,
}

impl Template {
    pub(super) fn matches_uri(&self, uri: &str) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.matches(uri))
    }
}

impl Item for Template {
    type Wire = ResourceTemplateDefinition;
    const NOUN: &'static str = "resource template";
    const NAMELESS: &'static str = "resource templates without a name under which they could be asked for";
    const REPEATED: &'static str = "definitions of resource templates that are registered already";

    fn read(wire: ResourceTemplateDefinition, faults: &mut Faults) -> (String, Self) {
        let ResourceTemplateDefinition {
            uri_template,
            name,
            description,
            mime_type,
            title,
            icons_json,
            annotations_json,
        } = wire;
        let pattern = UriTemplate::parse(&uri_template)
            .inspect_err(|error| {
                faults.add("resource templates through which nothing can be read", || {
                    fault::<Self>(&uri_template, &format!("nothing can be read through it: {error}"))
                });
            })
            .ok();
        let definition = types::ResourceTemplate {
            name: or(name, &uri_template),
            uri_template,
            title: some(title),
            description: some(description),
            mime_type: some(mime_type.clone()),
            annotations: json(annotations_json, types::Kind::Object),
            icons: json(icons_json, types::Kind::Array),
            meta: None,
        };
        (definition.uri_template.clone(), Self { json: definition.to_raw(), mime_type, pattern })
    }

    fn json(&self) -> &RawJson {
        &self.json
    }
}

/// A text with gaps.
#[derive(Debug)]
pub(crate) struct Prompt {
    json: RawJson,
    required: Vec<String>,
}

impl Prompt {
    /// The first argument without which the prompt makes no sense and that `is_given` does not know.
    pub(crate) fn missing(&self, is_given: impl Fn(&str) -> bool) -> Option<&str> {
        self.required.iter().map(String::as_str).find(|name| !is_given(name))
    }
}

impl Item for Prompt {
    type Wire = PromptDefinition;
    const NOUN: &'static str = "prompt";
    const NAMELESS: &'static str = "prompts without a name under which they could be asked for";
    const REPEATED: &'static str = "definitions of prompts that are registered already";

    fn read(wire: PromptDefinition, _: &mut Faults) -> (String, Self) {
        let PromptDefinition { name, description, arguments, title, icons_json } = wire;
        let arguments: Vec<_> = arguments
            .into_iter()
            .map(|argument| PromptArgument {
                name: argument.name,
                title: some(argument.title),
                description: some(argument.description),
                required: argument.required,
            })
            .collect();
        let required = arguments.iter().filter(|argument| argument.required);
        let required = required.map(|argument| argument.name.clone()).collect();
        let definition = types::Prompt {
            name,
            title: some(title),
            description: some(description),
            arguments,
            icons: json(icons_json, types::Kind::Array),
            meta: None,
        };
        let json = definition.to_raw();
        (definition.name, Self { json, required })
    }

    fn json(&self) -> &RawJson {
        &self.json
    }
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// MCP wants a name for everything.
fn or(name: String, key: &str) -> String {
    if name.is_empty() { key.to_owned() } else { name }
}

fn json(text: Bytes, kind: types::Kind) -> Option<RawJson> {
    RawJson::parse(text).ok().filter(|json| json.kind() == kind)
}

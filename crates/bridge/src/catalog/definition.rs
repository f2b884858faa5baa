//! One definition of a resource, a template or a prompt, and the parts that requests need.

use protomcp_envelope::{PromptDefinition, ResourceDefinition, ResourceTemplateDefinition};
use protomcp_types::{RawJson, UriTemplate};
use protomcp_wire::definition;

use crate::catalog::faults::Faults;
use crate::catalog::resources_and_prompts::{Item, fault};

/// A resource with one URI.
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
        let definition = definition::resource(wire);
        let json = definition.to_raw();
        (definition.uri, Self { json, mime_type: definition.mime_type.unwrap_or_default() })
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
    /// `None` if the template is invalid; it then matches no URI.
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
        let definition = definition::resource_template(wire);
        let pattern = UriTemplate::parse(&definition.uri_template)
            .inspect_err(|error| {
                faults.add("resource templates through which nothing can be read", || {
                    fault::<Self>(&definition.uri_template, &format!("nothing can be read through it: {error}"))
                });
            })
            .ok();
        let json = definition.to_raw();
        (definition.uri_template, Self { json, mime_type: definition.mime_type.unwrap_or_default(), pattern })
    }

    fn json(&self) -> &RawJson {
        &self.json
    }
}

/// A prompt with its arguments.
#[derive(Debug)]
pub(crate) struct Prompt {
    json: RawJson,
    required: Vec<String>,
}

impl Prompt {
    /// The first required argument that `is_given` does not know.
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
        let definition = definition::prompt(wire);
        let required = definition.arguments.iter().filter(|argument| argument.required);
        let required = required.map(|argument| argument.name.clone()).collect();
        let json = definition.to_raw();
        (definition.name, Self { json, required })
    }

    fn json(&self) -> &RawJson {
        &self.json
    }
}

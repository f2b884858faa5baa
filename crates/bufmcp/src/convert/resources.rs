//! Resources and their contents.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_types::{JsonBuf, JsonObject, RawJson};

use crate::code;
use crate::convert::json_metadata::{json_entries, json_of, some_text};
use crate::fault::Fault;
use crate::message;
use crate::message::resource_content::Content;
use crate::metadata::{ICONS, META, RESOURCE_ANNOTATIONS, SIZE, TITLE};

/// The definition of a resource.
pub(crate) fn resource_to_proto(resource: &protomcp_types::Resource) -> message::Resource {
    let title = resource.title.iter().map(|title| (TITLE.to_owned(), title.clone()));
    let size = resource.size.iter().map(|size| (SIZE.to_owned(), size.to_string()));
    message::Resource {
        uri: resource.uri.clone(),
        name: resource.name.clone(),
        description: resource.description.clone().unwrap_or_default(),
        mime_type: resource.mime_type.clone().unwrap_or_default(),
        metadata: title.chain(size).collect(),
    }
}

/// The definition of resources with one template.
pub(crate) fn template_to_proto(template: &protomcp_types::ResourceTemplate) -> message::ResourceTemplate {
    let protomcp_types::ResourceTemplate { annotations, icons, meta, .. } = template;
    let mut metadata = json_entries([(RESOURCE_ANNOTATIONS, annotations), (ICONS, icons), (META, meta)]);
    metadata.extend(template.title.iter().map(|title| (TITLE.to_owned(), title.clone())));
    message::ResourceTemplate {
        uri_template: template.uri_template.clone(),
        name: template.name.clone(),
        description: template.description.clone().unwrap_or_default(),
        mime_type: template.mime_type.clone().unwrap_or_default(),
        metadata,
    }
}

/// The definition of resources with one template, for MCP.
pub(crate) fn template_from_proto(template: message::ResourceTemplate) -> protomcp_types::ResourceTemplate {
    let message::ResourceTemplate { uri_template, name, description, mime_type, metadata } = template;
    protomcp_types::ResourceTemplate {
        uri_template,
        name,
        title: metadata.get(TITLE).cloned(),
        description: some_text(description),
        mime_type: some_text(mime_type),
        annotations: json_of(&metadata, RESOURCE_ANNOTATIONS),
        icons: json_of(&metadata, ICONS),
        meta: json_of(&metadata, META),
    }
}

/// The contents of a resource.
///
/// # Errors
/// If they are not contents of MCP.
pub(crate) fn contents_to_proto(contents: &JsonBuf) -> Result<message::ResourceContent, Fault> {
    let malformed = || Fault::new(code::INTERNAL_ERROR, "the server has returned malformed contents");
    let object = JsonObject::from_raw(&contents.clone().into_raw()).map_err(|_| malformed())?;
    let text = |name: &str| object.member(name).map(RawJson::to::<String>).transpose().map_err(|_| malformed());
    let content = match (text("text")?, text("blob")?) {
        (Some(text), _) => Content::Text(text),
        (None, Some(blob)) => Content::Blob(STANDARD.decode(blob).map_err(|_| malformed())?.into()),
        (None, None) => return Err(malformed()),
    };
    Ok(message::ResourceContent {
        uri: text("uri")?.ok_or_else(malformed)?,
        mime_type: text("mimeType")?.unwrap_or_default(),
        content: Some(content),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_pass_both_ways() {
        let mut template = protomcp_types::ResourceTemplate::new("t:{name}", "named");
        assert_eq!(template_from_proto(template_to_proto(&template)), template);
        template.title = Some("Named".into());
        template.description = Some("By name".into());
        template.mime_type = Some("text/plain".into());
        template.annotations = Some(RawJson::parse(r#"{"priority":0.5}"#).unwrap());
        template.icons = Some(RawJson::parse("[]").unwrap());
        template.meta = Some(RawJson::parse(r#"{"k":1}"#).unwrap());
        assert_eq!(template_from_proto(template_to_proto(&template)), template);
    }
}

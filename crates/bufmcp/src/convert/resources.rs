//! Resources and their contents.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_types::{JsonBuf, JsonObject, RawJson};

use crate::code;
use crate::fault::Fault;
use crate::message;
use crate::message::resource_content::Content;
use crate::metadata::{SIZE, TITLE};

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

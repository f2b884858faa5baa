//! Resources: text, bytes, one that hosts subscribe to, and a template.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protomcp_envelope::{
    ReadResourceResponse, ResourceContent, ResourceDefinition, ResourceListResponse, ResourceTemplateDefinition,
    ResourceTemplateListResponse,
};

use crate::content::PNG;

pub(crate) fn all() -> ResourceListResponse {
    let resources = [
        ("test://static-text", "Static Text Resource", "text/plain"),
        ("test://static-binary", "Static Binary Resource", "image/png"),
        ("test://watched-resource", "Watched Resource", "text/plain"),
    ];
    let define = |(uri, name, mime_type): (&str, &str, &str)| ResourceDefinition {
        uri: uri.into(),
        name: name.into(),
        description: format!("The {name}"),
        mime_type: mime_type.into(),
        ..ResourceDefinition::default()
    };
    ResourceListResponse { resources: resources.map(define).into() }
}

pub(crate) fn templates() -> ResourceTemplateListResponse {
    let template = ResourceTemplateDefinition {
        uri_template: "test://template/{id}/data".into(),
        name: "Resource Template".into(),
        description: "Data of something with an id".into(),
        mime_type: "application/json".into(),
        ..ResourceTemplateDefinition::default()
    };
    ResourceTemplateListResponse { templates: vec![template] }
}

pub(crate) fn read(uri: &str) -> ReadResourceResponse {
    let text = |mime_type: &str, text: String| ResourceContent {
        uri: uri.into(),
        mime_type: mime_type.into(),
        text,
        ..ResourceContent::default()
    };
    let content = match uri {
        "test://static-binary" => {
            let blob = STANDARD.decode(PNG).expect("it is a picture").into();
            ResourceContent { uri: uri.into(), mime_type: "image/png".into(), blob, ..ResourceContent::default() }
        }
        "test://static-text" | "test://watched-resource" => text("text/plain", format!("The content of {uri}")),
        _ => text("application/json", format!(r#"{{"uri":"{uri}"}}"#)),
    };
    ReadResourceResponse { contents: vec![content], ..ReadResourceResponse::default() }
}

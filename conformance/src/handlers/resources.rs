//! Resources: text, bytes, one that changes, and a template.

use protomcp_typed::{Builder, JsonSchema, Resource, Template};
use protomcp_types::{ResourceContents, ResourceData};
use serde::Deserialize;

use crate::handlers::content::PNG;

pub(crate) fn add(builder: Builder) -> Builder {
    let picture = ResourceContents {
        uri: "test://static-binary".to_owned(),
        mime_type: Some("image/png".to_owned()),
        data: ResourceData::Blob(PNG.to_owned()),
        meta: None,
    };
    builder
        .resource(
            Resource::new("test://static-text", "Static Text Resource")
                .text("This is the content of the static text resource.")
                .describe("Text that does not change")
                .mime_type("text/plain"),
        )
        .resource(
            Resource::new("test://static-binary", "Static Binary Resource")
                .handler(move || std::future::ready(picture.clone()))
                .describe("A picture that does not change")
                .mime_type("image/png"),
        )
        .resource(
            Resource::new("test://watched-resource", "Watched Resource")
                .text("Watched resource content")
                .describe("Text that hosts subscribe to")
                .mime_type("text/plain"),
        )
        .template(
            Template::new("test://template/{id}/data", "Resource Template")
                .handler(async |row: Row| format!(r#"{{"id":"{}","templateTest":true}}"#, row.id))
                .describe("Data of something with an id")
                .mime_type("application/json"),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Row {
    id: String,
}

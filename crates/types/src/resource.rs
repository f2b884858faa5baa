//! Resources that a client can read.

use serde::{Deserialize, Serialize};

use crate::empty::Empty;
use crate::error::ErrorObject;
use crate::json_buf::JsonBuf;
use crate::list::{ListResourceTemplatesResult, ListResourcesResult, array};
use crate::method::Method;
use crate::params::Params;
use crate::raw::RawJson;

/// The longest URI, in bytes, of a subscription. Subscriptions are kept, so their size is bounded.
pub const MAX_SUBSCRIBED_URI: usize = 8 * 1024;

/// The definition of a resource (MCP 2025-11-25, schema, `Resource`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The programmatic name.
    pub name: String,
    /// The display name; since 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description, for models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type, such as `text/plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The length in bytes, before base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Audience, priority and time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<RawJson>,
    /// An array of icons; since 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<RawJson>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// A family of resources with one definition (MCP 2025-11-25, schema, `ResourceTemplate`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// A URI template after RFC 6570.
    pub uri_template: String,
    /// The programmatic name.
    pub name: String,
    /// The display name; since 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description, for models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Audience, priority and time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<RawJson>,
    /// An array of icons; since 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<RawJson>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl Resource {
    /// A resource without details.
    #[must_use]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }

    /// The definition as JSON text.
    #[must_use]
    pub fn to_raw(&self) -> RawJson {
        RawJson::of(self).expect("a resource has string keys only")
    }
}

impl ResourceTemplate {
    /// A template without details.
    #[must_use]
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri_template: uri_template.into(), name: name.into(), ..Self::default() }
    }

    /// The definition as JSON text.
    #[must_use]
    pub fn to_raw(&self) -> RawJson {
        RawJson::of(self).expect("a template has string keys only")
    }
}

impl ListResourcesResult {
    /// The only page, from definitions.
    #[must_use]
    pub fn of<'a>(resources: impl IntoIterator<Item = &'a Resource>) -> Self {
        Self::new(array(resources.into_iter().map(Resource::to_raw)))
    }
}

impl ListResourceTemplatesResult {
    /// The only page, from definitions.
    #[must_use]
    pub fn of<'a>(templates: impl IntoIterator<Item = &'a ResourceTemplate>) -> Self {
        Self::new(array(templates.into_iter().map(ResourceTemplate::to_raw)))
    }
}

/// A request about one resource.
macro_rules! by_uri {
    ($(#[$doc:meta])+ $name:ident = $method:literal, $result:ty) => {
        $(#[$doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            /// The URI in the request; such a resource may not exist.
            pub uri: String,
            /// Metadata, an object.
            #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
            pub meta: Option<RawJson>,
        }

        impl $name {
            /// Without `_meta`.
            #[must_use]
            pub fn new(uri: impl Into<String>) -> Self {
                Self { uri: uri.into(), meta: None }
            }
        }

        impl TryFrom<Params> for $name {
            type Error = ErrorObject;

            fn try_from(mut params: Params) -> Result<Self, ErrorObject> {
                Ok(Self { uri: params.required("uri")?, meta: params.take("_meta") })
            }
        }

        impl Method for $name {
            const NAME: &'static str = $method;
            type Params = Self;
            type Result = $result;
        }
    };
}

by_uri!(
    /// `resources/read` (MCP 2025-11-25, server/resources).
    ReadResource = "resources/read",
    ReadResourceResult
);
by_uri!(
    /// `resources/subscribe`: asks for notifications when a resource changes.
    Subscribe = "resources/subscribe",
    Empty
);
by_uri!(
    /// `resources/unsubscribe`: ends a subscription.
    Unsubscribe = "resources/unsubscribe",
    Empty
);

/// The answer to [`ReadResource`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReadResourceResult {
    /// Usually one; each is an object as made by [`ResourceContents::to_body`]. In pieces, so that big ones are not
    /// copied.
    pub contents: Vec<JsonBuf>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// The contents of a resource (MCP 2025-11-25, schema, `TextResourceContents` and `BlobResourceContents`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceContents {
    /// The resource; one answer may contain several.
    pub uri: String,
    /// The media type, such as `text/plain`.
    pub mime_type: Option<String>,
    /// The data.
    pub data: ResourceData,
    /// Metadata, an object.
    pub meta: Option<RawJson>,
}

/// The two forms of contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceData {
    /// Text.
    Text(String),
    /// Bytes in base64.
    Blob(String),
}

impl ReadResourceResult {
    /// An answer from contents.
    #[must_use]
    pub fn of(contents: impl IntoIterator<Item = ResourceContents>) -> Self {
        Self { contents: contents.into_iter().map(|contents| contents.to_body()).collect(), meta: None }
    }
}

impl ResourceContents {
    /// Text.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, data: ResourceData::Text(text.into()), meta: None }
    }

    /// Bytes, already in base64.
    #[must_use]
    pub fn blob(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, data: ResourceData::Blob(base64.into()), meta: None }
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// The JSON.
    #[must_use]
    pub fn to_body(&self) -> JsonBuf {
        let object = JsonBuf::object().text("uri", &self.uri).text_if("mimeType", self.mime_type.as_deref());
        let object = match &self.data {
            ResourceData::Text(text) => object.text("text", text),
            ResourceData::Blob(base64) => object.text("blob", base64),
        };
        object.raw_if("_meta", self.meta.as_ref()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_say_what_is_known() {
        let mut resource = Resource::new("file:///a", "a");
        assert_eq!(resource.to_raw().as_str(), r#"{"uri":"file:///a","name":"a"}"#);
        resource.mime_type = Some("text/plain".into());
        resource.size = Some(7);
        let text = r#"{"uri":"file:///a","name":"a","mimeType":"text/plain","size":7}"#;
        assert_eq!(resource.to_raw().as_str(), text);
        assert_eq!(serde_json::from_str::<Resource>(text).unwrap(), resource);
        let template = ResourceTemplate::new("file:///{a}", "t");
        assert_eq!(
            RawJson::of(&ListResourceTemplatesResult::of([&template])).unwrap().as_str(),
            r#"{"resourceTemplates":[{"uriTemplate":"file:///{a}","name":"t"}]}"#
        );
    }

    #[test]
    fn contents_are_text_or_base64() {
        let result = ReadResourceResult::of([
            ResourceContents::text("a", "x\n").with_mime_type("text/plain"),
            ResourceContents::blob("b", "AA=="),
        ]);
        let text = r#"{"contents":[{"uri":"a","mimeType":"text/plain","text":"x\n"},{"uri":"b","blob":"AA=="}]}"#;
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
        assert_eq!(serde_json::from_str::<ReadResourceResult>(text).unwrap(), result);
    }

    #[test]
    fn a_read_names_its_resource() {
        let params = |text: &'static str| Params::of(&RawJson::parse(text).unwrap()).unwrap();
        assert_eq!(ReadResource::try_from(params(r#"{"uri":"a"}"#)), Ok(ReadResource::new("a")));
        for bad in ["{}", r#"{"uri":null}"#, r#"{"uri":5}"#] {
            assert!(Subscribe::try_from(params(bad)).is_err(), "{bad}");
        }
    }
}

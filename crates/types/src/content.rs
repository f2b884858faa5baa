//! The content blocks of a result.
//!
//! Results that only pass through stay text (see `CallToolResult`); these types build blocks, and read the blocks of
//! known kinds. Other blocks are forwarded unchanged.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json_buf::{JsonBuf, ObjectWriter};
use crate::json_object::JsonObject;
use crate::raw::RawJson;
use crate::resource::{Resource, ResourceContents};

/// One block of content (MCP 2025-11-25, schema, `ContentBlock`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The text.
        text: String,
        /// Members of any block.
        extra: Extra,
    },
    /// An image.
    Image {
        /// Base64 data.
        data: String,
        /// The media type, such as `image/png`.
        mime_type: String,
        /// Members of any block.
        extra: Extra,
    },
    /// Audio; since 2025-03-26.
    Audio {
        /// Base64 data.
        data: String,
        /// The media type, such as `audio/wav`.
        mime_type: String,
        /// Members of any block.
        extra: Extra,
    },
    /// Any other block, unchanged: embedded resources, links, and blocks of later revisions.
    Other(RawJson),
}

/// The members that any block may have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra {
    /// Audience, priority and time of the last change.
    pub annotations: Option<RawJson>,
    /// Metadata, an object.
    pub meta: Option<RawJson>,
}

impl ContentBlock {
    /// Plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: Extra::default() }
    }

    /// An image, already in base64.
    #[must_use]
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image { data: data.into(), mime_type: mime_type.into(), extra: Extra::default() }
    }

    /// Audio, already in base64.
    #[must_use]
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio { data: data.into(), mime_type: mime_type.into(), extra: Extra::default() }
    }

    /// A resource together with its contents.
    #[must_use]
    pub fn resource(contents: &ResourceContents) -> Self {
        Self::Other(
            JsonBuf::object().text("type", "resource").body("resource", &contents.to_body()).finish().into_raw(),
        )
    }

    /// A link to a resource that the client can read; since 2025-06-18.
    #[must_use]
    pub fn link(resource: &Resource) -> Self {
        let members = JsonObject::from_raw(&resource.to_raw()).expect("a resource is an object");
        let object = JsonBuf::object().text("type", "resource_link");
        let object = members.iter().fold(object, |object, (name, value)| object.raw(name, value));
        Self::Other(object.finish().into_raw())
    }

    /// Reads `raw` if nothing is lost by that, and keeps it as it is otherwise.
    #[must_use]
    pub fn from_raw(raw: RawJson) -> Self {
        Self::understand(&raw).unwrap_or(Self::Other(raw))
    }

    /// The JSON text.
    #[must_use]
    pub fn to_raw(&self) -> RawJson {
        match self {
            Self::Text { text, extra } => {
                extra.write(JsonBuf::object().text("type", "text").text("text", text)).finish().into_raw()
            }
            Self::Image { data, mime_type, extra } => binary("image", data, mime_type, extra),
            Self::Audio { data, mime_type, extra } => binary("audio", data, mime_type, extra),
            Self::Other(raw) => raw.clone(),
        }
    }

    fn understand(raw: &RawJson) -> Option<Self> {
        let mut members = JsonObject::from_raw(raw).ok()?;
        let kind: String = members.take("type")?.to().ok()?;
        let extra = Extra { annotations: members.take("annotations"), meta: members.take("_meta") };
        let mut string = |name| members.take(name)?.to::<String>().ok();
        let block = match kind.as_str() {
            "text" => Self::Text { text: string("text")?, extra },
            "image" => Self::Image { data: string("data")?, mime_type: string("mimeType")?, extra },
            "audio" => Self::Audio { data: string("data")?, mime_type: string("mimeType")?, extra },
            _ => return None,
        };
        members.is_empty().then_some(block)
    }
}

impl Extra {
    fn write(&self, object: ObjectWriter) -> ObjectWriter {
        object.raw_if("annotations", self.annotations.as_ref()).raw_if("_meta", self.meta.as_ref())
    }
}

fn binary(kind: &str, data: &str, mime_type: &str, extra: &Extra) -> RawJson {
    extra.write(JsonBuf::object().text("type", kind).text("data", data).text("mimeType", mime_type)).finish().into_raw()
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_raw().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::deserialize(deserializer).map(Self::from_raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_embedded_or_linked() {
        let embedded = ContentBlock::resource(&ResourceContents::text("t:a", "x").with_mime_type("text/plain"));
        assert_eq!(
            embedded.to_raw().as_str(),
            r#"{"type":"resource","resource":{"uri":"t:a","mimeType":"text/plain","text":"x"}}"#
        );
        let link = ContentBlock::link(&Resource::new("t:a", "a"));
        assert_eq!(link.to_raw().as_str(), r#"{"type":"resource_link","uri":"t:a","name":"a"}"#);
    }

    #[test]
    fn a_block_is_understood_or_kept_as_it_is() {
        for (text, understood) in [
            (r#"{"type":"text","text":"a\nb"}"#, true),
            (r#"{"type":"text","text":"","annotations":{"priority":1},"_meta":{"x":1}}"#, true),
            (r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#, true),
            (r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#, true),
            (r#"{"type":"text","text":"","later":1}"#, false),
            (r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#, false),
            (r#"{"text":"no type"}"#, false),
            ("5", false),
        ] {
            let block: ContentBlock = serde_json::from_str(text).unwrap();
            assert_eq!(!matches!(block, ContentBlock::Other(_)), understood, "{text}");
            assert_eq!(serde_json::to_string(&block).unwrap(), text);
        }
    }
}

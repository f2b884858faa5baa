//! One file of a skill: its contents as they were read, and their digest.

use std::fmt::Write;
use std::str;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use protomcp_types::{JsonBuf, RawJson, Resource, ResourceContents};
use sha2::{Digest, Sha256};

use crate::media_type;

/// A file of a skill. Cloning is cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    uri: String,
    name: String,
    digest: String,
    contents: Bytes,
}

impl SkillFile {
    pub(crate) fn new(uri: String, name: &str, contents: Bytes) -> Self {
        let mut digest = "sha256:".to_owned();
        for byte in Sha256::digest(&contents) {
            write!(digest, "{byte:02x}").expect("a string takes everything");
        }
        Self { uri, name: name.to_owned(), digest, contents }
    }

    /// The URI, such as `skill://refunds/SKILL.md`.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The digest of the contents, as `sha256:` and 64 hexadecimal digits (SEP-2640, "Skill Entries").
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The length in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.contents.len() as u64
    }

    /// The contents, as they were when the digest was made.
    #[must_use]
    pub fn contents(&self) -> &Bytes {
        &self.contents
    }

    /// The media type, by the name of the file.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        media_type::of(&self.name, &self.contents)
    }

    /// The contents as `resources/read` returns them: text if they are UTF-8, otherwise base64.
    #[must_use]
    pub fn to_contents(&self) -> ResourceContents {
        let contents = match str::from_utf8(&self.contents) {
            Ok(text) => ResourceContents::text(&self.uri, text),
            Err(_) => ResourceContents::blob(&self.uri, STANDARD.encode(&self.contents)),
        };
        contents.with_mime_type(self.media_type())
    }

    /// The definition of the resource.
    pub(crate) fn to_resource(&self) -> Resource {
        Resource {
            mime_type: Some(self.media_type().to_owned()),
            size: Some(self.size()),
            ..Resource::new(&self.uri, &self.name)
        }
    }

    /// The file in the entry of its skill.
    pub(crate) fn to_entry(&self) -> RawJson {
        let object = JsonBuf::object().text("uri", &self.uri).text("digest", &self.digest);
        object.value("size", &self.size()).finish().into_raw()
    }
}

#[cfg(test)]
mod tests {
    use protomcp_types::ResourceData;

    use super::*;

    #[test]
    fn contents_are_text_or_base64() {
        let file = |bytes: &'static [u8]| SkillFile::new("skill://a/b".into(), "b", Bytes::from_static(bytes));
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!((file(b"").digest(), file(b"").size()), (empty, 0));
        assert_eq!(file(b"a\n").to_contents().data, ResourceData::Text("a\n".into()));
        assert_eq!(file(b"\0\xff").to_contents().data, ResourceData::Blob("AP8=".into()));
        let expected = format!(r#"{{"uri":"skill://a/b","digest":"{empty}","size":0}}"#);
        assert_eq!(file(b"").to_entry().as_str(), expected);
    }
}

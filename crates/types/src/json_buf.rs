//! A JSON value in pieces.
//!
//! The result of a call is assembled from parts that already exist as text. `JsonBuf` shares big parts and joins small
//! ones, so that a 100 MB result is never copied between the tool process and the client.
//!
//! The text may contain line breaks where the parts had them; in valid JSON a literal line break is never inside a
//! string, so a transport that needs one line may replace each by a space.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use crate::output::{Output, SHARE_FROM, put_either, put_text};
use crate::raw::RawJson;

/// One JSON value as a list of text pieces. Cloning is cheap.
#[derive(Clone)]
pub struct JsonBuf(SmallVec<[Bytes; 1]>);

impl JsonBuf {
    /// Starts an object.
    #[must_use]
    pub fn object() -> ObjectWriter {
        Self::object_with_capacity(128)
    }

    /// Starts an object whose small parts have about this many bytes.
    #[must_use]
    pub fn object_with_capacity(bytes: usize) -> ObjectWriter {
        ObjectWriter { rope: Rope { done: SmallVec::new(), tail: Vec::with_capacity(bytes) }, empty: true }
    }

    /// `{}`
    #[must_use]
    pub fn empty_object() -> Self {
        Self::from(RawJson::EMPTY_OBJECT)
    }

    /// The length of the text in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a JSON value is never empty")]
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// The text in pieces.
    pub fn segments(&self) -> impl Iterator<Item = &Bytes> {
        self.0.iter()
    }

    /// Writes the text.
    pub fn write_to(&self, out: &mut impl Output) {
        for piece in &self.0 {
            put_either(out, piece);
        }
    }

    /// The text as one piece; copied unless it is one already.
    #[must_use]
    pub fn into_raw(mut self) -> RawJson {
        if self.0.len() == 1 {
            return RawJson::trusted(self.0.remove(0));
        }
        let mut text = Vec::with_capacity(self.len());
        for piece in &self.0 {
            text.extend_from_slice(piece);
        }
        RawJson::trusted(text)
    }
}

impl From<RawJson> for JsonBuf {
    fn from(raw: RawJson) -> Self {
        let mut pieces = SmallVec::new();
        pieces.push(raw.into_bytes());
        Self(pieces)
    }
}

/// For cold paths: the text is joined and scanned once more. Works with serde_json only.
impl Serialize for JsonBuf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.clone().into_raw().serialize(serializer)
    }
}

/// For cold paths: the text is copied. Works with serde_json only.
impl<'de> Deserialize<'de> for JsonBuf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::deserialize(deserializer).map(Self::from)
    }
}

/// Compares the text, regardless of its pieces.
impl PartialEq for JsonBuf {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.0.iter().flatten().eq(other.0.iter().flatten())
    }
}

impl Eq for JsonBuf {}

impl fmt::Debug for JsonBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.clone().into_raw().as_str())
    }
}

/// Writes a JSON object member by member. The caller ensures that keys are unique.
#[derive(Debug)]
pub struct ObjectWriter {
    rope: Rope,
    empty: bool,
}

impl ObjectWriter {
    /// Adds a member whose value is already text.
    #[must_use]
    pub fn raw(mut self, key: &str, value: &RawJson) -> Self {
        self.key(key);
        put_either(&mut self.rope, value.bytes());
        self
    }

    /// Adds a member whose value is a buffer.
    #[must_use]
    pub fn body(mut self, key: &str, value: &JsonBuf) -> Self {
        self.key(key);
        value.write_to(&mut self.rope);
        self
    }

    /// Adds an array of buffers.
    #[must_use]
    pub fn list<'a>(mut self, key: &str, elements: impl IntoIterator<Item = &'a JsonBuf>) -> Self {
        self.key(key);
        self.rope.put(b"[");
        for (index, element) in elements.into_iter().enumerate() {
            if index > 0 {
                self.rope.put(b",");
            }
            element.write_to(&mut self.rope);
        }
        self.rope.put(b"]");
        self
    }

    /// Adds a string.
    #[must_use]
    pub fn text(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        put_text(&mut self.rope, value);
        self
    }

    /// Adds `true` or `false`.
    #[must_use]
    pub fn boolean(mut self, key: &str, value: bool) -> Self {
        self.key(key);
        self.rope.put(if value { b"true" } else { b"false" });
        self
    }

    /// Adds any value.
    ///
    /// # Panics
    /// If the value cannot be serialized, or holds a map whose keys are not strings.
    #[must_use]
    pub fn value<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
        self.key(key);
        serde_json::to_writer(&mut self.rope.tail, value).expect("the value is serializable");
        self
    }

    /// Adds a member when there is a value.
    #[must_use]
    pub fn raw_if(self, key: &str, value: Option<&RawJson>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    /// Adds a string when there is one.
    #[must_use]
    pub fn text_if(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// Closes the object.
    #[must_use]
    pub fn finish(mut self) -> JsonBuf {
        self.rope.put(if self.empty { b"{}" } else { b"}" });
        self.rope.seal();
        JsonBuf(self.rope.done)
    }

    fn key(&mut self, key: &str) {
        self.rope.put(if self.empty { b"{" } else { b"," });
        self.empty = false;
        put_text(&mut self.rope, key);
        self.rope.put(b":");
    }
}

/// Finished pieces, and one that grows.
#[derive(Debug)]
struct Rope {
    done: SmallVec<[Bytes; 1]>,
    tail: Vec<u8>,
}

impl Rope {
    fn seal(&mut self) {
        if !self.tail.is_empty() {
            self.done.push(Bytes::from(std::mem::take(&mut self.tail)));
        }
    }
}

impl Output for Rope {
    fn put(&mut self, piece: &[u8]) {
        self.tail.extend_from_slice(piece);
    }

    fn put_shared(&mut self, piece: Bytes) {
        if piece.len() < SHARE_FROM {
            self.tail.extend_from_slice(&piece);
        } else {
            self.seal();
            self.done.push(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_written_in_order() {
        let body = JsonBuf::object()
            .raw("a", &RawJson::parse("[1, 2]").unwrap())
            .text("b\n", "x\"y")
            .boolean("c", true)
            .value("d", &Some(1.5))
            .raw_if("e", None)
            .list("f", [&JsonBuf::empty_object(), &JsonBuf::from(RawJson::NULL)])
            .list("g", [])
            .finish();
        let text = r#"{"a":[1, 2],"b\n":"x\"y","c":true,"d":1.5,"f":[{},null],"g":[]}"#;
        assert_eq!(serde_json::to_string(&body).unwrap(), text);
        assert_eq!(serde_json::from_str::<JsonBuf>(text).unwrap(), body);
        assert_eq!(body.into_raw().as_str(), text);
        assert_eq!(JsonBuf::object().finish(), JsonBuf::empty_object());
    }

    #[test]
    fn a_big_piece_is_shared_and_small_ones_are_joined() {
        let big = RawJson::text(&"x".repeat(SHARE_FROM));
        let body = JsonBuf::object().text("a", "b").raw("big", &big).boolean("c", false).finish();
        let pieces: Vec<_> = body.segments().collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces[1].as_ptr(), big.as_bytes().as_ptr());
        assert_eq!(body.len(), pieces.iter().map(|piece| piece.len()).sum::<usize>());
        assert_eq!(body, JsonBuf::from(body.clone().into_raw()));
    }
}

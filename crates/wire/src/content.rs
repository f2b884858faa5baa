//! `result_json` becomes a list of content blocks (docs/envelope.md, "Calls").
//!
//! Published SDKs send an array of well-formed blocks. It is recognised in the one scan that any JSON needs, and passed on
//! to the byte. Everything else is turned into blocks without losing a byte.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use protomcp_types::{ContentBlock, JsonBuf, RawJson, array, replace_lone_surrogates};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The content array for a `result_json`.
pub fn to_mcp(text: &Bytes) -> RawJson {
    let json = &replace_lone_surrogates(text.clone());
    let content = match json.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Some(RawJson::EMPTY_ARRAY),
        Some(b'[') => from_array(json),
        Some(b'{') => from_object(json),
        Some(b'"') => serde_json::from_slice::<Cow<'_, str>>(json).ok().map(|text| text_array(text.into_owned())),
        Some(_) => None,
    };
    content.unwrap_or_else(|| text_array(String::from_utf8_lossy(text).into_owned()))
}

/// One block for any JSON text.
pub fn block(text: &Bytes) -> RawJson {
    match RawJson::parse_lossy(text.clone()) {
        Ok(element) => mend(element),
        Err(_) => text_block(&String::from_utf8_lossy(text)),
    }
}

/// The text of the only block, when there is one block and it is text.
pub fn only_text(content: &RawJson) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Text {
        text: String,
    }
    let [Text { text }] = content.to::<[Text; 1]>().ok()?;
    Some(text)
}

/// A text block contains `needle`.
pub fn mentions(content: &RawJson, needle: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Text {
        #[serde(default)]
        text: Option<String>,
    }
    let blocks: Vec<Text> = content.to().unwrap_or_default();
    blocks.iter().filter_map(|block| block.text.as_deref()).any(|text| text.contains(needle))
}

/// `content` with one more text block at its end.
pub fn with_text(content: &RawJson, text: &str) -> RawJson {
    let blocks: Vec<RawJson> = content.to().unwrap_or_default();
    array(blocks.into_iter().chain([ContentBlock::text(text).to_raw()]))
}

/// The blocks of an array; `None` if the text is not JSON.
fn from_array(text: &Bytes) -> Option<RawJson> {
    let (raw, Blocks { well_formed }) = RawJson::parse_as::<Blocks>(text).ok()?;
    if well_formed {
        return Some(raw);
    }
    let elements: Vec<RawJson> = raw.to().unwrap_or_default();
    Some(array(elements.into_iter().map(mend)))
}

/// An object is accepted as a lone block, or as a result with its own content array.
/// `None` for any other object, and for a text that is not JSON.
fn from_object(text: &Bytes) -> Option<RawJson> {
    #[derive(serde::Deserialize)]
    struct Result<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let (raw, Block(shape)) = RawJson::parse_as::<Block>(text).ok()?;
    if shape == Shape::Good {
        return Some(array([raw]));
    }
    let Result { content } = serde_json::from_slice::<Result<'_>>(raw.as_bytes()).ok()?;
    let is_array = content.get().starts_with('[');
    is_array.then(|| from_array(&raw.bytes().slice_ref(content.get().as_bytes())))?
}

/// One block for any element.
fn mend(element: RawJson) -> RawJson {
    let shape = RawJson::parse_as::<Block>(element.bytes()).map(|(_, block)| block.0);
    match shape {
        Ok(Shape::Good) => element,
        Ok(Shape::Binary) => encode(&element).unwrap_or_else(|| text_block(element.as_str())),
        _ => match element.to::<String>() {
            Ok(decoded) => text_block(&decoded),
            Err(_) => text_block(element.as_str()),
        },
    }
}

/// An image or sound whose data is not base64: the bytes of the text are the data.
fn encode(element: &RawJson) -> Option<RawJson> {
    let members: std::collections::BTreeMap<String, RawJson> = element.to().ok()?;
    let mut object = JsonBuf::object();
    for (name, value) in &members {
        object = match name.as_str() {
            "data" => object.text("data", &BASE64_STANDARD.encode(value.to::<String>().ok()?)),
            _ => object.raw(name, value),
        };
    }
    Some(object.finish().into_raw())
}

fn text_array(text: String) -> RawJson {
    array([ContentBlock::text(text).to_raw()])
}

fn text_block(text: &str) -> RawJson {
    ContentBlock::text(text).to_raw()
}

/// The form of one element of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A block of a known type with the members of that type.
    Good,
    /// An image or a sound whose data is a string but not base64.
    Binary,
    /// Anything else.
    Other,
}

struct Block(Shape);

struct Blocks {
    well_formed: bool,
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Blocks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of content blocks")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Blocks, A::Error> {
                let mut well_formed = true;
                while let Some(Block(shape)) = elements.next_element()? {
                    well_formed &= shape == Shape::Good;
                }
                Ok(Blocks { well_formed })
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Element;
        impl<'de> Visitor<'de> for Element {
            type Value = Block;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Block, A::Error> {
                let mut parts = Parts::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    match &*key {
                        "type" => parts.kind = Some(map.next_value()?),
                        "text" => parts.text = Some(map.next_value()?),
                        "data" => parts.data = Some(map.next_value()?),
                        "mimeType" => parts.mime_type = Some(map.next_value()?),
                        "uri" => parts.uri = Some(map.next_value()?),
                        "name" => parts.name = Some(map.next_value()?),
                        "resource" => parts.resource = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Block(parts.shape()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Block, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Block(Shape::Other))
            }

            fn visit_str<E>(self, _: &str) -> Result<Block, E> {
                Ok(Block(Shape::Other))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Block, E> {
                Ok(Block(Shape::Other))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Block, E> {
                Ok(Block(Shape::Other))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Block, E> {
                Ok(Block(Shape::Other))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Block, E> {
                Ok(Block(Shape::Other))
            }

            fn visit_unit<E>(self) -> Result<Block, E> {
                Ok(Block(Shape::Other))
            }
        }
        deserializer.deserialize_any(Element)
    }
}

/// The members by which a block is known, as text.
#[derive(Default)]
struct Parts<'a> {
    kind: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
    mime_type: Option<&'a RawValue>,
    uri: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    resource: Option<&'a RawValue>,
}

impl Parts<'_> {
    fn shape(&self) -> Shape {
        let string = |value: Option<&RawValue>| value.is_some_and(|value| value.get().starts_with('"'));
        let good = match self.kind.map(RawValue::get) {
            Some(r#""text""#) => string(self.text),
            Some(r#""image""# | r#""audio""#) if string(self.mime_type) && string(self.data) => {
                return if self.data.is_some_and(is_base64) { Shape::Good } else { Shape::Binary };
            }
            Some(r#""resource""#) => self.resource.is_some_and(is_resource),
            Some(r#""resource_link""#) => string(self.uri) && string(self.name),
            _ => false,
        };
        if good { Shape::Good } else { Shape::Other }
    }
}

/// An embedded resource needs a URI and its contents (MCP 2025-11-25, schema, `EmbeddedResource`).
fn is_resource(value: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct Resource<'a> {
        #[serde(borrow)]
        uri: Cow<'a, str>,
        #[serde(borrow)]
        text: Option<&'a RawValue>,
        #[serde(borrow)]
        blob: Option<&'a RawValue>,
    }
    serde_json::from_str::<Resource<'_>>(value.get())
        .is_ok_and(|resource| !resource.uri.is_empty() && (resource.text.is_some() || resource.blob.is_some()))
}

/// A JSON string is base64 as it stands, without escapes. Looks at each byte once.
fn is_base64(value: &RawValue) -> bool {
    let text = value.get().trim_matches('"');
    let data = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - data.len() <= 2
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wire: &str, content: &str) {
        assert_eq!(to_mcp(&Bytes::copy_from_slice(wire.as_bytes())).as_str(), content, "{wire}");
    }

    fn text(text: &str) -> String {
        format!(r#"{{"type":"text","text":{}}}"#, serde_json::to_string(text).unwrap())
    }

    #[test]
    fn well_formed_blocks_pass_to_the_byte() {
        for wire in [
            r#"[{"type":"text","text":"a","annotations":{"priority":0.50},"_meta":{"k":9007199254740993}}]"#,
            r#"[ {"text":"é","type":"text"} ]"#,
            r#"[{"type":"image","data":"AAE=","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"audio/wav"}]"#,
            r#"[{"type":"resource","resource":{"uri":"a:b","text":"","mimeType":"text/plain"}}]"#,
            r#"[{"type":"resource","resource":{"uri":"a:b","blob":"AA=="},"annotations":{}}]"#,
            r#"[{"type":"resource_link","uri":"a:b","name":"n","size":3}]"#,
            "[]",
        ] {
            check(wire, wire);
        }
    }

    #[test]
    fn strings_are_decoded_and_other_json_is_shown() {
        check(r#""3""#, &format!("[{}]", text("3")));
        check("\"\\u00e9\\n\"", &format!("[{}]", text("é\n")));
        check(r#""cut \ud83d""#, &format!("[{}]", text("cut \u{fffd}")));
        for shown in ["42", "true", "null", r#"{"a": 1}"#, "not json", "[1,", "{\"a\":", "\"open"] {
            check(shown, &format!("[{}]", text(shown)));
        }
        // Text that is shown as it is keeps its escapes, which are characters of the text.
        for shown in [r"cut \ud83d", r#"{"a":"\ud83d"}"#, r#"["\ud83d""#, r#""\ud83d" and more"#] {
            check(shown, &format!("[{}]", text(shown)));
        }
        check("", "[]");
        check("  ", "[]");
    }

    #[test]
    fn other_elements_become_text() {
        check(
            r#"["a",1,null,true,[2],{"x":1.50}]"#,
            &format!(
                "[{},{},{},{},{},{}]",
                text("a"),
                text("1"),
                text("null"),
                text("true"),
                text("[2]"),
                text(r#"{"x":1.50}"#)
            ),
        );
        check(
            r#"[{"type":"text"},{"type":"video","uri":"x"}]"#,
            &format!("[{},{}]", text(r#"{"type":"text"}"#), text(r#"{"type":"video","uri":"x"}"#)),
        );
        check(
            r#"[{"type":"resource","resource":{"text":"no uri"}}]"#,
            &format!("[{}]", text(r#"{"type":"resource","resource":{"text":"no uri"}}"#)),
        );
    }

    #[test]
    fn one_bad_block_leaves_the_others_alone() {
        let good = r#"{"type":"text","text":"g" , "k":1}"#;
        check(&format!("[{good},7]"), &format!("[{good},{}]", text("7")));
    }

    #[test]
    fn data_that_is_not_base64_is_encoded() {
        check(
            r#"[{"type":"image","mimeType":"image/svg+xml","data":"<svg/>"}]"#,
            r#"[{"data":"PHN2Zy8+","mimeType":"image/svg+xml","type":"image"}]"#,
        );
        for bad in ["A", "AA=A", "A===", "AA\\/A"] {
            let wire = format!(r#"[{{"type":"audio","mimeType":"a/b","data":"{bad}"}}]"#);
            let RawJson { .. } = to_mcp(&Bytes::from(wire.clone()));
            assert_ne!(to_mcp(&Bytes::from(wire.clone())).as_str(), wire, "{bad}");
        }
    }

    #[test]
    fn a_lone_block_and_a_whole_result_are_accepted() {
        let block = text("x");
        check(&block, &format!("[{block}]"));
        check(&format!(r#"{{"content":[{block}],"isError":false}}"#), &format!("[{block}]"));
    }

    #[test]
    fn bytes_that_are_not_text_are_shown_as_far_as_they_are() {
        let content = to_mcp(&Bytes::from_static(b"[\"a\xff\"]"));
        assert!(content.as_str().contains('\u{fffd}'), "{content}");
    }

    #[test]
    fn helpers_read_content() {
        let content = to_mcp(&Bytes::from(format!("[{}]", text("hello"))));
        assert_eq!(only_text(&content).as_deref(), Some("hello"));
        assert!(mentions(&content, "ell") && !mentions(&content, "x"));
        let two = with_text(&content, "more");
        assert_eq!(two.as_str(), format!("[{},{}]", text("hello"), text("more")));
        assert_eq!(only_text(&two), None);
    }
}

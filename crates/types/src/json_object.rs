//! An object read one level deep.
//!
//! Members keep their order, and their values stay text. Parameters, capabilities and definitions are read this way
//! without losing members that this program does not know.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use smallvec::SmallVec;

use crate::json_buf::JsonBuf;
use crate::meta_names::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, SERVER_INFO};
use crate::output::{Output, put_either, put_text};
use crate::raw::RawJson;

/// The most members of an object, duplicates included; MCP's own objects have fewer than twenty.
pub const MAX_MEMBERS: usize = 256;

/// The members of one JSON object, in order. Names are unique: of duplicates the last value wins, at the place of the
/// first.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct JsonObject(SmallVec<[Member; 3]>);

#[derive(Clone, PartialEq, Eq)]
struct Member {
    name: Cow<'static, str>,
    value: RawJson,
}

impl JsonObject {
    /// An object without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The members of a Rust value that serializes as an object.
    ///
    /// # Errors
    /// If it does not, or has more than [`MAX_MEMBERS`].
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Self::from_raw(&RawJson::of(value)?)
    }

    /// The members of an object; their values share its text.
    ///
    /// # Errors
    /// If the value is not an object, or has more than [`MAX_MEMBERS`].
    pub fn from_raw(raw: &RawJson) -> Result<Self, serde_json::Error> {
        let scan: Scan<'_> = serde_json::from_slice(raw.as_bytes())?;
        scan.keep(raw.bytes()).ok_or_else(|| serde::de::Error::custom(TOO_MANY))
    }

    /// Sets a member.
    pub fn insert(&mut self, name: impl Into<Cow<'static, str>>, value: RawJson) {
        let name = name.into();
        match self.0.iter_mut().find(|member| member.name == name) {
            Some(member) => member.value = value,
            None => self.0.push(Member { name, value }),
        }
    }

    /// Sets a member, in a chain.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: RawJson) -> Self {
        self.insert(name, value);
        self
    }

    /// The value of a member.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&RawJson> {
        self.0.iter().find(|member| member.name == name).map(|member| &member.value)
    }

    /// Removes a member and returns its value.
    pub fn take(&mut self, name: &str) -> Option<RawJson> {
        let place = self.0.iter().position(|member| member.name == name)?;
        Some(self.0.remove(place).value)
    }

    /// All members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|member| (member.name.as_ref(), &member.value))
    }

    /// True if there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The bytes of all members.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// Reads the object into a Rust type. Members that the type reads as [`RawJson`] are copied; read large ones with
    /// [`JsonObject::member`].
    ///
    /// # Errors
    /// If the object does not have the shape of `T`.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(serde::de::value::MapAccessDeserializer::new(Walk { rest: self.0.iter(), value: None }))
    }

    /// Writes the JSON text.
    pub fn write_to(&self, out: &mut impl Output) {
        out.put(b"{");
        for (index, member) in self.0.iter().enumerate() {
            if index > 0 {
                out.put(b",");
            }
            put_text(out, &member.name);
            out.put(b":");
            put_either(out, member.value.bytes());
        }
        out.put(b"}");
    }

    /// The object as a buffer.
    #[must_use]
    pub fn to_body(&self) -> JsonBuf {
        self.iter().fold(JsonBuf::object(), |object, (name, value)| object.raw(name, value)).finish()
    }
}

impl fmt::Debug for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// For cold paths: the values are copied. Works with serde_json only.
impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Copying;
        impl<'de> Visitor<'de> for Copying {
            type Value = JsonObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonObject, A::Error> {
                let mut members = JsonObject::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.insert(intern(name), map.next_value()?);
                    if members.len() > MAX_MEMBERS {
                        return Err(serde::de::Error::custom(TOO_MANY));
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Copying)
    }
}

/// Members that borrow from their line.
pub(crate) struct Scan<'a> {
    pairs: SmallVec<[(Cow<'a, str>, &'a RawValue); 3]>,
    too_many: bool,
}

impl<'a> Scan<'a> {
    pub(crate) fn collect<A: MapAccess<'a>>(mut map: A) -> Result<Self, A::Error> {
        let mut scan = Self { pairs: SmallVec::new(), too_many: false };
        for _ in 0..MAX_MEMBERS {
            let Some((Name(name), value)) = map.next_entry()? else { return Ok(scan) };
            match scan.pairs.iter_mut().find(|pair| pair.0 == name) {
                Some(pair) => pair.1 = value,
                None => scan.pairs.push((name, value)),
            }
        }
        // The rest is read to its end, so that the id after it is still found.
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            scan.too_many = true;
        }
        Ok(scan)
    }

    /// Shares `line` instead of borrowing from it. `None` if there are more than [`MAX_MEMBERS`].
    pub(crate) fn keep(self, line: &Bytes) -> Option<JsonObject> {
        if self.too_many {
            return None;
        }
        let keep = |(name, value)| Member { name: intern(name), value: RawJson::slice(line, value) };
        Some(JsonObject(self.pairs.into_iter().map(keep).collect()))
    }
}

impl<'de> Deserialize<'de> for Scan<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Scan<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Scan::collect(map)
            }
        }
        deserializer.deserialize_map(Borrowing)
    }
}

/// A member's name, borrowed unless it holds escapes.
pub(crate) struct Name<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}

/// Returns the names of the hot path without an allocation.
fn intern(name: Cow<'_, str>) -> Cow<'static, str> {
    const KNOWN: [&str; 13] = [
        "name",
        "arguments",
        "_meta",
        "cursor",
        "requestId",
        "reason",
        "progressToken",
        "progress",
        "level",
        PROTOCOL_VERSION,
        CLIENT_INFO,
        CLIENT_CAPABILITIES,
        SERVER_INFO,
    ];
    match KNOWN.iter().find(|known| **known == name) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(name.into_owned()),
    }
}

/// Feeds members to a typed reader.
struct Walk<'a> {
    rest: std::slice::Iter<'a, Member>,
    value: Option<&'a RawJson>,
}

impl<'a> MapAccess<'a> for Walk<'a> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        let Some(member) = self.rest.next() else { return Ok(None) };
        self.value = Some(&member.value);
        seed.deserialize(BorrowedStrDeserializer::new(&member.name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Self::Error> {
        let value = self.value.take().expect("serde asks for a value after its key");
        seed.deserialize(&mut serde_json::Deserializer::from_slice(value.as_bytes()))
    }
}

const TOO_MANY: &str = "the object has more than 256 members";

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> JsonObject {
        JsonObject::from_raw(&RawJson::parse(text.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn order_and_text_are_kept_and_the_last_duplicate_wins() {
        let members = members(r#"{"z": 9007199254740993, "a\u0062": [1 , 2], "z": "\u00e9", "name": {}}"#);
        let mut text = Vec::new();
        members.write_to(&mut text);
        assert_eq!(String::from_utf8(text).unwrap(), r#"{"z":"\u00e9","ab":[1 , 2],"name":{}}"#);
        assert_eq!(members.member("ab").unwrap().as_str(), "[1 , 2]");
        assert_eq!(members.member("a"), None);
        assert_eq!(serde_json::to_string(&members).unwrap(), members.to_body().into_raw().as_str());
        assert_eq!(
            serde_json::from_str::<JsonObject>(r#"{"name":1,"name":2}"#).unwrap().member("name").unwrap().as_str(),
            "2"
        );
    }

    #[test]
    fn a_type_is_read_from_members() {
        #[derive(Deserialize, Debug, PartialEq)]
        struct Call {
            name: String,
            arguments: Option<RawJson>,
            #[serde(default)]
            count: u8,
        }
        let call: Call = members(r#"{"name":"a\nb","other":[],"arguments":{"x": 1}}"#).to().unwrap();
        assert_eq!(
            call,
            Call { name: "a\nb".into(), arguments: Some(RawJson::parse(r#"{"x": 1}"#).unwrap()), count: 0 }
        );
        assert!(members("{}").to::<Call>().unwrap_err().to_string().contains("name"));
    }

    #[test]
    fn too_many_members_are_refused() {
        let text = |count: usize| {
            let all: Vec<_> = (0..count).map(|index| format!("\"{index}\":0")).collect();
            RawJson::parse(format!("{{{}}}", all.join(","))).unwrap()
        };
        assert_eq!(JsonObject::from_raw(&text(MAX_MEMBERS)).unwrap().len(), MAX_MEMBERS);
        assert!(JsonObject::from_raw(&text(MAX_MEMBERS + 1)).is_err());
        assert!(serde_json::from_slice::<JsonObject>(text(MAX_MEMBERS + 1).as_bytes()).is_err());
    }
}

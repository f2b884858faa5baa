//! The parameters of a request or notification.
//!
//! Parameters are read one level deep during the scan; the values of their members stay text until they are read.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ErrorObject;
use crate::json_object::JsonObject;
use crate::output::Output;
use crate::raw::RawJson;

/// The `params` of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Params {
    /// There is no `params` member, or it is `null`, which some clients send.
    #[default]
    Absent,
    /// By name, as in all methods of MCP.
    Named(JsonObject),
    /// By position: valid JSON-RPC, but no method of MCP takes them. Always an array.
    Positional(RawJson),
}

impl Params {
    /// The parameters that a Rust value serializes to.
    ///
    /// # Errors
    /// If it does not serialize as an object.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        JsonObject::of(value).map(Self::Named)
    }

    /// The approximate bytes of text that they keep in memory, to bound a queue of messages.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Named(members) => members.weight(),
            Self::Positional(array) => array.len(),
        }
    }

    /// The text of one member.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&RawJson> {
        match self {
            Self::Named(members) => members.member(name),
            Self::Absent | Self::Positional(_) => None,
        }
    }

    /// Removes one member and returns its text.
    pub fn take(&mut self, name: &str) -> Option<RawJson> {
        match self {
            Self::Named(members) => members.take(name),
            Self::Absent | Self::Positional(_) => None,
        }
    }

    /// Reads one member, `None` when it is absent or `null`.
    ///
    /// # Errors
    /// −32602 with the name of the member, if it has another shape.
    pub fn optional<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ErrorObject> {
        let Some(raw) = self.member(name) else { return Ok(None) };
        raw.to().map_err(|error| ErrorObject::invalid_params(format!("invalid params: {name}: {error}")))
    }

    /// Reads one member that must be there.
    ///
    /// # Errors
    /// −32602 with the name of the member, if it is absent or has another shape.
    pub fn required<T: DeserializeOwned>(&self, name: &str) -> Result<T, ErrorObject> {
        self.optional(name)?.ok_or_else(|| ErrorObject::invalid_params(format!("invalid params: {name} is missing")))
    }

    /// Reads all of them; absent parameters count as an empty object.
    ///
    /// # Errors
    /// −32602 with the reason, if they do not fit.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        let read = match self {
            Self::Absent => JsonObject::new().to(),
            Self::Named(members) => members.to(),
            Self::Positional(_) => return Err(ErrorObject::invalid_params("invalid params: expected an object")),
        };
        read.map_err(|error| ErrorObject::invalid_params(format!("invalid params: {error}")))
    }

    /// Writes `,"params":…`, or nothing.
    pub(crate) fn write_to(&self, out: &mut impl Output) {
        match self {
            Self::Absent => {}
            Self::Named(members) => {
                out.put(b",\"params\":");
                members.write_to(out);
            }
            Self::Positional(list) => {
                out.put(b",\"params\":");
                out.put_shared(list.bytes().clone());
            }
        }
    }
}

impl From<JsonObject> for Params {
    fn from(members: JsonObject) -> Self {
        Self::Named(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let params = Params::of(&serde_json::json!({"name": 5, "cursor": null})).unwrap();
        for (error, text) in [
            (params.required::<String>("name").unwrap_err(), "invalid params: name: invalid type"),
            (params.required::<String>("cursor").unwrap_err(), "invalid params: cursor is missing"),
            (Params::Absent.required::<String>("level").unwrap_err(), "invalid params: level is missing"),
            (
                Params::Positional(RawJson::EMPTY_ARRAY).to::<JsonObject>().unwrap_err(),
                "invalid params: expected an object",
            ),
        ] {
            assert_eq!(error.code, crate::error::code::INVALID_PARAMS);
            assert!(error.message.starts_with(text), "{error}");
        }
        assert_eq!(params.optional::<String>("cursor"), Ok(None));
        assert_eq!(params.required::<u8>("name"), Ok(5));
    }
}

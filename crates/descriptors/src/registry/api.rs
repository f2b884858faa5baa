//! Requests to a registry and their answers, for both of its interfaces, as bytes.
//!
//! The descriptor set in an answer stays bytes: generated types would drop the rules of validation. In JSON the rules are
//! keys that only a reader with their definitions knows, so an unknown key is an error there, never dropped.

use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage};
use serde_json::{Value, json};

use crate::reference::Version;
use crate::registry::cache::ModuleVersion;
use crate::registry::error::{Cause, ResolveError};
use crate::schema_error::SchemaError;
use crate::well_known;

/// An interface of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Api {
    /// `buf.registry.module.v1.FileDescriptorSetService`, with comments.
    #[default]
    Module,
    /// `buf.reflect.v1beta1.FileDescriptorSetService`.
    Reflect,
}

/// The encoding of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codec {
    /// Protobuf.
    #[default]
    Binary,
    /// JSON. Answers with rules of validation need the feature `validation`.
    Json,
}

/// A POST to a registry, without its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The path.
    pub path: &'static str,
    /// The header fields.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

/// An answer of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub content_type: String,
    /// `Retry-After` in seconds.
    pub retry_after: Option<Duration>,
    /// `ETag`.
    pub etag: Option<String>,
    /// The body.
    pub body: Bytes,
}

/// A descriptor set from a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The set, and the commit that it belongs to.
    Set {
        /// The encoded set.
        bytes: Bytes,
        /// The commit; empty if the registry does not name it.
        commit: String,
        /// The entity tag for the next request.
        etag: Option<String>,
    },
    /// The set that the request's entity tag stands for is still the right one.
    NotModified,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ModuleRequest {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(bool, tag = "3")]
    include_source_code_info: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resource {
    #[prost(message, optional, tag = "2")]
    name: Option<ResourceName>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceName {
    #[prost(string, tag = "1")]
    owner: String,
    #[prost(string, tag = "2")]
    module: String,
    #[prost(string, tag = "4")]
    reference: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ModuleResponse {
    #[prost(bytes = "bytes", tag = "1")]
    set: Bytes,
    #[prost(message, optional, tag = "2")]
    commit: Option<Commit>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Commit {
    #[prost(string, tag = "1")]
    id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ReflectRequest {
    #[prost(string, tag = "1")]
    module: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ReflectResponse {
    #[prost(bytes = "bytes", tag = "1")]
    set: Bytes,
    #[prost(string, tag = "2")]
    version: String,
}

impl Api {
    /// The request for the set of a module.
    #[must_use]
    pub fn request(self, codec: Codec, of: &ModuleVersion, etag: Option<&str>) -> HttpRequest {
        let path = match self {
            Self::Module => "/buf.registry.module.v1.FileDescriptorSetService/GetFileDescriptorSet",
            Self::Reflect => "/buf.reflect.v1beta1.FileDescriptorSetService/GetFileDescriptorSet",
        };
        let version = of.version.as_ref().map(Version::as_str).unwrap_or_default();
        let body = match codec {
            Codec::Binary => self.binary_request(of, version),
            Codec::Json => self.json_request(of, version).to_string().into_bytes(),
        };
        let mut headers = vec![
            ("content-type", codec.content_type().to_owned()),
            ("accept", codec.content_type().to_owned()),
            ("connect-protocol-version", "1".to_owned()),
        ];
        headers.extend(etag.map(|etag| ("if-none-match", etag.to_owned())));
        HttpRequest { path, headers, body: body.into() }
    }

    fn binary_request(self, of: &ModuleVersion, version: &str) -> Vec<u8> {
        match self {
            Self::Module => {
                let (owner, module) = (of.module.owner().to_owned(), of.module.name().to_owned());
                let name = Some(ResourceName { owner, module, reference: version.to_owned() });
                let resource = Some(Resource { name });
                ModuleRequest { resource, include_source_code_info: true }.encode_to_vec()
            }
            Self::Reflect => {
                ReflectRequest { module: of.module.to_string(), version: version.to_owned() }.encode_to_vec()
            }
        }
    }

    fn json_request(self, of: &ModuleVersion, version: &str) -> Value {
        match self {
            Self::Module => json!({
                "resourceRef": {"name": {"owner": of.module.owner(), "module": of.module.name(), "ref": version}},
                "includeSourceCodeInfo": true,
            }),
            Self::Reflect => json!({"module": of.module.to_string(), "version": version}),
        }
    }

    /// Reads the answer to such a request.
    ///
    /// # Errors
    ///
    /// Fails by the status, and if the answer is not one of this interface.
    pub fn response(self, codec: Codec, response: &HttpResponse) -> Result<Fetched, ResolveError> {
        if response.status == 304 {
            return Ok(Fetched::NotModified);
        }
        if response.status != 200 {
            return Err(refusal(response));
        }
        let content_type = response.content_type.split(';').next().unwrap_or_default().trim();
        if !content_type.eq_ignore_ascii_case(codec.content_type()) {
            let found = SchemaError::quote(content_type);
            return Err(unusable(format!("the registry answers with {found:?}, not with {}", codec.content_type())));
        }
        let (bytes, commit) = match codec {
            Codec::Binary => self.binary_response(&response.body)?,
            Codec::Json => self.json_response(&response.body)?,
        };
        if bytes.is_empty() {
            return Err(unusable("the answer of the registry has no schema"));
        }
        Ok(Fetched::Set { bytes, commit, etag: response.etag.clone() })
    }

    fn binary_response(self, body: &Bytes) -> Result<(Bytes, String), ResolveError> {
        let malformed = |_| unusable("the answer of the registry is malformed");
        match self {
            Self::Module => {
                let read = ModuleResponse::decode(body.clone()).map_err(malformed)?;
                Ok((read.set, read.commit.unwrap_or_default().id))
            }
            Self::Reflect => {
                let read = ReflectResponse::decode(body.clone()).map_err(malformed)?;
                Ok((read.set, read.version))
            }
        }
    }

    fn json_response(self, body: &Bytes) -> Result<(Bytes, String), ResolveError> {
        let malformed = || unusable("the answer of the registry is malformed");
        let mut read: Value = serde_json::from_slice(without_byte_order_mark(body)).map_err(|_| malformed())?;
        let commit = match self {
            Self::Module => read.pointer("/commit/id"),
            Self::Reflect => read.get("version"),
        };
        let commit = commit.and_then(Value::as_str).unwrap_or_default().to_owned();
        let set = read.get_mut("fileDescriptorSet").map(Value::take).ok_or_else(malformed)?;
        let descriptor = well_known::set_descriptor().ok_or_else(malformed)?;
        let options = DeserializeOptions::new();
        let set = DynamicMessage::deserialize_with_options(descriptor, set, &options).map_err(|error| {
            unusable(format!("the schema in JSON cannot be read: {}", SchemaError::quote(&error.to_string())))
        })?;
        Ok((set.encode_to_vec().into(), commit))
    }
}

/// RFC 8259, section 8.1.
fn without_byte_order_mark(json: &[u8]) -> &[u8] {
    json.strip_prefix("\u{feff}".as_bytes()).unwrap_or(json)
}

impl Codec {
    fn content_type(self) -> &'static str {
        match self {
            Self::Binary => "application/proto",
            Self::Json => "application/json",
        }
    }
}

fn unusable(message: impl Into<String>) -> ResolveError {
    ResolveError::new(Cause::InvalidSchema, message)
}

/// The failure that a status stands for. The text of the registry is quoted, without the request.
fn refusal(response: &HttpResponse) -> ResolveError {
    let read: Value = serde_json::from_slice(without_byte_order_mark(&response.body)).unwrap_or_default();
    let code = read.get("code").and_then(Value::as_str).unwrap_or_default();
    let cause = match (code, response.status) {
        ("not_found" | "failed_precondition", _) | (_, 404) => Cause::NotFound,
        ("unauthenticated" | "permission_denied", _) | (_, 401 | 403) => Cause::Unauthenticated,
        ("resource_exhausted", _) | (_, 429) => Cause::RateLimited,
        ("invalid_argument", _) | (_, 400) => Cause::InvalidRef,
        _ => Cause::Unavailable,
    };
    let reason = read.get("message").and_then(Value::as_str).map(SchemaError::quote).unwrap_or_default();
    let separator = if reason.is_empty() { "" } else { ": " };
    let message = format!("the registry answers with status {}{separator}{reason}", response.status);
    ResolveError::new(cause, message).retry_after(response.retry_after)
}

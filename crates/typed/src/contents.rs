//! Results of reading a resource.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use protomcp_types::{ErrorObject, RawJson, ReadResourceResult, ResourceContents};
use serde::Serialize;

use crate::failure;
use crate::json::Json;

/// The resource that a client reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRequest {
    /// The URI as the client wrote it.
    pub uri: String,
    /// The media type in its definition.
    pub mime_type: Option<String>,
    /// The `_meta` of contents that have none: for a page of MCP Apps its settings
    /// ([`Resource::ui`](crate::Resource::ui)).
    pub meta: Option<RawJson>,
}

/// A value that becomes the contents of a resource: text, bytes, [`Json`], a [`ReadResourceResult`], nothing (the
/// resource does not exist), or a `Result` of one of them. An error fails the request.
pub trait IntoContents {
    /// The contents.
    ///
    /// # Errors
    /// If there are none.
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject>;
}

impl IntoContents for ReadResourceResult {
    fn into_contents(self, _: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        Ok(self)
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self, _: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        Ok(ReadResourceResult::of(self))
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(mut self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        self.meta = self.meta.or_else(|| request.meta.clone());
        Ok(ReadResourceResult::of([self]))
    }
}

impl IntoContents for String {
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        let mut contents = ResourceContents::text(request.uri.as_str(), self);
        contents.mime_type = request.mime_type.clone();
        contents.into_contents(request)
    }
}

impl IntoContents for &'static str {
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        self.to_owned().into_contents(request)
    }
}

impl IntoContents for &[u8] {
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        let mut contents = ResourceContents::blob(request.uri.as_str(), STANDARD.encode(self));
        contents.mime_type = request.mime_type.clone();
        contents.into_contents(request)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        self.as_slice().into_contents(request)
    }
}

impl IntoContents for Bytes {
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        self.as_ref().into_contents(request)
    }
}

impl<T: Serialize> IntoContents for Json<T> {
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        let contents = ResourceContents::text(request.uri.as_str(), self.to_raw()?.as_str());
        let mime_type = request.mime_type.as_deref().unwrap_or("application/json");
        contents.with_mime_type(mime_type).into_contents(request)
    }
}

impl<T: IntoContents> IntoContents for Option<T> {
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        match self {
            Some(contents) => contents.into_contents(request),
            None => Err(ErrorObject::resource_not_found(&request.uri)),
        }
    }
}

impl<T: IntoContents, E: fmt::Display + 'static> IntoContents for Result<T, E> {
    fn into_contents(self, request: &ResourceRequest) -> Result<ReadResourceResult, ErrorObject> {
        self.map_err(failure::of_request)?.into_contents(request)
    }
}

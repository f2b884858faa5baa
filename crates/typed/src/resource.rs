//! Resources with a URI of their own.

use std::fmt;

use bytes::Bytes;
use protomcp_server::Context;
use protomcp_types::{ErrorObject, RawJson, ReadResourceResult, Resource as Definition};

use crate::collection::{Define, Defined};
use crate::contents::{IntoContents, ResourceRequest};
use crate::definition::DefinitionError;
use crate::function::{HandlerFn, Running};
use crate::setters::setters;
use crate::text;

/// A resource that can be added to a [`crate::Registry`].
///
/// ```
/// use protomcp_typed::Resource;
///
/// let motto = Resource::new("motto://today", "motto").text("Simplicity is prerequisite for reliability.");
/// let clock = Resource::new("clock://now", "clock")
///     .handler(async || format!("{:?}", std::time::SystemTime::now()))
///     .mime_type("text/plain");
/// ```
pub struct Resource {
    definition: Definition,
    handler: AnyHandler,
}

/// A resource without contents.
#[derive(Debug)]
pub struct ResourceBuilder(Definition);

type AnyHandler =
    Box<dyn Fn(Context, ResourceRequest) -> Running<Result<ReadResourceResult, ErrorObject>> + Send + Sync>;

impl Resource {
    /// Begins a resource.
    #[expect(clippy::new_ret_no_self, reason = "without contents it is not a resource yet")]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> ResourceBuilder {
        ResourceBuilder(Definition::new(uri, name))
    }

    setters!(title describe mime_type annotations icons meta);

    /// Sets the length in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.definition.size = Some(bytes);
        self
    }
}

impl ResourceBuilder {
    /// Reads the resource by calling a function; see [`HandlerFn`]. It has no arguments.
    pub fn handler<S: 'static, H>(self, handler: H) -> Resource
    where
        H: HandlerFn<S, Output: IntoContents>,
    {
        let handler: AnyHandler = Box::new(move |context, request| {
            let arguments = text::read(Default::default());
            let running = arguments.map(|arguments| handler.call(context, arguments));
            Box::pin(async move {
                match running {
                    Ok(running) => running.await.into_contents(&request),
                    Err(why) => Err(ErrorObject::internal(why)),
                }
            })
        });
        Resource { definition: self.0, handler }
    }

    /// Sets a constant text, whose size is listed.
    pub fn text(self, text: impl Into<String>) -> Resource {
        let text = text.into();
        let size = text.len() as u64;
        self.handler(move || std::future::ready(text.clone())).size(size)
    }

    /// Sets constant bytes, whose number is listed.
    pub fn bytes(self, bytes: impl Into<Bytes>) -> Resource {
        let bytes = bytes.into();
        let size = bytes.len() as u64;
        self.handler(move || std::future::ready(bytes.clone())).size(size)
    }
}

/// Serves a resource.
#[doc(hidden)]
pub struct ResourceContent {
    mime_type: Option<String>,
    handler: AnyHandler,
}

impl ResourceContent {
    pub(crate) async fn read(&self, uri: String, context: Context) -> Result<ReadResourceResult, ErrorObject> {
        (self.handler)(context, ResourceRequest { uri, mime_type: self.mime_type.clone() }).await
    }
}

impl Define for Resource {
    type Content = ResourceContent;

    fn define(self) -> Result<Defined<ResourceContent>, DefinitionError> {
        let Self { definition, handler } = self;
        if definition.uri.is_empty() || definition.name.is_empty() {
            return Err(DefinitionError::NoName);
        }
        Ok(Defined {
            key: definition.uri.as_str().into(),
            definition: definition.to_raw(),
            content: ResourceContent { mime_type: definition.mime_type, handler },
        })
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("uri", &self.definition.uri).finish_non_exhaustive()
    }
}

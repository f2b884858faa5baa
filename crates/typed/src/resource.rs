//! Resources with a fixed URI.

use std::fmt;

use bytes::Bytes;
use protomcp_server::Context;
use protomcp_types::{
    ErrorObject, RawJson, ReadResourceResult, Resource as Definition, UI_MIME_TYPE, UI_SCHEME, UiResource,
};

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
    ui: Option<RawJson>,
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

    /// Begins a page of MCP Apps, whose contents are HTML. Its URI begins with `ui://`; tools name it in
    /// [`Tool::ui`](crate::Tool::ui).
    ///
    /// ```
    /// use protomcp_typed::Resource;
    /// use protomcp_types::{UiCsp, UiResource};
    ///
    /// let csp = UiCsp { connect_domains: vec!["https://api.example.com".into()], ..UiCsp::default() };
    /// let page = Resource::app("ui://weather/map", "map")
    ///     .text("<!doctype html><title>Map</title>")
    ///     .ui(&UiResource { csp: Some(csp), ..UiResource::default() });
    /// ```
    pub fn app(uri: impl Into<String>, name: impl Into<String>) -> ResourceBuilder {
        ResourceBuilder(Definition { mime_type: Some(UI_MIME_TYPE.into()), ..Definition::new(uri, name) })
    }

    setters!(title describe mime_type annotations icons meta);

    /// Sets the origins, permissions and looks of a page of MCP Apps, in its definition and in contents that have no
    /// `_meta`. Comes after [`Resource::meta`], which replaces all of the `_meta` of the definition.
    #[must_use]
    pub fn ui(mut self, ui: &UiResource) -> Self {
        self.definition.meta = Some(ui.to_meta(self.definition.meta.as_ref()));
        self.ui = Some(ui.to_meta(None));
        self
    }

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
        Resource { definition: self.0, handler, ui: None }
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
    ui: Option<RawJson>,
}

impl ResourceContent {
    pub(crate) async fn read(&self, uri: String, context: Context) -> Result<ReadResourceResult, ErrorObject> {
        let request = ResourceRequest { uri, mime_type: self.mime_type.clone(), meta: self.ui.clone() };
        (self.handler)(context, request).await
    }
}

impl Define for Resource {
    type Content = ResourceContent;

    fn define(self) -> Result<Defined<ResourceContent>, DefinitionError> {
        let Self { definition, handler, ui } = self;
        if definition.uri.is_empty() || definition.name.is_empty() {
            return Err(DefinitionError::NoName);
        }
        if definition.mime_type.as_deref() == Some(UI_MIME_TYPE) && !definition.uri.starts_with(UI_SCHEME) {
            return Err(DefinitionError::NotAnApp(definition.uri));
        }
        Ok(Defined {
            key: definition.uri.as_str().into(),
            definition: definition.to_raw(),
            content: ResourceContent { mime_type: definition.mime_type, handler, ui },
        })
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("uri", &self.definition.uri).finish_non_exhaustive()
    }
}

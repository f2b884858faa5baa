//! Many resources with one definition: the variables of a URI template are the arguments of a function.

use std::collections::BTreeMap;
use std::fmt;

use protomcp_server::Context;
use protomcp_types::{ErrorObject, RawJson, ReadResourceResult, ResourceTemplate as Definition, UriTemplate};
use serde_json::Value;

use crate::argument::{Argument, Arguments};
use crate::collection::{Define, Defined};
use crate::contents::{IntoContents, ResourceRequest};
use crate::definition::DefinitionError;
use crate::function::{HandlerFn, Running};
use crate::schema::{Direction, infer, into_object};
use crate::setters::setters;
use crate::text;

/// A resource template that can be added to a [`crate::Registry`]. The variables of the URI template (RFC 6570) are
/// parsed as their types require; a URI whose variables do not parse does not name a resource.
///
/// ```
/// use protomcp_typed::{JsonSchema, Template, argument};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Row {
///     table: String,
///     id: u64,
/// }
///
/// let rows = Template::new("db://{table}/{id}", "row")
///     .handler(async |row: Row| format!("row {} of {}", row.id, row.table))
///     .argument(argument("table").one_of(["users", "orders"]));
/// ```
pub struct Template {
    definition: Definition,
    schema: Option<Value>,
    handler: AnyHandler,
    options: Vec<Argument>,
}

/// A template without a handler.
#[derive(Debug)]
pub struct TemplateBuilder(Definition);

type Reading = Running<Result<ReadResourceResult, ErrorObject>>;
type AnyHandler =
    Box<dyn Fn(Context, ResourceRequest, BTreeMap<String, String>) -> Result<Reading, String> + Send + Sync>;

impl Template {
    /// Begins a template.
    #[expect(clippy::new_ret_no_self, reason = "without a handler it is not a template yet")]
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> TemplateBuilder {
        TemplateBuilder(Definition::new(uri_template, name))
    }

    setters!(title describe mime_type annotations icons meta);

    /// Describes a variable: its allowed values and its suggestions. By default the values of an enum are suggested, or
    /// else the values of the variable in the URIs of listed resources.
    #[must_use]
    pub fn argument(mut self, argument: Argument) -> Self {
        self.options.push(argument);
        self
    }
}

impl TemplateBuilder {
    /// Reads resources by calling a function with the variables of their URI; see [`HandlerFn`].
    pub fn handler<S: 'static, H>(self, handler: H) -> Template
    where
        H: HandlerFn<S, Output: IntoContents>,
    {
        let schema = H::HAS_ARGUMENTS.then(|| infer::<H::Arguments>(Direction::In));
        let handler: AnyHandler = Box::new(move |context, request, values| {
            let running = handler.call(context, text::read(values)?);
            Ok(Box::pin(async move { running.await.into_contents(&request) }))
        });
        Template { definition: self.0, schema, handler, options: Vec::new() }
    }
}

/// Serves the resources of a template.
#[doc(hidden)]
pub struct TemplateContent {
    pub(crate) template: UriTemplate,
    pub(crate) arguments: Arguments,
    mime_type: Option<String>,
    handler: AnyHandler,
}

impl TemplateContent {
    /// Reads a resource, if its URI matches the template.
    pub(crate) fn read(&self, uri: &str, context: &Context) -> Option<Reading> {
        let values = self.variables(uri)?;
        let request = ResourceRequest { uri: uri.to_owned(), mime_type: self.mime_type.clone(), meta: None };
        (self.handler)(context.clone(), request, values).ok()
    }

    /// True if such a resource may exist. Only reading it decides.
    pub(crate) fn stands_for(&self, uri: &str) -> bool {
        self.variables(uri).is_some()
    }

    /// The length of the literal text of the template. Of two templates that match a URI, the longer one describes it
    /// better.
    pub(crate) fn literal(&self) -> usize {
        let mut depth = 0_usize;
        let text = self.template.as_str().bytes();
        text.filter(|byte| match byte {
            b'{' => {
                depth += 1;
                false
            }
            b'}' => {
                depth = depth.saturating_sub(1);
                false
            }
            _ => depth == 0,
        })
        .count()
    }

    fn variables(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let found = self.template.captures(uri)?;
        let value = |name: &str| Some((name.to_owned(), found.get(name)?.into_owned()));
        let values: BTreeMap<_, _> = self.arguments.names().filter_map(value).collect();
        self.arguments.check(&values).is_ok().then_some(values)
    }
}

impl Define for Template {
    type Content = TemplateContent;

    fn define(self) -> Result<Defined<TemplateContent>, DefinitionError> {
        let Self { definition, schema, handler, options } = self;
        if definition.name.is_empty() {
            return Err(DefinitionError::NoName);
        }
        let text = &definition.uri_template;
        let bad = |why: String| DefinitionError::BadTemplate { template: text.clone(), why };
        let template = UriTemplate::parse(text).map_err(|error| bad(error.to_string()))?;
        let not_an_object = || DefinitionError::NotAnObject { owner: text.clone() };
        let schema = schema.map(|schema| into_object(schema).ok_or_else(not_an_object)).transpose()?;
        let arguments = Arguments::of_template(template.variables(), Arguments::of(schema.as_ref()));
        let mut arguments = arguments.map_err(|why| bad(why.to_owned()))?;
        arguments.apply(options, text)?;
        Ok(Defined {
            key: text.as_str().into(),
            definition: definition.to_raw(),
            content: TemplateContent { template, arguments, mime_type: definition.mime_type, handler },
        })
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("uri_template", &self.definition.uri_template).finish_non_exhaustive()
    }
}

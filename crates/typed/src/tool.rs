//! Tools: a name, a description and a plain function.
//!
//! Schemas are inferred from the parameters and the result of the function, adjusted where the types cannot express
//! enough, compiled when the tool is added to a registry, and enforced for every call.

pub(crate) mod entry;
pub(crate) mod error;
pub(crate) mod output;
mod schemas;
pub(crate) mod service;

use std::fmt;
use std::time::Duration;

use protomcp_server::layer::limit::LimitLayer;
use protomcp_server::layer::timeout::TimeoutLayer;
use protomcp_server::{Layer, TaskOptions};
use protomcp_types::{JsonObject, RawJson, TaskSupport, Tool as Definition, ToolAnnotations, ToolName, UiTool};
use serde_json::Value;

use crate::collection::{Define, Defined};
use crate::definition::DefinitionError;
use crate::function::HandlerFn;
use crate::schema::edit::SchemaPatch;
use crate::schema::{Direction, infer};
use crate::tool::entry::{AsTask, Entry};
use crate::tool::output::IntoToolResult;
use crate::tool::schemas::{CompiledSchemas, Input, Output, Schemas};
use crate::tool::service::{AnyHandler, Core, ToolService, erase};

/// A tool that can be added to a [`crate::Registry`].
///
/// ```
/// use protomcp_server::Context;
/// use protomcp_typed::{JsonSchema, Tool, property};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greet {
///     name: String,
///     #[serde(default)]
///     loud: bool,
/// }
///
/// async fn greet(args: Greet) -> String {
///     if args.loud { format!("HELLO, {}!", args.name.to_uppercase()) } else { format!("Hello, {}!", args.name) }
/// }
///
/// let tool = Tool::new("greet", "Say hi").handler(greet).input(property("name").describe("to greet")).read_only();
/// let tool = Tool::new("wait", "Wait a moment").handler(async |context: Context| context.cancelled().await);
/// ```
pub struct Tool {
    definition: Blank,
    handler: AnyHandler,
    schemas: Schemas,
    layers: Vec<Wrap>,
    tasks: AsTask,
    /// Arguments that a layer takes, with their schemas.
    advertised: Vec<(&'static str, RawJson)>,
    /// The tool whose action this is.
    group: Option<String>,
    is_hidden: bool,
}

type Wrap = Box<dyn FnOnce(ToolService) -> ToolService + Send>;

/// The parts of a tool that do not depend on its schemas.
struct Blank {
    name: String,
    definition: Definition,
}

/// A tool without a handler.
pub struct ToolBuilder {
    blank: Blank,
    input: Option<RawJson>,
    output: Option<RawJson>,
}

/// The treatment of arguments that a tool does not know. A schema that is given as text decides this itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownKeys {
    /// The call fails, with the nearest known name, so that a slip is not ignored.
    #[default]
    Deny,
    /// They are ignored.
    Ignore,
}

impl Tool {
    /// Begins a tool. Every client accepts a name of letters, digits, `_` and `-`.
    #[expect(clippy::new_ret_no_self, reason = "without a handler it is not a tool yet")]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> ToolBuilder {
        // The name is checked when the tool is added, which can return an error.
        let mut definition = Definition::new(placeholder());
        definition.description = Some(description.into());
        ToolBuilder { blank: Blank { name: name.into(), definition }, input: None, output: None }
    }

    /// Begins a tool with a complete definition. Its schemas are advertised unchanged and enforced for every call.
    #[must_use]
    pub fn raw(definition: Definition) -> ToolBuilder {
        let (input, output) = (definition.input_schema.clone(), definition.output_schema.clone());
        let name = definition.name.as_str().to_owned();
        ToolBuilder { blank: Blank { name, definition }, input: Some(input), output }
    }

    /// Sets the title, for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.definition.title = Some(title.into());
        self
    }

    /// Hints that the tool changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.hint(|hints| hints.read_only_hint = Some(true))
    }

    /// Hints whether the tool may destroy something; clients assume so by default.
    #[must_use]
    pub fn destructive(self, destructive: bool) -> Self {
        self.hint(|hints| hints.destructive_hint = Some(destructive))
    }

    /// Hints that a second equal call has no further effect.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.hint(|hints| hints.idempotent_hint = Some(true))
    }

    /// Hints whether the tool reaches beyond a closed set of things; clients assume so by default.
    #[must_use]
    pub fn open_world(self, open: bool) -> Self {
        self.hint(|hints| hints.open_world_hint = Some(open))
    }

    /// Sets all hints together.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition.definition.annotations = Some(annotations);
        self
    }

    /// Sets the icons, an array (MCP 2025-11-25, schema, `Icon`).
    #[must_use]
    pub fn icons(mut self, icons: RawJson) -> Self {
        self.definition.definition.icons = Some(icons);
        self
    }

    /// Sets `_meta`, an object for programs.
    #[must_use]
    pub fn meta(mut self, meta: RawJson) -> Self {
        self.definition.definition.meta = Some(meta);
        self
    }

    /// Names the page of MCP Apps that shows the results, and the callers of the tool. Hosts without apps ignore it: a
    /// result has content for them, too. Comes after [`Tool::meta`], which replaces all of the `_meta`.
    #[must_use]
    pub fn ui(mut self, ui: &UiTool) -> Self {
        let definition = &mut self.definition.definition;
        definition.meta = Some(ui.to_meta(definition.meta.as_ref()));
        self
    }

    /// Changes the schema of the arguments.
    #[must_use]
    pub fn input(mut self, edit: SchemaPatch) -> Self {
        self.schemas.input_edits.push(edit);
        self
    }

    /// Changes the schema of the structured content.
    #[must_use]
    pub fn output(mut self, edit: SchemaPatch) -> Self {
        self.schemas.output_edits.push(edit);
        self
    }

    /// Uses this schema for the arguments instead of the inferred one, unchanged.
    #[must_use]
    pub fn input_schema(mut self, schema: RawJson) -> Self {
        self.schemas.input = Input::Given(schema);
        self
    }

    /// Uses this schema for the structured content instead of the inferred one, unchanged.
    #[must_use]
    pub fn output_schema(mut self, schema: RawJson) -> Self {
        self.schemas.output = Output::Given(schema);
        self
    }

    /// Advertises no schema of the structured content.
    #[must_use]
    pub fn without_output_schema(mut self) -> Self {
        self.schemas.output = Output::None;
        self
    }

    /// Sets the treatment of arguments that the tool does not know.
    #[must_use]
    pub fn unknown_keys(mut self, policy: UnknownKeys) -> Self {
        self.schemas.unknown_keys = policy;
        self
    }

    /// Sets whether calls can be tasks: answered immediately, and polled until they have ended. The handler stays one
    /// plain function: its questions, reports and result go to the task, and [`Context::set_task_message`] sets the
    /// message of its state.
    ///
    /// A client of 2025-11-25 decides which call is a task. In 2026-07-28 the server does: every call of a client with
    /// the extension is one, unless [`Tool::task_on_demand`] is set. A tool that requires tasks refuses every other
    /// call; one that only supports them lets other clients wait for the result.
    ///
    /// ```
    /// use protomcp_server::Context;
    /// use protomcp_typed::Tool;
    /// use protomcp_types::TaskSupport;
    ///
    /// let tool = Tool::new("brew", "Make coffee").handler(async |context: Context| {
    ///     context.set_task_message("grinding");
    ///     "coffee"
    /// });
    /// let tool = tool.task(TaskSupport::Optional);
    /// ```
    ///
    /// [`Context::set_task_message`]: protomcp_server::Context::set_task_message
    #[must_use]
    pub fn task(mut self, support: TaskSupport) -> Self {
        let definition = &mut self.definition.definition;
        definition.execution = Some(support.put(definition.execution.as_ref()));
        self.tasks.support = support;
        self
    }

    /// Sets the time for which tasks of the tool are kept, and the interval at which clients should poll. A client with
    /// a session may request another time; [`TaskLimits::max_ttl`](protomcp_server::TaskLimits::max_ttl) bounds both.
    #[must_use]
    pub fn task_terms(mut self, terms: TaskOptions) -> Self {
        self.tasks.terms = terms;
        self
    }

    /// A call of 2026-07-28 becomes a task only when the handler calls
    /// [`Context::continue_as_task`](protomcp_server::Context::continue_as_task): it may answer short calls
    /// immediately, or ask something first.
    #[must_use]
    pub fn task_on_demand(mut self) -> Self {
        self.tasks.on_demand = true;
        self
    }

    /// Hides the tool until it is enabled with a [`ToolSelection`](crate::ToolSelection).
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    /// Limits the time of each call. A call that takes longer is dropped, and its result is an error with the reason.
    #[must_use]
    pub fn timeout(self, after: Duration) -> Self {
        self.layer(TimeoutLayer::new(after))
    }

    /// Limits the number of running calls; the others wait in order.
    #[must_use]
    pub fn limit(self, concurrent: usize) -> Self {
        self.layer(LimitLayer::new(concurrent))
    }

    /// Wraps this tool alone in a layer. The layer that was added last sees a call first.
    #[must_use]
    pub fn layer<L: Layer<ToolService> + Send + 'static>(mut self, layer: L) -> Self {
        self.layers.push(Box::new(move |inner| ToolService::new(layer.layer(inner))));
        self
    }

    /// The name, which may not be valid.
    pub(crate) fn name(&self) -> &str {
        self.definition.name.as_str()
    }

    /// Changes the name.
    pub(crate) fn renamed(mut self, name: String) -> Self {
        self.definition.name = name;
        self
    }

    /// Shows clients an optional argument that a layer takes out before the handler sees the others.
    pub(crate) fn advertise(mut self, name: &'static str, schema: RawJson) -> Self {
        self.advertised.push((name, schema));
        self
    }

    /// Makes this an action of another tool.
    pub(crate) fn of_group(mut self, tool: &str) -> Self {
        self.group = Some(tool.to_owned());
        self
    }

    /// A tool whose handler chooses one of several actions.
    pub(crate) fn of_actions(name: String, description: String, handler: AnyHandler, schema: Value) -> Self {
        let ToolBuilder { blank, .. } = Self::new(name, description);
        let schemas = Schemas::new(Input::Union(schema), Output::None);
        let (layers, advertised) = (Vec::new(), Vec::new());
        let tasks = AsTask::default();
        Self { definition: blank, handler, schemas, layers, tasks, advertised, group: None, is_hidden: false }
    }

    /// Sets whether calls can be tasks, and how.
    pub(crate) fn with_tasks(self, tasks: AsTask) -> Self {
        if tasks.support == TaskSupport::Forbidden {
            return self;
        }
        Self { tasks, ..self.task(tasks.support) }
    }

    fn hint(mut self, set: impl FnOnce(&mut ToolAnnotations)) -> Self {
        set(self.definition.definition.annotations.get_or_insert_default());
        self
    }
}

impl ToolBuilder {
    /// Sets the handler; see [`HandlerFn`].
    pub fn handler<S: 'static, H>(self, handler: H) -> Tool
    where
        H: HandlerFn<S, Output: IntoToolResult>,
    {
        let Self { blank, input, output } = self;
        let output = match output {
            Some(schema) => Output::Given(schema),
            None if input.is_some() => Output::None,
            None => Output::Inferred(H::Output::output_schema()),
        };
        let inferred = || Input::Inferred(H::HAS_ARGUMENTS.then(|| infer::<H::Arguments>(Direction::In)));
        let input = input.map_or_else(inferred, Input::Given);
        let support = TaskSupport::of(blank.definition.execution.as_ref());
        Tool {
            definition: blank,
            handler: erase(handler),
            schemas: Schemas::new(input, output),
            layers: Vec::new(),
            tasks: AsTask { support, ..AsTask::default() },
            advertised: Vec::new(),
            group: None,
            is_hidden: false,
        }
    }
}

impl Define for Tool {
    type Content = Entry;

    fn define(self) -> Result<Defined<Entry>, DefinitionError> {
        let name = ToolName::new(self.definition.name.as_str()).map_err(|_| DefinitionError::NoName)?;
        if !name.is_conventional() {
            tracing::warn!(tool = %name, "some hosts refuse tools with such a name: use letters, digits, _ and -");
        }
        let (tool, action, owner) = match self.group {
            None => (name.to_string(), None, name.to_string()),
            Some(tool) => (tool.clone(), Some(name.to_string()), format!("{tool} {name}")),
        };
        let CompiledSchemas { input, output, wrap } = self.schemas.finish(&owner)?;
        let core = Core {
            tool,
            action,
            handler: self.handler,
            input: input.validator,
            output: output.as_ref().map(|output| output.validator.clone()),
            wrap,
        };
        let mut definition = self.definition.definition;
        definition.name = name.clone();
        definition.input_schema =
            self.advertised.iter().fold(input.text, |schema, (name, property)| with_property(&schema, name, property));
        definition.output_schema = output.map(|output| output.text);
        let service = self.layers.into_iter().fold(ToolService::new(core), |service, layer| layer(service));
        Ok(Defined {
            key: name.as_str().into(),
            definition: definition.to_raw(),
            content: Entry { service, tasks: self.tasks, is_hidden: self.is_hidden },
        })
    }
}

/// A schema of an object with one more property.
fn with_property(schema: &RawJson, name: &'static str, property: &RawJson) -> RawJson {
    let mut members = JsonObject::from_raw(schema).unwrap_or_default();
    let own = members.member("properties").and_then(|own| JsonObject::from_raw(own).ok()).unwrap_or_default();
    members.insert("properties", own.with(name, property.clone()).to_body().into_raw());
    members.to_body().into_raw()
}

/// A placeholder until the real name is checked.
fn placeholder() -> ToolName {
    ToolName::new("-").expect("it is not empty")
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder").field("name", &self.blank.name).finish_non_exhaustive()
    }
}

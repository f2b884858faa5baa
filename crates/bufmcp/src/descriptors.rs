//! Schemas with descriptors: a separate message for each tool.
//!
//! A tool with JSON Schemas gets messages that are made of them; a tool of a server of proto-mcp brings its descriptors or
//! names them. Both are kept by definition, so that a call costs a look-up.

mod budget;
mod cache;
mod codec;
mod gaps;
mod loaded;
mod messages;
mod own;
mod peer;
#[cfg(feature = "registry")]
mod references;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
#[cfg(feature = "registry")]
use protomcp_descriptors::registry::Resolver;
use protomcp_types::{RawJson, Tool};

use crate::descriptors::cache::{Definition, Definitions, JsonSchemas, Wanted};
use crate::descriptors::messages::Limits;
use crate::message;
use crate::message::tool::SchemaSource;
use crate::metadata::{BSR_REF, INPUT_TYPE, OUTPUT_SCHEMA, OUTPUT_TYPE, SCHEMA_ERROR};
use crate::schemas::{SchemaError, ToolMessages, ToolSchemas, Unresolved};
use crate::struct_schemas::StructMessages;

/// Gives each tool its own message.
///
/// - A tool with JSON Schemas gets messages with the rules of its schemas. A schema that no message expresses, such as one
///   that takes any key, stays a `google.protobuf.Struct`; the tool's metadata lists the losses.
/// - A tool of a server of proto-mcp has the messages of its inline schema.
/// - With a resolver (feature `registry`), references are looked up in a schema registry when they are first needed.
///
/// With the feature `validation`, arguments are checked against the rules before a call leaves or reaches a server. The
/// rules of other parties are evaluated on separate threads, with a limit on their time.
///
/// At most 1,024 definitions of 64 MiB are kept, and as many of them loaded as fit into about 256 MiB, those that were used last. A
/// tool with rules takes 3 MiB and more.
#[derive(Debug, Default)]
pub struct DescriptorSchemas {
    known: Definitions,
    limits: Limits,
    #[cfg(feature = "registry")]
    resolver: Option<Resolver>,
}

impl DescriptorSchemas {
    /// Schemas without a registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The time in which a schema must be loaded, or arguments validated. Default ten seconds. Beyond it the call fails
    /// with −33000 and the cause `invalid_schema`.
    #[must_use]
    pub fn time_limit(mut self, time: Duration) -> Self {
        self.limits.budget.set_time(time);
        self
    }

    /// Looks up references in the registries of this resolver: the member `bsr_ref` in `_meta` of a tool with JSON Schemas,
    /// and `bsr_ref` of a tool of proto-mcp.
    #[cfg(feature = "registry")]
    #[must_use]
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Schemas for one of several servers, with the same settings: its tools are known apart, and work on them that does
    /// not end takes at most a quarter of the threads.
    #[must_use]
    pub fn for_server(&self) -> Self {
        let limits = Limits { budget: self.limits.budget.for_server(), loaded: self.limits.loaded.clone() };
        Self {
            known: Definitions::default(),
            limits,
            #[cfg(feature = "registry")]
            resolver: self.resolver.clone(),
        }
    }

    async fn own(&self, tool: &Tool) -> Result<Arc<dyn ToolMessages>, SchemaError> {
        let schemas = JsonSchemas { input: tool.input_schema.clone(), output: tool.output_schema.clone() };
        let known = self.known.entry(tool.name.as_str(), &Definition::Json(schemas.clone()));
        if let Some(messages) = known.cell.get() {
            return Ok(Arc::clone(messages));
        }
        let (name, limits) = (tool.name.to_string(), self.limits.clone());
        let make = || async move {
            let (ours, numbers) = (limits.clone(), known.numbers);
            limits.budget.run(move || Ok(own::messages(&name, schemas, &numbers, &ours))).await
        };
        known.cell.get_or_try_init(make).await.cloned()
    }

    async fn inline(&self, tool: &message::Tool, set: &Bytes) -> Result<Arc<dyn ToolMessages>, SchemaError> {
        let member = |key: &str| tool.metadata.get(key).cloned();
        let wanted = Wanted {
            input: member(INPUT_TYPE),
            output: member(OUTPUT_TYPE),
            output_schema: member(OUTPUT_SCHEMA),
            bsr_ref: member(BSR_REF),
        };
        let known = self.known.entry(&tool.name, &Definition::Set { set: set.clone(), wanted: wanted.clone() });
        let output = wanted.output_schema.clone().and_then(|text| RawJson::parse(text).ok());
        let (set, limits) = (set.clone(), self.limits.clone());
        let make = || async move {
            let ours = limits.clone();
            limits.budget.run(move || peer::inline(set, wanted, output, &ours)).await
        };
        known.cell.get_or_try_init(make).await.cloned()
    }
}

impl ToolSchemas for DescriptorSchemas {
    fn of_json<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        #[cfg(feature = "registry")]
        if let Some(resolver) = &self.resolver
            && let Some(reference) = references::of_tool(tool)
        {
            let wanted = Wanted { output: references::output_type(tool), ..Wanted::default() };
            return Box::pin(async move { self.referenced(resolver, tool.name.as_str(), &reference, wanted).await });
        }
        Box::pin(self.own(tool))
    }

    fn of_proto<'a>(&'a self, tool: &'a message::Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        Box::pin(async move {
            if let Some(messages) = StructMessages::of_proto(tool) {
                return Ok(Arc::new(messages) as Arc<dyn ToolMessages>);
            }
            let unresolved = |cause, message| Err(SchemaError::Unresolved { cause, message });
            match &tool.schema_source {
                Some(SchemaSource::InlineSchema(set)) => self.inline(tool, set).await,
                #[cfg(feature = "registry")]
                Some(SchemaSource::BsrRef(reference)) if let Some(resolver) = &self.resolver => {
                    let member = |key: &str| tool.metadata.get(key).cloned();
                    let (input, output) = (member(INPUT_TYPE), member(OUTPUT_TYPE));
                    self.referenced(resolver, &tool.name, reference, Wanted { input, output, ..Wanted::default() })
                        .await
                }
                Some(SchemaSource::BsrRef(reference)) => {
                    unresolved(Unresolved::NotFound, format!("no registry is set up for the reference {reference:?}"))
                }
                None => {
                    let why = tool.metadata.get(SCHEMA_ERROR).map(|why| format!(": {why}")).unwrap_or_default();
                    unresolved(Unresolved::NotFound, format!("the server has sent no schema{why}"))
                }
            }
        })
    }

    #[cfg(feature = "registry")]
    fn reference(&self, tool: &Tool) -> Option<String> {
        self.resolver.as_ref()?;
        let reference: protomcp_descriptors::SchemaRef = references::of_tool(tool)?.parse().ok()?;
        Some(reference.to_string())
    }

    #[cfg(feature = "registry")]
    fn has_references(&self) -> bool {
        self.resolver.is_some()
    }
}

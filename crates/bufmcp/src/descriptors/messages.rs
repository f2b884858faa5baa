//! The messages of one tool, before and after they are loaded.
//!
//! A list needs their names and their descriptors; only a call loads them.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use protomcp_descriptors::{Schema, SchemaLimits};
use protomcp_types::RawJson;

use crate::any::Any;
use crate::descriptors::budget::{Budget, Share, unusable};
use crate::descriptors::cache::JsonSchemas;
use crate::descriptors::codec::Codec;
use crate::descriptors::gaps::Gaps;
use crate::descriptors::loaded::{Loaded, Slot};
use crate::schemas::{Converted, Imports, MessageNames, SchemaError, ToolMessages};
use crate::struct_schemas::QUICK;

/// The author of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// The converter of this project: evaluating them takes time in proportion to the arguments.
    Converter,
    /// Anyone: evaluating them may take any time.
    Other,
}

/// The descriptors of a tool.
#[derive(Debug)]
pub(super) struct Descriptors {
    pub(super) complete: Bytes,
    pub(super) without_well_known: Bytes,
    pub(super) author: Author,
}

/// The messages of a tool.
#[derive(Debug)]
pub(super) struct DescriptorMessages {
    names: MessageNames,
    descriptors: Descriptors,
    schemas: JsonSchemas,
    losses: Option<String>,
    share: Share,
    loaded: Loaded,
    slot: Arc<Slot>,
}

/// The limits that all tools have together.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    pub(super) budget: Budget,
    pub(super) loaded: Loaded,
}

impl DescriptorMessages {
    pub(super) fn new(names: MessageNames, descriptors: Descriptors, schemas: JsonSchemas, limits: &Limits) -> Self {
        let (share, loaded) = (limits.budget.share(), limits.loaded.clone());
        let slot = Slot::new(descriptors.complete.len());
        Self { names, descriptors, schemas, losses: None, share, loaded, slot }
    }

    pub(super) fn with_losses(mut self, losses: Option<String>) -> Self {
        self.losses = losses;
        self
    }

    async fn codec(&self) -> Result<Arc<Codec>, SchemaError> {
        let cell = self.loaded.cell(&self.slot);
        if let Some(codec) = cell.get() {
            return Ok(Arc::clone(codec));
        }
        let load = || async {
            let (set, author) = (self.descriptors.complete.clone(), self.descriptors.author);
            let names = self.names.clone();
            let json = (author == Author::Converter).then(|| self.schemas.input.clone());
            let codec = self.share.run(move || load(set, &names, json)).await?;
            self.loaded.add(&self.slot);
            Ok(codec)
        };
        cell.get_or_try_init(load).await.cloned()
    }

    /// True for arguments that take no longer than other work on this thread.
    fn is_quick(&self, bytes: usize, codec: &Codec) -> bool {
        let is_ours = self.descriptors.author == Author::Converter && self.schemas.input.len() <= QUICK;
        bytes <= QUICK && (is_ours || !codec.has_rules())
    }
}

/// Loads the messages with these names, and the gaps of their JSON Schema.
fn load(set: Bytes, names: &MessageNames, json: Option<RawJson>) -> Result<Arc<Codec>, SchemaError> {
    let schema = Schema::decode(set, &SchemaLimits::default())
        .map_err(|error| unusable(format!("the schema cannot be loaded: {error}")))?;
    let MessageNames { input_type, output_type, .. } = names;
    let input =
        schema.message(input_type).ok_or_else(|| unusable(format!("the schema has no message {input_type:?}")))?;
    let output = output_type.as_ref().and_then(|name| schema.message(name));
    let gaps = json.and_then(|json| Gaps::of(&json.to().ok()?));
    Ok(Arc::new(Codec::new(schema, input, output, gaps)))
}

impl ToolMessages for DescriptorMessages {
    fn names(&self) -> &MessageNames {
        &self.names
    }

    fn descriptor_set(&self, imports: Imports) -> Bytes {
        match imports {
            Imports::Complete => self.descriptors.complete.clone(),
            Imports::WithoutWellKnown => self.descriptors.without_well_known.clone(),
        }
    }

    fn input_schema(&self) -> RawJson {
        self.schemas.input.clone()
    }

    fn output_schema(&self) -> Option<RawJson> {
        self.schemas.output.clone()
    }

    fn losses(&self) -> Option<String> {
        self.losses.clone()
    }

    fn arguments_to_json<'a>(&'a self, arguments: Option<&'a Any>) -> BoxFuture<'a, Result<RawJson, SchemaError>> {
        Box::pin(async move {
            let codec = self.codec().await?;
            if self.is_quick(arguments.map_or(0, |any| any.value.len()), &codec) {
                return codec.arguments_to_json(arguments);
            }
            let arguments = arguments.cloned();
            self.share.run(move || codec.arguments_to_json(arguments.as_ref())).await
        })
    }

    fn arguments_to_any<'a>(&'a self, arguments: &'a RawJson) -> BoxFuture<'a, Result<Any, SchemaError>> {
        Box::pin(async move {
            let codec = self.codec().await?;
            if self.is_quick(arguments.len(), &codec) {
                return codec.arguments_to_any(arguments);
            }
            let arguments = arguments.clone();
            self.share.run(move || codec.arguments_to_any(&arguments)).await
        })
    }

    fn result_to_any<'a>(&'a self, structured: &'a RawJson) -> BoxFuture<'a, Result<Converted<Any>, SchemaError>> {
        Box::pin(async move {
            let codec = self.codec().await?;
            if structured.len() <= QUICK {
                return codec.result_to_any(structured);
            }
            let structured = structured.clone();
            self.share.run(move || codec.result_to_any(&structured)).await
        })
    }

    fn result_to_json<'a>(&'a self, data: &'a Any) -> BoxFuture<'a, Result<Converted<RawJson>, SchemaError>> {
        Box::pin(async move {
            let codec = self.codec().await?;
            if data.value.len() <= QUICK {
                return codec.result_to_json(data);
            }
            let data = data.clone();
            self.share.run(move || codec.result_to_json(&data)).await
        })
    }
}

//! Messages behind references to a schema registry.

use std::sync::Arc;

use protomcp_descriptors::SchemaRef;
use protomcp_descriptors::registry::{Cause, ModuleVersion, ResolveError, Resolver};
use protomcp_types::{JsonObject, Tool};

use crate::descriptors::DescriptorSchemas;
use crate::descriptors::cache::{Definition, Wanted};
use crate::descriptors::peer;
use crate::metadata::{BSR_REF, OUTPUT_TYPE};
use crate::schemas::{SchemaError, ToolMessages, Unresolved};

impl DescriptorSchemas {
    /// The messages behind a reference. `wanted` has the names that the tool gives to its input and its output.
    ///
    /// A label of a registry may move, so the resolver is asked each time: it has its own cache, and one request for
    /// all who wait.
    pub(super) async fn referenced(
        &self,
        resolver: &Resolver,
        tool: &str,
        text: &str,
        wanted: Wanted,
    ) -> Result<Arc<dyn ToolMessages>, SchemaError> {
        let reference: SchemaRef = text.parse().map_err(|error| SchemaError::Unresolved {
            cause: Unresolved::InvalidRef,
            message: format!("the reference {:?} is invalid: {error}", text.chars().take(200).collect::<String>()),
        })?;
        let schema = resolver.schema(&ModuleVersion::from(&reference)).await.map_err(|error| unresolved(&error))?;
        let input = wanted.input.unwrap_or_else(|| reference.message().to_string());
        if schema.message(&input).is_none() {
            let message = format!("{} has no message {input}", reference.module());
            return Err(SchemaError::Unresolved { cause: Unresolved::NotFound, message });
        }
        let wanted = Wanted { input: Some(input), bsr_ref: Some(reference.to_string()), ..wanted };
        let known = self.known.entry(tool, &Definition::Set { set: schema.bytes().clone(), wanted: wanted.clone() });
        let limits = self.limits.clone();
        let make = || async move {
            let ours = limits.clone();
            limits.budget.run(move || peer::messages(&schema, wanted, None, &ours)).await
        };
        known.cell.get_or_try_init(make).await.cloned()
    }
}

/// The reference of a tool that has JSON Schemas.
pub(super) fn of_tool(tool: &Tool) -> Option<String> {
    member(tool, BSR_REF)
}

/// The name of its output, next to the reference.
pub(super) fn output_type(tool: &Tool) -> Option<String> {
    member(tool, OUTPUT_TYPE)
}

fn member(tool: &Tool, key: &str) -> Option<String> {
    JsonObject::from_raw(tool.meta.as_ref()?).ok()?.member(key)?.to().ok()
}

fn unresolved(error: &ResolveError) -> SchemaError {
    let cause = match error.cause() {
        Cause::NotFound => Unresolved::NotFound,
        Cause::Unauthenticated => Unresolved::Unauthenticated,
        Cause::RateLimited => Unresolved::RateLimited,
        Cause::InvalidRef => Unresolved::InvalidRef,
        Cause::InvalidSchema => Unresolved::InvalidSchema,
        _ => Unresolved::Unavailable,
    };
    SchemaError::Unresolved { cause, message: error.to_string() }
}

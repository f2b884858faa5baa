//! The messages of a tool that has JSON Schemas.

use std::sync::{Arc, Mutex, PoisonError};

use protomcp_descriptors::convert::{Converted, Converter, FieldLock, Loss, Verdict};
use protomcp_types::RawJson;
use serde_json::Value;

use crate::descriptors::cache::JsonSchemas;
use crate::descriptors::messages::{Author, DescriptorMessages, Descriptors, Limits};
use crate::schemas::{MessageNames, ToolMessages};
use crate::struct_schemas::StructMessages;
use crate::well_known::STRUCT_NAME;

/// The package of messages that are made of JSON Schemas. Each tool has its own descriptor set.
const PACKAGE: &str = "tools.v1";

/// The longest JSON Schemas that become messages, in bytes.
const MAX_SCHEMAS: usize = 1 << 20;

/// The most losses that are told, and the most bytes of each text.
const MAX_LOSSES: usize = 16;
const MAX_TEXT: usize = 200;

/// The messages of a tool: its own, or `Struct` where its schema cannot become one.
pub(super) fn messages(
    name: &str,
    schemas: JsonSchemas,
    numbers: &Mutex<FieldLock>,
    limits: &Limits,
) -> Arc<dyn ToolMessages> {
    match convert(name, &schemas, numbers) {
        Ok((converted, mut losses)) => {
            losses.extend(converted.report().losses().iter().cloned());
            if !losses.is_empty() {
                tracing::debug!(tool = name, "the message of a tool does not express all of its schema");
            }
            Arc::new(of_converted(&converted, schemas, limits).with_losses(listed(&losses)))
        }
        Err(reason) => {
            tracing::debug!(tool = name, "a tool does not have its own message: {reason}");
            let losses = listed(&[whole(&reason)]).unwrap_or_default();
            Arc::new(StructMessages::new(schemas.input, schemas.output).with_losses(losses))
        }
    }
}

fn of_converted(converted: &Converted, schemas: JsonSchemas, limits: &Limits) -> DescriptorMessages {
    let output_type = match (converted.output_type(), &schemas.output) {
        (Some(name), _) => Some(name.to_owned()),
        (None, Some(_)) => Some(STRUCT_NAME.to_owned()),
        (None, None) => None,
    };
    let names = MessageNames { bsr_ref: None, input_type: converted.input_type().to_owned(), output_type };
    let descriptors = Descriptors {
        complete: converted.complete_descriptor_set().into(),
        without_well_known: converted.descriptor_set().into(),
        author: Author::Converter,
    };
    DescriptorMessages::new(names, descriptors, schemas, limits)
}

/// The messages of both schemas, or of the input if the messages of the output are not available.
fn convert(name: &str, schemas: &JsonSchemas, numbers: &Mutex<FieldLock>) -> Result<(Converted, Vec<Loss>), String> {
    if schemas.len() > MAX_SCHEMAS {
        return Err(format!("the schemas have more than {MAX_SCHEMAS} bytes"));
    }
    let parse = |raw: &RawJson| raw.to::<Value>().map_err(|error| error.to_string());
    let (input, output) = (parse(&schemas.input)?, schemas.output.as_ref().map(parse).transpose()?);
    let converter = Converter::new(PACKAGE).map_err(|error| error.to_string())?;
    let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
    let mut attempt = |output: Option<&Value>| {
        let converted = converter.convert(name, &input, output, &mut numbers).map_err(|error| error.to_string())?;
        suits(&converted).map(|()| converted)
    };
    let both = attempt(output.as_ref());
    match (both, &output) {
        (Err(reason), Some(_)) => {
            let only = attempt(None)?;
            Ok((only, vec![whole(&format!("results are a {STRUCT_NAME}: {reason}"))]))
        }
        (outcome, _) => Ok((outcome?, Vec::new())),
    }
}

/// Refuses messages that would take less than the schema does, or give keys another name.
fn suits(converted: &Converted) -> Result<(), String> {
    if converted.refuses_keys() {
        return Err("the schema takes further keys".to_owned());
    }
    // A key that is required and has no schema would be refused as unknown.
    let is_lost_key = |loss: &&Loss| match loss.keyword.as_str() {
        "properties" => true,
        "required" => loss.reason.ends_with("has no schema"),
        _ => false,
    };
    match converted.report().losses().iter().find(is_lost_key) {
        Some(loss) => Err(loss.reason.clone()),
        None => Ok(()),
    }
}

/// The loss of a whole schema.
fn whole(reason: &str) -> Loss {
    let (pointer, keyword) = (String::new(), "type".to_owned());
    Loss { pointer, keyword, reason: reason.to_owned(), verdict: Verdict::Fallback }
}

/// The first losses as a JSON array.
fn listed(losses: &[Loss]) -> Option<String> {
    let cut = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
    let shown = losses.iter().take(MAX_LOSSES).map(|loss| Loss {
        pointer: cut(&loss.pointer),
        keyword: cut(&loss.keyword),
        reason: cut(&loss.reason),
        verdict: loss.verdict,
    });
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() { None } else { serde_json::to_string(&shown).ok() }
}

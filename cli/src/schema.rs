//! `pmcp schema`: converts schemas of tools, and looks them up in registries.

mod files;
mod registry;
mod to_proto;

use std::fs;

use files::{print_schema, unreadable};
use protomcp_descriptors::{Schema, SchemaLimits};

use crate::args::schema::{SchemaCommand, SchemaOptions, ToJson};
use crate::exit::Failure;

/// Runs a command.
pub(crate) fn run(options: SchemaOptions) -> Result<(), Failure> {
    match options.command {
        SchemaCommand::ToProto(options) => to_proto::run(&options),
        SchemaCommand::ToJson(options) => to_json(&options),
        SchemaCommand::Resolve(options) => registry::resolve(&options),
        SchemaCommand::Cache(options) => registry::cache(&options),
    }
}

fn to_json(options: &ToJson) -> Result<(), Failure> {
    let set = fs::read(&options.file).map_err(|error| unreadable(&options.file, &error))?;
    let invalid = |reason: String| Failure::usage(format!("{}: {reason}", options.file.display()));
    let schema = Schema::decode(set, &SchemaLimits::default()).map_err(|error| invalid(error.to_string()))?;
    let message = match &options.message {
        Some(name) => schema.message(name).ok_or_else(|| invalid(format!("there is no message {name}")))?,
        None => schema.default_input().ok_or_else(|| {
            let names: Vec<_> = schema.messages().map(|message| message.full_name().to_owned()).collect();
            invalid(format!("choose a message with --message: {}", names.join(", ")))
        })?,
    };
    print_schema(&message)
}

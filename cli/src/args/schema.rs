//! `pmcp schema`: schemas of proto-mcp.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use protomcp_descriptors::SchemaRef;
use protomcp_descriptors::convert::Style;

use crate::args::registry::{Registry, RegistryPins};

/// Convert schemas of tools between JSON Schema and protobuf, and look them up in schema registries
#[derive(Debug, Args)]
pub(crate) struct SchemaOptions {
    #[command(subcommand)]
    pub(crate) command: SchemaCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Write .proto files for the JSON Schemas of tools
    ToProto(ToProto),
    /// Print the JSON Schema of a protobuf message
    ToJson(ToJson),
    /// Look up a reference such as buf.build/acme/tools/acme.tools.v1.SearchRequest:v1, and print its JSON Schema
    ///
    /// The token for a registry is taken from BUF_TOKEN (one token, or a list token@host,token@host), then from
    /// ~/.netrc or the file that NETRC names.
    Resolve(Resolve),
    /// Print where schemas of registries are kept, and how many there are
    Cache(Cache),
}

#[derive(Debug, Args)]
pub(crate) struct ToProto {
    /// A JSON file: a result of tools/list, a list of tools, one tool, or one JSON Schema
    pub(crate) file: PathBuf,

    /// Folder for the .proto files, for fields.lock.json, which keeps field numbers, and for report.json
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Package of the messages
    #[arg(long, value_name = "NAME", default_value = "tools.v1")]
    pub(crate) package: String,

    /// strict loses as little as possible; seed writes the shorter form of the specification's example
    #[arg(long, value_name = "STYLE", default_value = "strict")]
    pub(crate) style: StyleName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StyleName {
    Strict,
    Seed,
}

impl From<StyleName> for Style {
    fn from(name: StyleName) -> Self {
        match name {
            StyleName::Strict => Self::Strict,
            StyleName::Seed => Self::Seed,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ToJson {
    /// An encoded descriptor set, as protoc --include_source_info --descriptor_set_out and buf build write it
    pub(crate) file: PathBuf,

    /// Full name of the message [default: the only one whose name ends in Request, or the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The reference
    pub(crate) reference: SchemaRef,

    /// A registry that may be asked, HOST=ADDRESS:PORT if it is reached at another address; may be repeated
    #[arg(long = "registry", value_name = "HOST", default_value = "buf.build")]
    pub(crate) registries: Vec<Registry>,

    #[command(flatten)]
    pub(crate) pins: RegistryPins,

    /// Write the descriptor set to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Ask the registry again, and keep nothing
    #[arg(long)]
    pub(crate) no_cache: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Cache {
    /// Delete all of them
    #[arg(long)]
    pub(crate) clear: bool,
}

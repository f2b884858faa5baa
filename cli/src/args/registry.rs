//! The flags for schema registries.

use clap::Args;
use protomcp_bsr::Host;

/// The registries that may be asked.
#[derive(Debug, Args)]
pub(crate) struct RegistryFlags {
    /// Look up references of tools in this schema registry, for proto-mcp; may be repeated [default: none is asked]
    #[arg(long = "registry", value_name = "HOST")]
    pub(crate) registries: Vec<Host>,
}

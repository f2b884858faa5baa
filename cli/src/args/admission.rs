//! The flags that limit the concurrent calls.

use clap::Args;
use protomcp_server::layer::admission::{AdmissionLayer, AdmissionLimits, AdmissionScope};

use crate::args::tool::to_usize;

/// The most concurrent calls, those that wait for their turn included.
#[derive(Debug, Args)]
pub(crate) struct AdmissionFlags {
    /// Most concurrent calls, running and waiting, of the whole server; a user without a call is admitted beyond it
    /// [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_calls: Option<u32>,

    /// Most concurrent calls of one user: of a token, or else of a network address [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_calls_per_user: Option<u32>,

    /// Most concurrent calls of one tool; a user without a call of it is admitted beyond it [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_calls_per_tool: Option<u32>,
}

impl AdmissionFlags {
    /// The layer that refuses calls beyond the limits.
    pub(crate) fn layer(&self) -> AdmissionLayer {
        let limits = AdmissionLimits {
            server: self.max_calls.map(to_usize),
            principal: self.max_calls_per_user.map(to_usize),
            tool: self.max_calls_per_tool.map(to_usize),
        };
        AdmissionLayer::with_setting_names(limits, flag)
    }
}

fn flag(scope: AdmissionScope) -> &'static str {
    match scope {
        AdmissionScope::Server => "--max-calls",
        AdmissionScope::Principal => "--max-calls-per-user",
        AdmissionScope::Tool => "--max-calls-per-tool",
    }
}

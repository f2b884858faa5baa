//! The flags for clients of proto-mcp.

use std::time::Duration;

use clap::{Args, ValueEnum};
use protomcp_bufmcp::{Initialization, Numbering, RateLimit, RateLimits};

use crate::args::duration;

/// The treatment of clients of proto-mcp.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ProtoFlags {
    /// Most calls of one client of proto-mcp in a time, such as 100/1m: of a token, or else of a network address
    /// [default: none]
    #[arg(long, value_name = "CALLS/DURATION", value_parser = rate)]
    rate_limit_per_user: Option<RateLimit>,

    /// The same for each tool: most calls of it by one client of proto-mcp in a time [default: none]
    #[arg(long, value_name = "CALLS/DURATION", value_parser = rate)]
    rate_limit_per_tool: Option<RateLimit>,

    /// Field numbers of clients of proto-mcp, which nothing in their messages says
    #[arg(long, value_name = "NUMBERS", default_value = "standard")]
    proto_numbers: Numbers,

    /// Requests of clients of proto-mcp before they initialize; over gRPC it is always optional
    #[arg(long, value_name = "RULE", default_value = "required")]
    proto_initialize: Initialize,
}

/// The terms for clients of proto-mcp.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProtoTerms {
    pub(crate) rates: Option<RateLimits>,
    pub(crate) numbering: Numbering,
    pub(crate) initialization: Initialization,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Numbers {
    /// The numbers of version 1.0
    Standard,
    /// The numbers of proto-mcp-go, the first published implementation
    Reference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Initialize {
    /// They are refused
    Required,
    /// They are answered
    Optional,
}

impl ProtoFlags {
    pub(crate) fn terms(self) -> ProtoTerms {
        let limits = RateLimits { per_tool: self.rate_limit_per_tool, per_principal: self.rate_limit_per_user };
        ProtoTerms {
            rates: (limits != RateLimits::default()).then_some(limits),
            numbering: match self.proto_numbers {
                Numbers::Standard => Numbering::Standard,
                Numbers::Reference => Numbering::Reference,
            },
            initialization: match self.proto_initialize {
                Initialize::Required => Initialization::Required,
                Initialize::Optional => Initialization::Optional,
            },
        }
    }
}

/// A number of calls in a time: `100/1m`.
fn rate(text: &str) -> Result<RateLimit, String> {
    let parts = text.split_once('/').and_then(|(calls, time)| Some((calls.parse().ok()?, duration::parse(time)?)));
    match parts {
        Some((calls, per)) if calls > 0 && !per.is_zero() && per <= LONGEST => Ok(RateLimit { calls, per }),
        _ => Err("expected a number of calls in a time of at most 24h, such as 100/1m".into()),
    }
}

/// The longest time of a limit.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_in_a_time() {
        assert_eq!(rate("100/1m"), Ok(RateLimit { calls: 100, per: Duration::from_secs(60) }));
        assert_eq!(rate("1/500ms"), Ok(RateLimit { calls: 1, per: Duration::from_millis(500) }));
        for text in ["", "100", "0/1s", "1/0s", "-1/1s", "1/25h", "x/1s", "1/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}

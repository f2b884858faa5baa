#![doc = include_str!("../README.md")]

mod adapt;
mod check;
mod definition;
mod doctor;
mod fault;
mod finding;
mod host_layer;
mod hosts;
mod pattern;
mod report;
mod rules;
mod sarif;
pub mod scenario;
mod skills;
mod test_output;
mod time_text;
mod tokens;
mod trace;
mod upstream;

pub use adapt::Adaptation;
pub use definition::{ToolDefinition, ToolSet};
pub use doctor::{Access, Configured, Diagnoses, Diagnosis, Facts, Health, Program, Sdk, Socket, Start, diagnose};
pub use finding::{Finding, finding_lines};
pub use host_layer::{ForHosts, HostLayer};
pub use hosts::{Certainty, Effect, Host, HostRule, HostSelection, UnknownHost, host_words, hosts, rules};
pub use report::{Report, Strictness, ToolStatus, validate};
pub use rules::check_result;
pub use sarif::to_sarif;
pub use skills::SkillFault;
pub use test_output::{CallReport, Lists};
pub use tokens::{TOKEN_METHOD, tokens};
pub use trace::{Direction, Trace, TraceEntry};
pub use upstream::Issue;

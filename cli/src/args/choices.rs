//! Flags with a fixed set of values, and the bridge's settings for them.

use clap::ValueEnum;
use protomcp_bridge::{ArgumentPolicy, ReloadMode, SchemaPolicy, ToolLists};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum HotReload {
    /// Running calls finish, new calls wait for the new version
    Graceful,
    /// The new version starts beside the old one, which finishes its calls
    Swap,
    /// Running calls fail at once
    Immediate,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ValidateArgs {
    /// Pass them to the tool
    Off,
    /// Pass them to the tool and log the mismatch once per tool
    Warn,
    /// Fail the call with the mismatch
    Reject,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum OutputSchema {
    /// Whenever the tool has one
    Always,
    /// Once the tool has sent a structured result
    Proven,
    /// Never
    Never,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ToolList {
    /// The calling session
    Session,
    /// All sessions
    Shared,
}

impl From<HotReload> for ReloadMode {
    fn from(choice: HotReload) -> Self {
        match choice {
            HotReload::Graceful => Self::Graceful,
            HotReload::Swap => Self::Swap,
            HotReload::Immediate => Self::Immediate,
        }
    }
}

impl From<ValidateArgs> for ArgumentPolicy {
    fn from(choice: ValidateArgs) -> Self {
        match choice {
            ValidateArgs::Off => Self::Off,
            ValidateArgs::Warn => Self::Warn,
            ValidateArgs::Reject => Self::Reject,
        }
    }
}

impl From<OutputSchema> for SchemaPolicy {
    fn from(choice: OutputSchema) -> Self {
        match choice {
            OutputSchema::Always => Self::Always,
            OutputSchema::Proven => Self::Proven,
            OutputSchema::Never => Self::Never,
        }
    }
}

impl From<ToolList> for ToolLists {
    fn from(choice: ToolList) -> Self {
        match choice {
            ToolList::Session => Self::PerSession,
            ToolList::Shared => Self::Shared,
        }
    }
}

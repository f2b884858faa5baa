//! Flags with a few values to choose from, and what they mean to the bridge.

use clap::ValueEnum;
use protomcp_bridge::{ArgumentPolicy, ReloadMode, SchemaPolicy, ToolLists};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum HotReload {
    /// Running calls finish, new ones wait for the new version
    Graceful,
    /// The new version starts beside the old one, which finishes its calls
    Swap,
    /// Running calls fail at once
    Immediate,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ValidateArgs {
    /// The tool gets them
    Off,
    /// The tool gets them, and the log says once what did not fit
    Warn,
    /// The call fails and says what did not fit
    Reject,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum OutputSchema {
    /// As the tool says
    Always,
    /// Once the tool has sent a structured result
    Proven,
    /// Not at all
    Never,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ToolList {
    /// The list of that host
    Session,
    /// The list of all hosts
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

//! Flags with a fixed set of values, and the bridge's settings for them.

use clap::ValueEnum;
use protomcp_bridge::{ArgumentPolicy, ReloadMode, SchemaPolicy, ToolLists, WorkerAffinity};
use protomcp_client::Mode;
use protomcp_lend::SdkSource;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum HotReload {
    /// Running calls finish, new calls wait for the new version
    Graceful,
    /// The new version starts while the old one finishes its calls
    Swap,
    /// Running calls fail immediately
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

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Affinity {
    /// The one of the session, which keeps its state there
    Session,
    /// The one with the fewest calls
    None,
}

/// An era of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EraChoice {
    /// With sessions, up to 2025-11-25; without them only where the server refuses that
    Stateful,
    /// Without sessions, 2026-07-28 only
    Stateless,
}

impl EraChoice {
    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Stateful => Mode::StatefulFirst,
            Self::Stateless => Mode::Stateless,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Sdk {
    /// The one that is installed, otherwise the one that pmcp brings along
    #[default]
    Auto,
    /// The one that pmcp brings along, even if another is installed
    Bundled,
    /// The one that is installed, and no other
    Installed,
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

impl From<Affinity> for WorkerAffinity {
    fn from(choice: Affinity) -> Self {
        match choice {
            Affinity::Session => Self::Session,
            Affinity::None => Self::None,
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

impl From<Sdk> for SdkSource {
    fn from(choice: Sdk) -> Self {
        match choice {
            Sdk::Auto => Self::Auto,
            Sdk::Bundled => Self::Bundled,
            Sdk::Installed => Self::Installed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parse;
    use crate::args::parsed::Parsed;
    use crate::exit::Failure;

    fn read(line: &str) -> Result<Parsed, Failure> {
        let line = line.replace("FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        parse(line.split(' ').map(Into::into))
    }

    #[test]
    fn the_sdk_of_a_file_is_chosen_where_files_are_started() {
        for (word, source) in
            [("auto", SdkSource::Auto), ("bundled", SdkSource::Bundled), ("installed", SdkSource::Installed)]
        {
            for line in ["dev --sdk WORD FILE", "run FILE --sdk=WORD"] {
                let Ok(Parsed::Serve(options)) = read(&format!("pmcp {}", line.replace("WORD", word))) else {
                    panic!("{line}")
                };
                assert_eq!(SdkSource::from(options.tool.sdk), source, "{line}");
            }
            let Ok(Parsed::List(list)) = read(&format!("pmcp list FILE --sdk {word}")) else { panic!("{word}") };
            let Ok(Parsed::Call(call)) = read(&format!("pmcp call FILE add --sdk {word}")) else { panic!("{word}") };
            assert_eq!([list.server.sdk, call.server.sdk].map(|sdk| sdk.map(SdkSource::from)), [Some(source); 2]);
        }
        let Ok(Parsed::Serve(plain)) = read("pmcp dev FILE") else { panic!("it is a command line") };
        assert_eq!(plain.tool.sdk, Sdk::Auto);
    }

    #[test]
    fn servers_have_no_choice_of_an_sdk() {
        let refused = |line: &str| match read(line) {
            Err(failure) => failure.to_string(),
            Ok(Parsed::List(list)) => list.server.check(&list.target).unwrap_err().to_string(),
            Ok(other) => panic!("{line}: {other:?}"),
        };
        for line in
            ["pmcp dev --sdk bundled -- server", "pmcp list --sdk auto http://localhost/mcp", "pmcp run FILE --sdk x"]
        {
            let error = refused(line);
            assert!(error.contains("--sdk"), "{line}: {error}");
        }
        let error = refused("pmcp list FILE --client-id x");
        assert!(error.contains("--client-id is for servers at an http or https URL"), "{error}");
    }
}

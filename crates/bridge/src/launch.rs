//! The command of a tool process, with the SDK that it is lent and the behaviour that is expected of it.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use protomcp_lend::{LendError, Lender, Loan, Runtime, SdkSource};
use protomcp_supervisor::{Command, Exit, Status};

use crate::diagnostics::advice;
use crate::process::sdk::SdkFeatures;

/// Concurrent calls of a process that reads its socket without a pause.
const CONCURRENT: usize = 256;

/// The status of a Node that cannot read TypeScript: see [`TYPES_ARE_READ`].
const TYPES_UNREAD: i32 = 97;

/// A module that ends a Node that cannot read TypeScript, before it fails at the file.
pub(crate) const TYPES_ARE_READ: &str = "data:text/javascript,process.features.typescript||process.exit(97)";

/// Like [`TYPES_ARE_READ`], for a command that nothing follows: it prints the remedy.
pub(crate) fn types_are_needed() -> String {
    let remedy = advice::WITHOUT_TSX;
    format!(
        "data:text/javascript,process.features.typescript||(console.error({remedy:?}),process.exit({TYPES_UNREAD}))"
    )
}

/// The command, and the expected behaviour of its process.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) command: Command,
    pub(crate) fallback: Option<Fallback>,
    pub(crate) connect_timeout: Duration,
    pub(crate) concurrency: usize,
    /// The program is Python, of which one published SDK reads its socket from two threads.
    pub(crate) python: bool,
    pub(crate) lending: Lending,
    /// Warnings for the author.
    pub(crate) warnings: Vec<String>,
    /// A note for the author, about a choice that was made for the file.
    pub(crate) note: Option<String>,
}

/// The command for a file that the first one turned out not to serve.
#[derive(Debug, Clone)]
pub(crate) struct Fallback {
    pub(crate) command: Command,
    pub(crate) reason: Reason,
}

/// The reason for the second command, by the exit of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The file has ended without running its tools.
    ToolsNotRun,
    /// The interpreter cannot read the file.
    TypesUnread,
}

/// The SDK that the interpreter of a file may borrow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lending(Option<Borrower>);

/// An interpreter of a file.
#[derive(Debug, Clone)]
pub(crate) struct Borrower {
    lender: Lender,
    runtime: Runtime,
    file: PathBuf,
}

/// The outcome of lending, which explains an interpreter that has no SDK.
#[derive(Debug)]
pub(crate) enum Lent {
    /// An SDK is lent to this runtime.
    Yes(Runtime),
    /// The user wants the installed one, or the interpreter cannot borrow.
    No,
    /// This Deno has a configuration or a package that lending would replace.
    Unlent(Box<Borrower>),
    /// It could not be lent.
    Failed(LendError),
}

impl Launch {
    /// The usual expectations of a command.
    pub(crate) fn of(command: Command, connect_timeout: Duration) -> Self {
        let (fallback, warnings, note) = (None, Vec::new(), None);
        let (concurrency, lending) = (CONCURRENT, Lending::default());
        Self { command, fallback, connect_timeout, concurrency, python: false, lending, warnings, note }
    }
}

impl Reason {
    /// True if a process that has ended so is to be followed by the second command.
    pub(crate) fn holds(self, exit: &Exit) -> bool {
        match self {
            Self::ToolsNotRun => exit.status.success(),
            Self::TypesUnread => exit.status == Status::Code(TYPES_UNREAD),
        }
    }

    /// For the log.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::ToolsNotRun => "the tool file does not run its tools itself; running them for it",
            Self::TypesUnread => "this Node does not read TypeScript; running the file with tsx",
        }
    }
}

impl Lending {
    /// Lends to the interpreter of `file`.
    pub(crate) fn new(lender: Option<&Lender>, runtime: Runtime, file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        Self(lender.map(|lender| Borrower { lender: lender.clone(), runtime, file }))
    }

    /// True if the interpreter cannot borrow.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The command with the variable that makes the SDK available. Reads the files of the SDK, and writes them if they are
    /// not in the cache.
    ///
    /// # Errors
    /// [`LendError`] if the user wants nothing but the bundled SDK.
    pub(crate) fn apply(&self, command: Command) -> Result<(Command, Lent), LendError> {
        let Some(borrower @ Borrower { lender, runtime, file }) = &self.0 else { return Ok((command, Lent::No)) };
        let present = |name: &str| command.variable(name).map(ToOwned::to_owned).or_else(|| env::var_os(name));
        match lender.lend(*runtime, file, present) {
            Ok(Some(Loan::Variable(name, value))) => Ok((command.env(name, value), Lent::Yes(*runtime))),
            Ok(Some(Loan::Option(option))) => Ok((command.arg_before_last(option), Lent::Yes(*runtime))),
            Ok(None) if *runtime == Runtime::Deno => Ok((command, Lent::Unlent(Box::new(borrower.clone())))),
            Ok(None) => Ok((command, Lent::No)),
            Err(error) if lender.source() == SdkSource::Bundled => Err(error),
            Err(error) => Ok((command, Lent::Failed(error))),
        }
    }
}

impl Lent {
    /// The SDK of a process that has connected, for the log.
    pub(crate) fn origin(&self, sdk: &SdkFeatures) -> &'static str {
        let is_lent = match self {
            // A Python finds an installed one first, and only it knows.
            Self::Yes(Runtime::Python) => sdk.is_lent,
            Self::Yes(_) => true,
            Self::No | Self::Unlent(_) | Self::Failed(_) => false,
        };
        if is_lent {
            "the SDK of the tool file is the one that pmcp lends"
        } else {
            "the SDK of the tool file is installed"
        }
    }

    /// The remedy if a process that has ended with these last lines had no SDK, or another one than its file needs.
    pub(crate) fn remedy(&self, lines: &[String]) -> Option<String> {
        if let Some(remedy) = advice::other_sdk(lines, matches!(self, Self::Yes(_))) {
            return Some(remedy.to_owned());
        }
        let missing = advice::missing_sdk(lines)?;
        Some(match self {
            Self::No => missing.install().to_owned(),
            Self::Unlent(to) => to.lender.remedy_for_deno(&to.file).unwrap_or_else(|| missing.install().to_owned()),
            Self::Yes(_) => missing.cannot_borrow().to_owned(),
            Self::Failed(error) => format!("{error}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use protomcp_lend::SdkCache;

    use super::*;

    fn exit(status: Status) -> Exit {
        Exit { status, stderr_tail: Vec::new(), uptime: Duration::ZERO }
    }

    #[test]
    fn the_exit_decides_about_the_second_command() {
        for (reason, status, holds) in [
            (Reason::ToolsNotRun, Status::Code(0), true),
            (Reason::ToolsNotRun, Status::Code(1), false),
            (Reason::ToolsNotRun, Status::Code(97), false),
            (Reason::TypesUnread, Status::Code(97), true),
            (Reason::TypesUnread, Status::Code(0), false),
            (Reason::TypesUnread, Status::Signal(9), false),
        ] {
            assert_eq!(reason.holds(&exit(status)), holds, "{reason:?} {status:?}");
        }
        assert!(TYPES_ARE_READ.ends_with(&format!("({TYPES_UNREAD})")));
        let needed = types_are_needed();
        assert!(needed.contains("npm install tsx") && !needed.contains(['#', '?', '%', '\\']), "{needed}");
    }

    #[test]
    fn only_a_wanted_sdk_that_cannot_be_lent_is_an_error() {
        let of = |source| {
            let lender = Lender::new(source, None, Some(SdkCache::new("/none")));
            Lending::new(Some(&lender), Runtime::Python, "t.py").apply(Command::new("python3"))
        };
        assert!(matches!(of(SdkSource::Bundled), Err(LendError::NoBundle)));
        assert!(matches!(of(SdkSource::Auto), Ok((_, Lent::Failed(LendError::NoBundle)))));
        assert!(matches!(of(SdkSource::Installed), Ok((_, Lent::No))));
    }

    #[test]
    fn the_remedy_for_a_missing_sdk_follows_from_lending() {
        let lines = ["ModuleNotFoundError: No module named 'protomcp'".to_owned()];
        let remedy = |lent: Lent| lent.remedy(&lines).unwrap();
        assert!(remedy(Lent::No).contains("--sdk auto"));
        assert!(remedy(Lent::Yes(Runtime::Python)).contains("PYTHONPATH"));
        assert!(remedy(Lent::Failed(LendError::NoFolder)).contains("XDG_CACHE_HOME"));
        assert_eq!(Lent::No.remedy(&["KeyError: 42".to_owned()]), None);
    }

    #[test]
    fn the_log_has_the_sdk_that_serves() {
        let (ours, other) = (SdkFeatures { is_lent: true, ..SdkFeatures::default() }, SdkFeatures::default());
        for (lent, sdk, expected) in [
            (Lent::Yes(Runtime::Python), ours, "pmcp lends"),
            (Lent::Yes(Runtime::Python), other, "is installed"),
            (Lent::Yes(Runtime::Node), other, "pmcp lends"),
            (Lent::No, ours, "is installed"),
            (Lent::Failed(LendError::NoFolder), other, "is installed"),
        ] {
            assert!(lent.origin(&sdk).ends_with(expected), "{lent:?} {sdk:?}");
        }
    }
}

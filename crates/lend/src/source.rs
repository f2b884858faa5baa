//! The choice between an installed SDK and one that is lent, and the runtimes that can borrow.

use std::ffi::OsStr;
use std::path::Path;

/// The SDK that a tool file gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SdkSource {
    /// The one that is installed for the file, and otherwise the bundled one.
    #[default]
    Auto,
    /// The bundled one, even if another is installed. A module of that name next to the file still comes first.
    Bundled,
    /// The one that is installed. Nothing is lent.
    Installed,
}

/// A program that runs tool files, by its way to find packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// Python, also by way of `uv`.
    Python,
    /// Node, also by way of `npx` and `tsx`.
    Node,
    /// Bun.
    Bun,
    /// Deno.
    Deno,
}

impl Runtime {
    /// The runtime of JavaScript that a program is: Node, unless its name is the name of another one.
    #[must_use]
    pub fn of_javascript(program: &OsStr) -> Self {
        match Path::new(program).file_stem().and_then(OsStr::to_str) {
            Some("bun" | "bunx") => Self::Bun,
            Some("deno") => Self::Deno,
            _ => Self::Node,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_of_javascript_are_known_by_their_names() {
        for (program, runtime) in [
            ("node", Runtime::Node),
            ("/opt/node-22/bin/node", Runtime::Node),
            ("npx", Runtime::Node),
            ("./a-wrapper.sh", Runtime::Node),
            ("/usr/local/bin/bun", Runtime::Bun),
            ("deno", Runtime::Deno),
        ] {
            assert_eq!(Runtime::of_javascript(OsStr::new(program)), runtime, "{program}");
        }
    }
}

//! The servers: on fastmcp, on the official TypeScript SDK and on the official Rust SDK, with versions.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use protomcp_conformance::{Launch, Sandbox, peers};

/// An SDK that knows nothing of reloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sdk {
    FastMcp,
    TypeScript,
    /// A compiled server: a version is another binary with the same name.
    Rmcp,
}

pub(crate) const ALL: [Sdk; 3] = [Sdk::FastMcp, Sdk::TypeScript, Sdk::Rmcp];

impl Sdk {
    /// Puts version 0 into the sandbox.
    pub(crate) fn install(self, sandbox: &Sandbox) {
        match self {
            Self::FastMcp => drop(sandbox.copy("dev/server.py")),
            Self::TypeScript => {
                sandbox.copy("dev/server.mjs");
                sandbox.with_node();
            }
            Self::Rmcp => self.save(sandbox, 0),
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::FastMcp => "server.py",
            Self::TypeScript => "server.mjs",
            Self::Rmcp => "server",
        }
    }

    /// `pmcp` with a verb and flags before the command.
    pub(crate) fn pmcp(self, sandbox: &Sandbox, words: &[&str]) -> Launch {
        let launch = words.iter().fold(sandbox.pmcp(&[]), Launch::arg).arg("--");
        match self {
            Self::FastMcp => launch.arg(peers().join("mcp/bin/python")).arg(self.file()),
            Self::TypeScript => launch.arg("node").arg(self.file()),
            Self::Rmcp => launch.arg("./server"),
        }
    }

    /// True for the command line of the server itself.
    pub(crate) fn is_server(self, command: &str) -> bool {
        let runs = match self {
            Self::FastMcp => command.contains("bin/python server.py"),
            Self::TypeScript => command == "node server.mjs",
            Self::Rmcp => command == "./server",
        };
        runs && !command.contains(" -- ")
    }

    /// Makes a version, as an editor or a compiler does.
    pub(crate) fn save(self, sandbox: &Sandbox, version: u64) {
        if self != Self::Rmcp {
            let text = fs::read_to_string(sandbox.path(self.file())).expect("the file is there");
            let (head, rest) = text.split_once("VERSION = \"v").expect("it names its version");
            let (_, tail) = rest.split_once('"').expect("a string ends");
            sandbox.write(self.file(), format!("{head}VERSION = \"v{version}\"{tail}"));
            return;
        }
        let mut program = fs::read(peers().join("rs-target/debug/versioned-rmcp")).expect("scripts/setup has built it");
        program.extend(format!("\nv{version}").into_bytes());
        let draft = sandbox.path(".draft");
        fs::write(&draft, program).expect("the sandbox can be written");
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        fs::rename(draft, sandbox.path(self.file())).expect("a file in the sandbox can be replaced");
    }

    /// Makes a version that does not start.
    pub(crate) fn break_it(self, sandbox: &Sandbox) {
        let text = match self {
            Self::FastMcp => "def (",
            Self::TypeScript => "const = ;",
            Self::Rmcp => "#!/bin/sh\necho 'the linker was not done' >&2\nexit 3\n",
        };
        let draft = sandbox.path(".draft");
        fs::write(&draft, text).expect("the sandbox can be written");
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        fs::rename(draft, sandbox.path(self.file())).expect("a file in the sandbox can be replaced");
    }

    /// The complaint of the broken version.
    pub(crate) fn complaint(self) -> &'static str {
        match self {
            Self::FastMcp | Self::TypeScript => "SyntaxError",
            Self::Rmcp => "the linker was not done",
        }
    }
}

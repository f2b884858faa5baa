//! The environment in which hosts start servers.

use crate::environment::{Environment, Os};

/// The variables that a desktop session gives to each program.
const OF_A_SESSION: [&str; 7] = ["HOME", "USER", "LOGNAME", "LANG", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR"];

/// The variables that each program of Windows has.
const OF_WINDOWS: [&str; 9] = [
    "USERPROFILE",
    "USERNAME",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "TEMP",
    "PATHEXT",
];

/// The part of the environment of a shell that a host passes on to its servers, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inherited {
    /// All variables: the user starts the host in a shell.
    Shell,
    /// `PATH`, and the variables of each program.
    Path,
    /// The variables of each program alone: the host is started from a window, with the search path of the system.
    Window,
}

impl Inherited {
    /// The variables of a server before its entry adds some, for a user with this environment in a shell. `None` for the
    /// whole environment.
    pub fn variables(self, shell: &Environment) -> Option<Vec<(String, String)>> {
        let path = match self {
            Self::Shell => return None,
            Self::Path => shell.variable("PATH").map(str::to_owned),
            Self::Window => Some(bare_path(shell)),
        };
        let names = if shell.os() == Os::Windows { &OF_WINDOWS[..] } else { &OF_A_SESSION };
        let known = names.iter().filter_map(|name| Some(((*name).to_owned(), shell.variable(name)?.to_owned())));
        Some(known.chain(path.map(|path| ("PATH".to_owned(), path))).collect())
    }
}

/// The search path of a program that is started from a window.
fn bare_path(shell: &Environment) -> String {
    match shell.os() {
        Os::Linux => "/usr/local/bin:/usr/bin:/bin".to_owned(),
        // launchd's.
        Os::MacOs => "/usr/bin:/bin:/usr/sbin:/sbin".to_owned(),
        Os::Windows => {
            let root = shell.variable("SYSTEMROOT").unwrap_or(r"C:\Windows");
            format!(r"{root}\System32;{root}")
        }
    }
}

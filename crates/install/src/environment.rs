//! Places of files on each operating system, as a function of the environment variables.

use std::collections::BTreeMap;

/// The operating systems with different places of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux, and other systems that follow the XDG directories.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// An operating system and the environment variables of a user.
///
/// Paths are made from these alone, as text with the separators of that system, so that each system can be tested on any
/// other.
#[derive(Debug, Clone)]
pub struct Environment {
    os: Os,
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// An environment of these variables.
    pub fn new<'a>(os: Os, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        // Names of variables on Windows have any case.
        let name = |name: &str| if os == Os::Windows { name.to_ascii_uppercase() } else { name.to_owned() };
        let variables = variables.into_iter().map(|(key, value)| (name(key), value.to_owned())).collect();
        Self { os, variables }
    }

    /// The environment of this process. Variables that are not UTF-8 are left out.
    pub fn of_this_process() -> Self {
        let os = match std::env::consts::OS {
            "macos" => Os::MacOs,
            "windows" => Os::Windows,
            _ => Os::Linux,
        };
        let variables =
            std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        let variables: Vec<_> = variables.collect();
        Self::new(os, variables.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// The operating system.
    pub fn os(&self) -> Os {
        self.os
    }

    /// A variable; `None` if it is empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The home directory of the user.
    pub fn home(&self) -> Option<&str> {
        self.variable(if self.os == Os::Windows { "USERPROFILE" } else { "HOME" })
    }

    /// The path of a template, whose separators are `/`: `{home}`, `{config}` (the directory of settings), `{xdg}` (the
    /// same by the XDG rules on every system), `{state}` (the directory of state), or a variable at its beginning.
    /// `None` if that is not known.
    pub(crate) fn resolve(&self, template: &str) -> Option<String> {
        let (place, rest) = template.strip_prefix('{')?.split_once('}')?;
        let base = match place {
            "home" => self.home()?.to_owned(),
            "config" => self.config()?,
            "xdg" => self.xdg("XDG_CONFIG_HOME", ".config")?,
            "state" => self.state()?,
            variable => self.variable(variable)?.to_owned(),
        };
        let base = base.strip_suffix(['/', self.separator()]).unwrap_or(&base);
        Some(format!("{base}{}", rest.replace('/', &self.separator().to_string())))
    }

    fn separator(&self) -> char {
        if self.os == Os::Windows { '\\' } else { '/' }
    }

    fn below_home(&self, rest: &str) -> Option<String> {
        Some(format!("{}{}{rest}", self.home()?.trim_end_matches(['/', self.separator()]), self.separator()))
    }

    /// A directory of the XDG Base Directory Specification, which ignores relative paths.
    fn xdg(&self, variable: &str, rest: &str) -> Option<String> {
        match self.variable(variable).filter(|path| self.os == Os::Windows || path.starts_with('/')) {
            Some(path) => Some(path.to_owned()),
            None => self.below_home(rest),
        }
    }

    fn config(&self) -> Option<String> {
        match self.os {
            Os::Linux => self.xdg("XDG_CONFIG_HOME", ".config"),
            Os::MacOs => self.below_home("Library/Application Support"),
            Os::Windows => self.variable("APPDATA").map(str::to_owned).or_else(|| self.below_home(r"AppData\Roaming")),
        }
    }

    fn state(&self) -> Option<String> {
        match self.os {
            Os::Linux => self.xdg("XDG_STATE_HOME", ".local/state"),
            Os::MacOs => self.below_home("Library/Application Support"),
            Os::Windows => {
                self.variable("LOCALAPPDATA").map(str::to_owned).or_else(|| self.below_home(r"AppData\Local"))
            }
        }
    }
}

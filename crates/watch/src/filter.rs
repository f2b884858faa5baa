//! Selects files and directories. Pure: paths in, decisions out.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::rules::Rules;

/// Directories of installed, generated or cached files, in addition to those that begin with a dot.
/// `site-packages` is filled before its virtual environment has a mark.
const NEVER_ENTERED: [&str; 5] = ["__pycache__", "node_modules", "site-packages", "target", "venv"];

/// Selects changes by path.
///
/// A file is selected if it has one of the [extensions](Self::extensions), does not look like an editor's by-product
/// and is not ignored by a `.gitignore`, or if it was named with [`always`](Self::always). Without extensions only
/// named files are selected.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    extensions: Vec<OsString>,
    always: BTreeSet<PathBuf>,
    rules: Rules,
    ignores_gitignore: bool,
    has_all: bool,
    is_flat: bool,
    environments: BTreeSet<PathBuf>,
    except: Option<PathBuf>,
}

impl Filter {
    /// Selects nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects the files of a program that starts at `entry`: files of the same language next to it, and the file
    /// itself.
    ///
    /// Some languages mix several extensions (TypeScript and JavaScript; Rust with its manifests); for all others it is
    /// the extension of the file itself. Data files are left out on purpose: tools write them, and a tool that restarts
    /// because of its output never rests.
    pub fn source(entry: &Path) -> Self {
        Self::new().always(entry).family_of(entry)
    }

    /// Selects the other files of a program that starts at `entry`, for an entry that is watched where it is named.
    pub fn next_to(entry: &Path) -> Self {
        Self { except: Some(entry.to_owned()), ..Self::new().family_of(entry) }
    }

    /// Also selects files of the same language as this one.
    #[must_use]
    pub(crate) fn family_of(self, file: &Path) -> Self {
        match file.extension() {
            None => self,
            Some(extension) => match family(extension) {
                Some(family) => self.extensions(family),
                None => self.extensions([extension]),
            },
        }
    }

    /// Also selects files with these extensions, without the dot; ASCII case is ignored.
    #[must_use]
    pub fn extensions<E: Into<OsString>>(mut self, extensions: impl IntoIterator<Item = E>) -> Self {
        self.extensions.extend(extensions.into_iter().map(Into::into));
        self
    }

    /// Also selects this file, with any name and even if it is ignored.
    #[must_use]
    pub fn always(mut self, file: impl Into<PathBuf>) -> Self {
        self.always.insert(file.into());
        self
    }

    /// Also selects every other file that is neither hidden nor a backup (`name~`).
    #[must_use]
    pub fn all_files(mut self) -> Self {
        self.has_all = true;
        self
    }

    /// Disregards `.gitignore` files.
    #[must_use]
    pub fn without_gitignore(mut self) -> Self {
        self.ignores_gitignore = true;
        self
    }

    /// Enters no directory below the root.
    #[must_use]
    pub fn without_directories(mut self) -> Self {
        self.is_flat = true;
        self
    }

    /// Sets the content of the `.gitignore` in `directory`; empty if there is none.
    pub fn set_gitignore(&mut self, directory: &Path, text: &str) {
        if !self.ignores_gitignore {
            self.rules.set(directory, text);
        }
    }

    /// Notes that `directory` is a Python virtual environment. Its files are installed ones, with any name.
    pub fn add_environment(&mut self, directory: &Path) {
        self.environments.insert(directory.to_owned());
    }

    /// Notes that `directory` is not a Python virtual environment.
    pub fn remove_environment(&mut self, directory: &Path) {
        self.environments.remove(directory);
    }

    /// True if files in this directory may be selected, given that its parent is entered.
    pub fn enters(&self, directory: &Path) -> bool {
        let Some(name) = directory.file_name() else { return true };
        let skipped = self.is_flat || is_hidden(name) || NEVER_ENTERED.iter().any(|never| name == *never);
        !skipped && !self.is_installed(directory) && !self.rules.ignore(directory, true)
    }

    /// True if this file is selected, given that its directory is entered.
    pub fn wants(&self, file: &Path) -> bool {
        let is_source = || self.is_source(file) && !self.is_installed(file) && !self.rules.ignore(file, false);
        self.names(file) || self.except.as_deref() != Some(file) && is_source()
    }

    /// True if the path is in a virtual environment, given that the directories above its own are entered.
    fn is_installed(&self, path: &Path) -> bool {
        path.parent().is_some_and(|directory| self.environments.contains(directory))
    }

    /// True if the file was named with [`always`](Self::always).
    pub(crate) fn names(&self, file: &Path) -> bool {
        self.always.contains(file)
    }

    /// The files named with [`always`](Self::always).
    pub(crate) fn named(&self) -> &BTreeSet<PathBuf> {
        &self.always
    }

    /// Replaces the files named with [`always`](Self::always).
    pub(crate) fn set_named(&mut self, files: BTreeSet<PathBuf>) {
        self.always = files;
    }

    /// By-products of editors need no list: their extension is not the extension of a source file (`4913`, `tools.py~`,
    /// `tools.py.swp`, `tools.py.tmp~`, `tools.py___jb_tmp___`), or the name is hidden (`.#tools.py`, `.tools.py`), or
    /// both.
    fn is_source(&self, file: &Path) -> bool {
        let Some(name) = file.file_name().filter(|name| !is_hidden(name)) else { return false };
        let has_extension =
            |extension: &OsStr| self.extensions.iter().any(|wanted| wanted.eq_ignore_ascii_case(extension));
        self.has_all && !name.as_encoded_bytes().ends_with(b"~") || file.extension().is_some_and(has_extension)
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn family(extension: &OsStr) -> Option<&'static [&'static str]> {
    const SCRIPT: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
    const RUST: &[&str] = &["rs", "toml"];
    [SCRIPT, RUST].into_iter().find(|family| family.iter().any(|member| extension.eq_ignore_ascii_case(member)))
}

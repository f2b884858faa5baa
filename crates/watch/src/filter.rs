//! Which files matter and which directories are worth entering. Pure: paths in, verdicts out.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::rules::Rules;

/// Directories that hold installed, generated or cached files, never an author's source; besides those that begin with a
/// dot (protomcp wire 2.7). `site-packages` is filled while a virtual environment has no mark of one yet.
const NEVER_ENTERED: [&str; 5] = ["__pycache__", "node_modules", "site-packages", "target", "venv"];

/// Decides by path alone whether a change matters.
///
/// A file is wanted if it has one of the [extensions](Self::extensions) and neither looks like an editor's by-product
/// nor is ignored by a `.gitignore`, or if it was named with [`always`](Self::always). Without extensions only the
/// named ones are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    extensions: Vec<OsString>,
    always: BTreeSet<PathBuf>,
    rules: Rules,
    ignores_gitignore: bool,
    environments: BTreeSet<PathBuf>,
}

impl Filter {
    /// Wants nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What belongs to a program that starts at `entry`: files in the same language beside it, and the file itself.
    ///
    /// The languages whose sources mix several extensions are known (TypeScript and JavaScript; Rust with its
    /// manifests); for all others it is the file's own extension. Data files are left out on purpose: tools write them,
    /// and a tool that restarts because of its own output never rests.
    pub fn source(entry: &Path) -> Self {
        let filter = Self::new().always(entry);
        match entry.extension() {
            None => filter,
            Some(extension) => match family(extension) {
                Some(family) => filter.extensions(family),
                None => filter.extensions([extension]),
            },
        }
    }

    /// Also wants files with these extensions, without the dot; upper and lower case ASCII are the same.
    #[must_use]
    pub fn extensions<E: Into<OsString>>(mut self, extensions: impl IntoIterator<Item = E>) -> Self {
        self.extensions.extend(extensions.into_iter().map(Into::into));
        self
    }

    /// Also wants this file, whatever it is called and whoever ignores it.
    #[must_use]
    pub fn always(mut self, file: impl Into<PathBuf>) -> Self {
        self.always.insert(file.into());
        self
    }

    /// Pays no attention to `.gitignore` files.
    #[must_use]
    pub fn without_gitignore(mut self) -> Self {
        self.ignores_gitignore = true;
        self
    }

    /// Says what the `.gitignore` in `directory` contains; empty if there is none (any more).
    pub fn set_gitignore(&mut self, directory: &Path, text: &str) {
        if !self.ignores_gitignore {
            self.rules.set(directory, text);
        }
    }

    /// Says whether `directory` is a Python virtual environment: what it holds is installed there, whatever the directory
    /// is called.
    pub fn set_environment(&mut self, directory: &Path, is_environment: bool) {
        if is_environment {
            self.environments.insert(directory.to_owned());
        } else {
            self.environments.remove(directory);
        }
    }

    /// Whether files in this directory may matter, given that its parent is entered.
    pub fn enters(&self, directory: &Path) -> bool {
        let Some(name) = directory.file_name() else { return true };
        let skipped = is_hidden(name) || NEVER_ENTERED.iter().any(|never| name == *never);
        !skipped && !self.is_installed(directory) && !self.rules.ignore(directory, true)
    }

    /// Whether a change of this file matters, given that its directory is entered.
    pub fn wants(&self, file: &Path) -> bool {
        self.names(file) || self.is_source(file) && !self.is_installed(file) && !self.rules.ignore(file, false)
    }

    /// Whether this lies in a virtual environment, given that the directories above its own are entered.
    fn is_installed(&self, path: &Path) -> bool {
        path.parent().is_some_and(|directory| self.environments.contains(directory))
    }

    /// Whether the file was named with [`always`](Self::always).
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

    /// By-products of editors need no list of their own: either their extension is not that of a source file (`4913`,
    /// `tools.py~`, `tools.py.swp`, `tools.py.tmp~`, `tools.py___jb_tmp___`), or the name is hidden (`.#tools.py`,
    /// `.tools.py`), or both.
    fn is_source(&self, file: &Path) -> bool {
        let (Some(name), Some(extension)) = (file.file_name(), file.extension()) else { return false };
        !is_hidden(name) && self.extensions.iter().any(|wanted| wanted.eq_ignore_ascii_case(extension))
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

//! The rules of `.gitignore` files, as text in and decisions out; the tree reads the files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules of every directory that has some.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    of: HashMap<PathBuf, Gitignore>,
}

impl Rules {
    /// Sets the content of the `.gitignore` in `directory`; an empty text has no rules. Invalid patterns are skipped,
    /// as git does.
    pub(crate) fn set(&mut self, directory: &Path, text: &str) {
        self.of.remove(directory);
        if text.is_empty() {
            return;
        }
        let mut builder = GitignoreBuilder::new(directory);
        for line in text.lines() {
            if let Err(error) = builder.add_line(None, line) {
                tracing::debug!(directory = %directory.display(), line, %error, "not a pattern");
            }
        }
        match builder.build() {
            Ok(rules) => {
                self.of.insert(directory.to_owned(), rules);
            }
            Err(error) => tracing::warn!(directory = %directory.display(), %error, "cannot use .gitignore"),
        }
    }

    /// True if `path` itself is ignored, given that the directories above it are not: the nearest file with a matching
    /// rule decides.
    pub(crate) fn ignore(&self, path: &Path, is_directory: bool) -> bool {
        for directory in path.ancestors().skip(1) {
            let Some(rules) = self.of.get(directory) else { continue };
            match rules.matched(path, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

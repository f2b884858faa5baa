//! Files that are MCP servers with another SDK, served as commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A file with its command.
#[derive(Debug, Clone)]
pub(crate) struct ServedFile {
    path: PathBuf,
    command: String,
}

impl ServedFile {
    /// The file, served by the command of these words.
    pub(crate) fn new(path: &Path, words: &[OsString]) -> Self {
        // The text of a module would hide the rest.
        let shown = |word: &OsString| match word.to_string_lossy() {
            word if word.starts_with("data:") => "data:…".to_owned(),
            word => word.into_owned(),
        };
        let words: Vec<_> = words.iter().map(shown).collect();
        Self { path: path.to_owned(), command: words.join(" ") }
    }

    /// The file.
    #[cfg(feature = "upstream")]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A note for its author.
    pub(crate) fn note(&self) -> String {
        format!(
            "{} is an MCP server with another SDK: serving it as the command `{}`",
            self.path.display(),
            self.command
        )
    }

    /// The way out of a failure with this text, if there is a usual one.
    pub(crate) fn hint(&self, failure: &str) -> Option<String> {
        let file = self.path.display();
        if failure.contains("exited with status 0") {
            return Some(format!(
                "{file} ends before it serves: it has to start its server on standard input and output, as mcp.run() of \
                 FastMCP does"
            ));
        }
        failure.contains("did not open the connection within").then(|| self.silent())
    }

    /// A hint for a server that does not answer.
    pub(crate) fn silent(&self) -> String {
        format!(
            "{} may serve HTTP: start it by itself, and name its URL, as in pmcp run --upstream URL or pmcp list URL",
            self.path.display()
        )
    }

    /// The failure with the way out.
    pub(crate) fn explain(&self, failure: &str) -> String {
        self.hint(failure).map_or_else(|| failure.to_owned(), |hint| format!("{failure}; {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_file_and_the_way_out() {
        let words = ["node", "--import", "data:text/javascript,long", "a.ts"].map(OsString::from);
        let file = ServedFile::new(Path::new("a.ts"), &words);
        assert!(file.note().ends_with("serving it as the command `node --import data:… a.ts`"), "{}", file.note());
        for (failure, hint) in [
            ("the server closed the connection: node exited with status 0", "; a.ts ends before it serves: "),
            ("the server did not open the connection within 30s", "; a.ts may serve HTTP: "),
            ("the server closed the connection: node exited with status 1", ""),
        ] {
            let explained = file.explain(failure);
            assert!(explained.strip_prefix(failure).is_some_and(|rest| rest.starts_with(hint)), "{explained}");
            assert_eq!(explained == failure, hint.is_empty(), "{explained}");
        }
    }
}

//! The text of a Python file, as far as it decides about the command that runs it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use protomcp_types::without_byte_order_mark;

/// The most bytes of a file that are searched.
const SEARCHED: u64 = 1 << 20;

/// The warning for a file with inline metadata if its packages may not be installed.
pub(crate) const WITHOUT_UV: &str = "the file has inline script metadata, which uv reads, and uv is not on the path: \
                                     python3 runs the file with the packages that it has";

/// Facts about a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PythonFile {
    /// The block that names its packages (PEP 723).
    pub(crate) metadata: Option<Metadata>,
    /// It uses the SDK and does not seem to call its runner, which has to be called for it.
    pub(crate) only_declares: bool,
}

/// Inline script metadata.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Metadata {
    /// The versions of Python that can run the file, as a version specifier.
    pub(crate) requires_python: Option<String>,
}

impl PythonFile {
    /// Reads a file. One that cannot be read, or is very long, is an ordinary one.
    pub(crate) fn read(path: &Path) -> Self {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(SEARCHED).read_to_end(&mut bytes));
        match read {
            Ok(length) if (length as u64) < SEARCHED => {
                Self::of(&String::from_utf8_lossy(without_byte_order_mark(&bytes)))
            }
            _ => Self::default(),
        }
    }

    fn of(text: &str) -> Self {
        let only_declares = text.contains("protomcp") && !calls_runner(text);
        Self { metadata: Metadata::of(text), only_declares }
    }
}

/// True for `run(`, and for `run` of the SDK or its runner. A file that calls it by another name is run by the
/// bootstrap, which sees that.
fn calls_runner(text: &str) -> bool {
    let is_of_another = text.lines().any(imports_another_run);
    text.match_indices("run").any(|(at, word)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let is_named = !before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let is_ours = before
            .strip_suffix('.')
            .map_or(!is_of_another, |of| ["protomcp", "runner"].iter().any(|name| of.ends_with(name)));
        after.trim_start_matches(' ').starts_with('(') && is_named && is_ours && !before.ends_with("def ")
    })
}

/// True for `from subprocess import run` and the like.
fn imports_another_run(line: &str) -> bool {
    let imports = line.trim_start().strip_prefix("from ").and_then(|rest| rest.split_once(" import "));
    imports.is_some_and(|(module, names)| {
        let module = module.trim();
        let is_run = |name: &str| name.trim_matches([' ', '(', ')', '\t']) == "run";
        module != "protomcp" && !module.starts_with("protomcp.") && names.split(',').any(is_run)
    })
}

impl Metadata {
    /// A line `# /// script`, comment lines, and a line `# ///` (inline script metadata, "Specification").
    fn of(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.trim_end() != "# /// script" {
                continue;
            }
            let comments = lines.clone().take_while(|line| *line == "#" || line.starts_with("# "));
            let block: Vec<&str> = comments.map(str::trim_end).collect();
            if let Some(end) = block.iter().position(|line| *line == "# ///") {
                return Some(Self { requires_python: block[..end].iter().find_map(|line| requires_python(line)) });
            }
        }
        None
    }
}

/// The string of a line `# requires-python = "…"`.
fn requires_python(line: &str) -> Option<String> {
    let value = line.strip_prefix("# requires-python")?.trim_start().strip_prefix('=')?.trim();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (specifier, _) = value[1..].split_once(quote)?;
    (!specifier.is_empty()).then(|| specifier.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_a_beginning_and_an_end() {
        for (text, expected) in [
            ("# /// script\n# dependencies = []\n# ///\n", true),
            ("#!/usr/bin/env python3\n\n# /// script\n#\n# ///\nimport os\n", true),
            ("# /// script\r\n# dependencies = []\r\n# ///\r\n", true),
            ("# /// script\n# dependencies = []\n", false),
            ("# /// script\n# dependencies = []\n\n# ///\n", false),
            ("# /// script\nimport os\n# ///\n", false),
            ("# /// other\n# ///\n", false),
            ("#/// script\n# ///\n", false),
            ("    # /// script\n    # ///\n", false),
            ("", false),
        ] {
            assert_eq!(PythonFile::of(text).metadata.is_some(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_block_may_name_versions_of_python() {
        for (line, expected) in [
            ("requires-python = \">=3.11\"", Some(">=3.11")),
            ("requires-python='>=3.11,<3.13'  # why", Some(">=3.11,<3.13")),
            ("requires-python = \"\"", None),
            ("requires-python = \">=3.11", None),
            ("requires-pythons = \">=3.11\"", None),
            ("dependencies = []", None),
        ] {
            let metadata = PythonFile::of(&format!("# /// script\n# {line}\n# ///\n")).metadata.unwrap();
            assert_eq!(metadata.requires_python.as_deref(), expected, "{line}");
        }
        let after = PythonFile::of("# /// script\n# ///\n# requires-python = \">=3.11\"\n");
        assert_eq!(after.metadata, Some(Metadata::default()));
    }

    #[test]
    fn a_file_that_does_not_call_the_runner_only_declares() {
        for (text, expected) in [
            ("from protomcp import tool\n@tool\ndef add(a: int) -> int: return a\n", true),
            ("from protomcp import tool, run\nrun()\n", false),
            ("import protomcp\nprotomcp.run()\n", false),
            ("from protomcp import runner\nrunner.run ()\n", false),
            ("from protomcp import tool\n@tool(\"Runs a query\")\ndef query() -> int: ...\n", true),
            ("from protomcp import tool\nimport subprocess\nsubprocess.run(['ls'])\nprune()\n", true),
            ("from protomcp import tool\n@tool()\ndef run(command: str) -> str: ...\n", true),
            ("from protomcp import tool\nfrom subprocess import PIPE, run\nrun(['ls'])\n", true),
            ("from subprocess import run as start\nfrom protomcp import (\n    run,\n)\nrun()\n", false),
            ("from protomcp.runner import run\nrun()\n", false),
            ("from protomcp.runner import *\n", true),
            ("import my_tools\n", false),
            ("", false),
        ] {
            assert_eq!(PythonFile::of(text).only_declares, expected, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_ordinary_one() {
        assert_eq!(PythonFile::read(Path::new("/no/such/file.py")), PythonFile::default());
    }
}

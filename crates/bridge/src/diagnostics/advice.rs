//! Remedies for the failures of a first start: an interpreter or an SDK that is not there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most bytes of a file that are searched for a function.
const SEARCHED: u64 = 1 << 20;

/// The words of an interpreter that has no SDK.
const MISSING: [(&str, MissingSdk); 4] = [
    ("ModuleNotFoundError: No module named 'protomcp'", MissingSdk::Python),
    ("Cannot find package 'protomcp'", MissingSdk::Node),
    ("Cannot find module 'protomcp'", MissingSdk::Node),
    ("Import \"protomcp\" not a dependency", MissingSdk::Deno),
];

/// The words of an interpreter on standard error, and the remedy.
const SPOKEN: [(&str, &str); 7] = [
    ("npx canceled due to missing packages", WITHOUT_TSX),
    ("npm error code ENOTCACHED", WITHOUT_TSX),
    ("tsx: not found", WITHOUT_TSX),
    (
        "Unknown file extension \".ts\"",
        "this Node does not read TypeScript: unset PROTOMCP_NODE and run `npm install tsx` next to the file, or set it to \
         Node 22.18 or later",
    ),
    (
        "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
        "Node by itself runs TypeScript whose types can be erased: for the rest run `npm install tsx` next to the file",
    ),
    ("ended without using protomcp", "an MCP server with another SDK is served as a command: pmcp dev -- python FILE"),
    (
        "--import is not allowed in NODE_OPTIONS",
        "this Node is too old: tools need Node 20 or later, PROTOMCP_NODE names one",
    ),
];

/// The remedy for a file that ends without an error, and without tools.
pub(crate) const AS_COMMAND: &str =
    "an MCP server with another SDK is served as a command, such as: pmcp dev -- node FILE";

/// The remedy for a Node that does not read TypeScript.
pub(crate) const WITHOUT_TSX: &str = "this Node does not read TypeScript without tsx, and nothing is downloaded for it: \
                                      run `npm install tsx` next to the file, use Node 22.18 or later, or set \
                                      PROTOMCP_NODE to a runtime that reads TypeScript";

/// Programs that the extension of a file chooses, and the remedy if one is missing.
const PROGRAMS: [(&str, &str); 6] = [
    ("python3", "files that end in .py run with it: install Python, or set PROTOMCP_PYTHON to its path"),
    ("node", "files that end in .js or .ts run with it: install Node, or set PROTOMCP_NODE to the path of a runtime"),
    (
        "npx",
        "this file needs it, because Node cannot read it: install npm, use Node 22.18 or later, or set PROTOMCP_NODE to a \
         runtime that reads TypeScript",
    ),
    ("uv", "files with inline script metadata run with it: install uv, or set PROTOMCP_PYTHON to a Python"),
    ("go", "files that end in .go run with it: install Go"),
    ("cargo", "files of a Cargo project run with it: install Rust"),
];

/// Functions of the SDK for Python, and the keyword arguments that the functions of the published one refuse.
const KEYWORDS: [(&str, &[&str]); 8] = [
    ("tool", &["annotations", "app", "concurrent", "icons", "input_schema", "meta", "name", "task_required"]),
    ("prompt", &["icons", "meta", "name", "title"]),
    ("resource", &["annotations", "icons", "meta", "size", "title"]),
    ("resource_template", &["annotations", "icons", "meta", "title"]),
    ("tool_group", &["separator"]),
    ("workflow", &["handles"]),
    ("configure", &["concurrency"]),
    ("PromptArg.__init__", &["title"]),
];

/// An interpreter without an SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingSdk {
    Python,
    Node,
    Deno,
}

/// The interpreter that has ended with these last lines because it has no SDK.
pub(crate) fn missing_sdk(lines: &[String]) -> Option<MissingSdk> {
    MISSING.iter().find(|(words, _)| lines.iter().any(|line| line.contains(words))).map(|(_, missing)| *missing)
}

impl MissingSdk {
    /// The remedy where nothing is lent.
    pub(crate) fn install(self) -> &'static str {
        match self {
            Self::Python => {
                "this Python has no SDK: with --sdk auto it borrows the SDK of pmcp; PROTOMCP_PYTHON names another \
                 Python"
            }
            Self::Node => "Node finds no SDK next to or above the file: with --sdk auto it borrows the SDK of pmcp",
            Self::Deno => {
                "Deno finds no SDK: name protomcp in the imports of its configuration, or let it borrow the SDK of pmcp with \
                 --sdk auto"
            }
        }
    }

    /// The remedy for an interpreter that was lent an SDK.
    pub(crate) fn cannot_borrow(self) -> &'static str {
        match self {
            Self::Python => {
                "this Python has no SDK, and ignores PYTHONPATH, which names the SDK of pmcp: start it with -s -P in place of \
                 -I, and without -E, or install the SDK for it"
            }
            Self::Node => {
                "this program finds no SDK, and ignores NODE_OPTIONS, which names the SDK of pmcp: set PROTOMCP_NODE to Node \
                 20 or later, or install the SDK next to the file"
            }
            Self::Deno => self.install(),
        }
    }
}

/// The remedy for an interpreter that has ended with these last lines because another module has the name of the SDK, or
/// because its SDK lacks a name that the file needs. `is_lent`: it was lent an SDK.
pub(crate) fn other_sdk(lines: &[String], is_lent: bool) -> Option<&'static str> {
    lines.iter().enumerate().find_map(|(at, line)| {
        let is_unknown = line.starts_with("ImportError: cannot import name ") && line.contains(" from 'protomcp");
        if is_unknown && line.contains("/protomcp.py") || line.contains("; 'protomcp' is not a package") {
            return Some("a file protomcp.py hides the SDK: give it another name");
        }
        // The folder of a lent one is named by its digest.
        let is_installed = is_unknown && !line.contains("/protomcp/sdk/python-");
        let is_node = !is_lent && line.contains("module 'protomcp' does not provide an export named");
        let is_refusal = refusing(line).is_some_and(|function| !is_defined_by_caller(function, &lines[..at]));
        (is_installed || is_node || is_refusal).then_some(
            "the SDK that is installed is another one, or an older one, than the file is written for: with --sdk bundled it \
             runs with the SDK of pmcp",
        )
    })
}

/// The function with the name of one of the published SDK that has refused a keyword argument that ours takes.
fn refusing(line: &str) -> Option<&str> {
    let (function, rest) = line.strip_prefix("TypeError: ")?.split_once("() got an unexpected keyword argument '")?;
    let keyword = rest.split('\'').next().unwrap_or_default();
    KEYWORDS.iter().any(|(known, keywords)| *known == function && keywords.contains(&keyword)).then_some(function)
}

/// True if the file of the last frame has a function or class of this name itself: the traceback of a refusal ends with the
/// caller.
fn is_defined_by_caller(function: &str, frames: &[String]) -> bool {
    let name = function.split('.').next().unwrap_or(function);
    let caller = frames.iter().rev().find_map(|line| line.trim_start().strip_prefix("File \"")?.split('"').next());
    let Some(caller) = caller.map(Path::new).filter(|path| path.is_file()) else { return false };
    let mut text = Vec::new();
    let read = File::open(caller).and_then(|file| file.take(SEARCHED).read_to_end(&mut text));
    let is_definition = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("async ").unwrap_or(line);
        let rest = line.strip_prefix("def ").or_else(|| line.strip_prefix("class "));
        rest.and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with(['(', ':', ' ']))
    };
    read.is_ok() && String::from_utf8_lossy(&text).lines().any(is_definition)
}

/// The remedy for a process that has ended with these last lines.
pub(crate) fn after_exit(lines: &[String]) -> Option<&'static str> {
    SPOKEN.iter().find(|(words, _)| lines.iter().any(|line| line.contains(words))).map(|(_, remedy)| *remedy)
}

/// The remedy for a program that was not found.
pub(crate) fn not_found(program: &OsStr) -> Option<&'static str> {
    let name = program.to_str()?;
    let known = PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, remedy)| *remedy);
    known.or_else(|| name.contains(' ').then_some("the name stands for one program, without arguments"))
}

/// The remedy for a program that cannot be run, if an environment variable has chosen it.
pub(crate) fn chosen_by_variable(program: &OsStr) -> Option<&'static str> {
    let is_named = |variable: &str| std::env::var_os(variable).is_some_and(|value| value == program);
    let chosen = CHOICES.iter().find(|(variable, _)| is_named(variable));
    chosen.map(|(_, remedy)| *remedy)
}

/// The environment variables that choose a program.
const CHOICES: [(&str, &str); 2] = [
    (
        "PROTOMCP_PYTHON",
        "the environment variable PROTOMCP_PYTHON names it: set it to the path of a Python, or unset it",
    ),
    ("PROTOMCP_NODE", "the environment variable PROTOMCP_NODE names it: set it to the path of a runtime, or unset it"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_interpreters_are_known() {
        let after = |line: &str| after_exit(&["Traceback".to_owned(), line.to_owned()]);
        for (line, remedy) in [
            ("npm error npx canceled due to missing packages and no YES option: [\"tsx@4\"]", "npm install tsx"),
            ("npm error code ENOTCACHED", "npm install tsx"),
            ("sh: 1: tsx: not found", "npm install tsx"),
            ("TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension \".ts\" for /t.ts", "PROTOMCP_NODE"),
            ("SyntaxError [ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX]: TypeScript enum is not supported", "npm install tsx"),
            ("t.py ended without using protomcp; it defines no tools", "pmcp dev -- python FILE"),
            ("node: --import is not allowed in NODE_OPTIONS", "Node 20"),
        ] {
            assert!(after(line).is_some_and(|found| found.contains(remedy)), "{line}");
        }
        assert_eq!(after("KeyError: 42"), None);
    }

    #[test]
    fn a_missing_sdk_is_known_by_its_words() {
        let missing = |line: &str| missing_sdk(&["Traceback".to_owned(), line.to_owned()]);
        for (line, expected) in [
            ("ModuleNotFoundError: No module named 'protomcp'", Some(MissingSdk::Python)),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'protomcp' imported from /t.mjs",
                Some(MissingSdk::Node),
            ),
            ("Error: Cannot find module 'protomcp'", Some(MissingSdk::Node)),
            ("error: Import \"protomcp\" not a dependency", Some(MissingSdk::Deno)),
            ("ModuleNotFoundError: No module named 'protomcp_extra'", None),
            ("KeyError: 42", None),
        ] {
            assert_eq!(missing(line), expected, "{line}");
        }
    }

    #[test]
    fn an_sdk_that_is_not_ours_is_known_by_its_words() {
        let lent = "/c/protomcp/sdk/python-0a/sdk/protomcp/__init__.py";
        for (line, is_lent, expected) in [
            (
                "ImportError: cannot import name 'App' from 'protomcp' (/v/protomcp/__init__.py)",
                true,
                Some("--sdk bundled"),
            ),
            (
                "ImportError: cannot import name 'x' from 'protomcp.tool' (/v/protomcp/tool.py)",
                true,
                Some("--sdk bundled"),
            ),
            (&format!("ImportError: cannot import name 'Ap' from 'protomcp' ({lent})"), true, None),
            ("ImportError: cannot import name 'tool' from 'protomcp' (/t/protomcp.py)", true, Some("another name")),
            (
                "ModuleNotFoundError: No module named 'protomcp.x'; 'protomcp' is not a package",
                true,
                Some("another name"),
            ),
            ("ImportError: cannot import name 'x' from 'other' (/v/other.py)", true, None),
            ("TypeError: tool() got an unexpected keyword argument 'concurrent'", true, Some("--sdk bundled")),
            (
                "TypeError: prompt() got an unexpected keyword argument 'title'. Did you mean 'name'?",
                false,
                Some("--sdk bundled"),
            ),
            // Ours refuses it, too.
            ("TypeError: tool() got an unexpected keyword argument 'concurent'", true, None),
            ("TypeError: send() got an unexpected keyword argument 'title'", true, None),
            (
                "SyntaxError: The requested module 'protomcp' does not provide an export named 'app'",
                false,
                Some("--sdk bundled"),
            ),
            ("SyntaxError: The requested module 'protomcp' does not provide an export named 'app'", true, None),
        ] {
            let found = other_sdk(&["Traceback".to_owned(), line.to_owned()], is_lent);
            assert_eq!(found.is_some(), expected.is_some(), "{line}: {found:?}");
            assert!(found.zip(expected).is_none_or(|(found, part)| found.contains(part)), "{line}: {found:?}");
        }
    }

    #[test]
    fn a_keyword_that_the_author_refuses_has_no_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tools.py");
        let lines = [
            "Traceback (most recent call last):".to_owned(),
            format!("  File \"{}\", line 3, in <module>", file.display()),
            "    @tool('x', concurrent=1)".to_owned(),
            "TypeError: tool() got an unexpected keyword argument 'concurrent'".to_owned(),
        ];
        for (text, has_remedy) in [
            ("from protomcp import tool\n", true),
            ("def tool(d):\n", false),
            ("import protomcp\n\nasync def tool(d):\n", false),
            ("def toolbox(d):\n", true),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(other_sdk(&lines, true).is_some(), has_remedy, "{text}");
        }
    }

    #[test]
    fn a_missing_program_names_its_setting() {
        let found = |name: &str| not_found(OsStr::new(name));
        assert!(found("python3").is_some_and(|remedy| remedy.contains("PROTOMCP_PYTHON")));
        assert!(found("npx").is_some_and(|remedy| remedy.contains("PROTOMCP_NODE")));
        assert!(found("python3 -u").is_some_and(|remedy| remedy.contains("one program")));
        assert_eq!(found("/no/such"), None);
    }
}

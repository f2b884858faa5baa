//! Remedies for the failures of a first start: an interpreter or an SDK that is not there.

use std::ffi::OsStr;

/// The words of an interpreter on standard error, and the remedy.
const SPOKEN: [(&str, &str); 5] = [
    (
        "ModuleNotFoundError: No module named 'protomcp'",
        "this Python has no SDK: run `python -m pip install protomcp` with it, or set PROTOMCP_PYTHON to one that has it",
    ),
    ("Cannot find package 'protomcp'", "Node finds no SDK: run `npm install protomcp` beside the file"),
    ("Cannot find module 'protomcp'", "Node finds no SDK: run `npm install protomcp` beside the file"),
    (
        "npx canceled due to missing packages",
        "files in TypeScript run with tsx: run `npm install tsx` beside the file, or set PROTOMCP_NODE to a runtime that \
         reads TypeScript",
    ),
    (
        "Unknown file extension \".ts\"",
        "this Node does not read TypeScript: unset PROTOMCP_NODE and run `npm install tsx` beside the file, or set it to \
         Node 22.18 or later",
    ),
];

/// Programs that the extension of a file chooses, and the remedy if one is missing.
const PROGRAMS: [(&str, &str); 5] = [
    ("python3", "files that end in .py run with it: install Python, or set PROTOMCP_PYTHON to its path"),
    ("node", "files that end in .js run with it: install Node, or set PROTOMCP_NODE to the path of a runtime"),
    ("npx", "files that end in .ts run with it: install Node, or set PROTOMCP_NODE to a runtime that reads TypeScript"),
    ("go", "files that end in .go run with it: install Go"),
    ("cargo", "files of a Cargo project run with it: install Rust"),
];

/// The remedy for a process that has ended with these last lines.
pub(crate) fn after_exit(lines: &[String]) -> Option<&'static str> {
    SPOKEN.iter().find(|(words, _)| lines.iter().any(|line| line.contains(words))).map(|(_, remedy)| *remedy)
}

/// The remedy for a program that was not found.
pub(crate) fn not_found(program: &OsStr) -> Option<&'static str> {
    let name = program.to_str()?;
    let known = PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, remedy)| *remedy);
    known.or_else(|| name.contains(' ').then_some("the name is that of one program, without arguments"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_interpreters_are_known() {
        let after = |line: &str| after_exit(&["Traceback".to_owned(), line.to_owned()]);
        for (line, remedy) in [
            ("ModuleNotFoundError: No module named 'protomcp'", "pip install protomcp"),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'protomcp' imported from /t.mjs",
                "npm install protomcp",
            ),
            ("Error: Cannot find module 'protomcp'", "npm install protomcp"),
            ("npm error npx canceled due to missing packages and no YES option: [\"tsx@4\"]", "npm install tsx"),
            ("TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension \".ts\" for /t.ts", "PROTOMCP_NODE"),
        ] {
            assert!(after(line).is_some_and(|found| found.contains(remedy)), "{line}");
        }
        assert_eq!(after("ModuleNotFoundError: No module named 'protomcp_extra'"), None);
        assert_eq!(after("KeyError: 42"), None);
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

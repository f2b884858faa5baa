//! The catalogue of errors, `docs/errors/`, has each text of an error in the code, and no other: a person who has a
//! text before them finds its cause and a remedy by a search for its fixed part.
//!
//! Searched is the product: the crates, the program, and the SDKs for Python and TypeScript. Tests are not, nor is
//! `protomcp-testing`, which only they use. A text is a literal of two words or more that reaches a person as an error
//! or a warning: the tables of `rust_texts` and `script_texts` name the places. The form of a text is the one that is
//! shown, with `…` for each part that varies.
//!
//! Not in the catalogue are:
//!
//! - Texts of `expect`, `unreachable!` and assertions: they report a defect, and a user cannot act on them. The errors
//!   that a contained panic becomes are in the catalogue.
//! - Texts that only wrap another one, such as `{0}` or `{place}: {why}`, and single words: they have no part to search
//!   for.
//! - Lines of the log below a warning, which ask for nothing.
//! - Findings of `pmcp validate` and checks of `pmcp doctor`: each is printed with its remedy, and `docs/validate.md`
//!   has them. Differences of `pmcp test` and `pmcp replay`: they are the report, not an error. Suggestions, which are
//!   the remedy of the text before them.

mod normal_form;
mod rust_texts;
mod script_texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use protomcp_conformance::root;
use script_texts::Language;

use crate::architecture::files;
use crate::architecture::tokens::{Kind, tokens};

/// Folders and files whose texts are findings, not errors.
const FINDINGS: &[&str] = &["crates/check/src/rules/", "crates/check/src/doctor.rs", "crates/check/src/upstream.rs"];

/// Generated code, code of tests, and a crate for tests.
const LEFT_OUT: &[&str] = &["/gen/", "/tests/", "/tests.rs", "/streams/model.rs", "crates/testing/"];

/// The first cells of the tables of the catalogue.
const HEAD: &str = "| text | cause | remedy |";

/// Each text with the place where it occurs first.
type Texts = BTreeMap<String, String>;

/// The texts of a file, with their lines.
fn texts_of(name: &str, source: &str) -> Vec<(usize, String)> {
    match name.split('/').collect::<Vec<_>>()[..] {
        ["crates", package, "src", ..] => rust_texts::texts(package, source),
        ["cli", "src", ..] => rust_texts::texts("cli", source),
        ["sdk", "python", "src", ..] => script_texts::texts(Language::Python, source),
        ["sdk", "typescript", "src" | "bin", ..] => script_texts::texts(Language::TypeScript, source),
        _ => Vec::new(),
    }
}

fn is_searched(name: &str) -> bool {
    let has_texts = [".rs", ".py", ".js", ".ts"].iter().any(|ending| name.ends_with(ending)) || name.contains("/bin/");
    let is_left_out = LEFT_OUT.iter().any(|part| name.contains(part));
    let is_finding = FINDINGS.iter().any(|start| name.starts_with(start));
    has_texts && !is_left_out && !is_finding
}

/// The files below some folders of the workspace, with their names.
fn below(folders: &[&str]) -> Vec<(String, PathBuf)> {
    let found = folders.iter().flat_map(|folder| files(&root().join(folder)));
    let named = found.map(|path| {
        let name = path.strip_prefix(root()).expect("files are below the root");
        (name.to_string_lossy().into_owned(), path)
    });
    let mut all: Vec<_> = named.collect();
    all.sort();
    all
}

/// The texts of the code.
fn code() -> Texts {
    let mut found = Texts::new();
    for (name, path) in below(&["crates", "cli/src", "sdk"]) {
        if !is_searched(&name) {
            continue;
        }
        let source = fs::read_to_string(&path).expect("sources are UTF-8");
        for (line, text) in texts_of(&name, &source) {
            found.entry(text).or_insert_with(|| format!("{name}:{line}"));
        }
    }
    found
}

/// The cells of a row, without the marks of code.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{1}");
    row.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The text of a span of code, whose fence may be several backticks.
fn span(cell: &str) -> &str {
    let fence = cell.len() - cell.trim_start_matches('`').len();
    let inner = cell.get(fence..cell.len().saturating_sub(fence)).unwrap_or_default();
    if fence > 1 { inner.trim() } else { inner }
}

/// The rows of one page: the text, and the two cells after it.
fn rows(page: &str) -> Vec<Vec<String>> {
    let mut is_row = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line == HEAD {
            is_row = true;
        } else if !line.starts_with('|') {
            is_row = false;
        } else if is_row && !line.starts_with("|---") {
            found.push(cells(line));
        }
    }
    found
}

/// The texts of the catalogue. The second part of the result are the faults of its rows.
fn catalogue() -> (Texts, String) {
    let (mut found, mut faults) = (Texts::new(), String::new());
    for (name, path) in below(&["docs/errors"]) {
        let page = fs::read_to_string(&path).expect("a page is UTF-8");
        for row in rows(&page) {
            let [text, cause, remedy] = &row[..] else {
                writeln!(faults, "{name}: a row has three cells: {row:?}").expect("a string grows");
                continue;
            };
            if !cause.ends_with('.') || !remedy.ends_with('.') {
                writeln!(faults, "{name}: cause and remedy are sentences: {text}").expect("a string grows");
            }
            if let Some(other) = found.insert(span(text).to_owned(), name.clone()) {
                writeln!(faults, "{name}: {text} is in {other}, too; leave one row").expect("a string grows");
            }
        }
    }
    (found, faults)
}

/// The texts of the first map that the second one lacks.
fn lacking<'a>(these: &'a Texts, those: &Texts) -> Vec<(&'a String, &'a String)> {
    these.iter().filter(|(text, _)| !those.contains_key(*text)).collect()
}

/// The difference between code and catalogue, in words.
fn difference(code: &Texts, catalogue: &Texts) -> String {
    let mut report = String::new();
    for (text, place) in lacking(code, catalogue) {
        let shown = text.replace('|', "\\|");
        writeln!(report, "add to a page of docs/errors (for {place}): | `{shown}` | cause. | remedy. |")
            .expect("a string grows");
    }
    for (text, page) in lacking(catalogue, code) {
        writeln!(report, "remove from {page}, or correct it: no code has {text:?}").expect("a string grows");
    }
    report
}

#[test]
fn each_error_is_in_the_catalogue() {
    let (code, (catalogue, faults)) = (code(), catalogue());
    assert!(code.len() > 1000, "the texts are found: {}", code.len());
    let report = difference(&code, &catalogue);
    assert!(faults.is_empty() && report.is_empty(), "\n{faults}{report}");
}

#[test]
fn the_pages_of_the_catalogue_are_in_the_book() {
    let read = |name: &str| fs::read_to_string(root().join("docs").join(name)).expect("it can be read");
    let (summary, first) = (read("SUMMARY.md"), read("errors.md"));
    let pages = below(&["docs/errors"]);
    assert!(pages.len() > 5, "{pages:?}");
    for (name, _) in pages {
        let link = format!("({})", Path::new(&name).strip_prefix("docs").expect("it is a page").display());
        assert!(summary.contains(&link) && first.contains(&link), "SUMMARY.md and errors.md link {link}");
    }
}

/// The codes of JSON-RPC errors and of faults.
#[test]
fn each_number_of_an_error_is_on_the_first_page() {
    let page = include_str!("../../docs/errors.md");
    let mcp = include_str!("../../crates/types/src/error.rs");
    for (source, kind) in [(mcp, ": i64 = "), (include_str!("../../crates/bufmcp/src/code.rs"), ": i32 = ")] {
        let constants = source.lines().filter_map(|line| line.trim().strip_prefix("pub const ")?.split_once(kind));
        let constants: Vec<_> = constants.collect();
        assert!(constants.len() > 5, "{constants:?}");
        for (name, value) in constants {
            let row = format!("| {} | `{name}` |", value.trim_end_matches(';').replace('-', "−"));
            assert!(page.contains(&row), "docs/errors.md lacks the row {row}");
        }
    }
}

/// The codes of `protomcp/error`, where the code gives them.
#[test]
fn each_code_of_protomcp_error_is_on_the_first_page() {
    let page = include_str!("../../docs/errors.md");
    for source in [
        include_str!("../../crates/bridge/src/diagnostics/failure.rs"),
        include_str!("../../crates/gateway/src/failure.rs"),
        include_str!("../../crates/schema/src/tool_error.rs"),
        include_str!("../../crates/server/src/layer/lazy_tools.rs"),
        include_str!("../../crates/server/src/records/overload.rs"),
        include_str!("../../crates/typed/src/workflow/runs.rs"),
    ] {
        let literals = tokens(source).into_iter().filter(|token| token.kind == Kind::Text).map(|token| token.text);
        let is_code = |text: &&str| text.len() > 3 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let codes: Vec<_> = literals.filter(is_code).collect();
        assert!(!codes.is_empty(), "the codes are found");
        for code in codes {
            assert!(page.contains(&format!("| `{code}` |")), "docs/errors.md lacks the code {code}");
        }
    }
}

/// Where the SDKs give codes. The one for Rust has the names of errors of the protocol from `protomcp-wire`.
const SDKS: [(&str, &[&str]); 3] = [
    ("Python", &["sdk/python/src"]),
    ("TypeScript", &["sdk/typescript/src"]),
    ("Rust", &["crates/sdk/src", "crates/wire/src/process"]),
];

/// Literals in the form of a code that are something else: signals, errors of the system, types, and an answer that the
/// harness of TypeScript gives to a tool in the place of `pmcp`.
const NO_CODES: [&str; 8] = ["ECONNRESET", "EPIPE", "NO_ROOTS", "SIGHUP", "SIGINT", "SIGKILL", "SIGTERM", "UUID"];

/// The codes that an SDK gives.
fn codes_below(folders: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, path) in below(folders).into_iter().filter(|(name, _)| is_searched(name)) {
        let source = fs::read_to_string(path).expect("sources are UTF-8");
        // Variables of the environment begin with the name of a program.
        let is_code = |text: &&str| {
            let is_upper = text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            let is_variable = ["PROTOMCP_", "CARGO_"].iter().any(|start| text.starts_with(start));
            text.len() > 3 && is_upper && !is_variable && !NO_CODES.contains(text)
        };
        found.extend(source.split('"').filter(is_code).map(str::to_owned));
    }
    found
}

/// The second table: the code, and its cause, which ends with the languages if not all give it.
#[test]
fn each_code_of_the_sdks_is_on_the_first_page() {
    let page = include_str!("../../docs/errors.md");
    let (bridge, table) = page.split_once("\nThe SDKs give these").expect("the codes of SDKs have a table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let rows: BTreeMap<_, _> = rows.map(|(code, rest)| (code, rest.split(" | ").next().unwrap_or_default())).collect();
    let mut faults = String::new();
    let mut given = BTreeSet::new();
    for (language, folders) in SDKS {
        let codes = codes_below(folders);
        assert!(!codes.is_empty(), "{language}: the codes are found");
        for code in &codes {
            let fault = match rows.get(code.as_str()) {
                Some(cause) if cause.ends_with(").") && !cause.contains(language) => "its row lacks the language",
                None if !bridge.contains(&format!("| `{code}` |")) => "it has no row",
                Some(_) | None => continue,
            };
            writeln!(faults, "{code} of {language}: {fault}").expect("a string grows");
        }
        for (code, cause) in &rows {
            if cause.contains(language) && !codes.contains(*code) {
                writeln!(faults, "{code} of {language}: the SDK does not give it").expect("a string grows");
            }
        }
        given.extend(codes);
    }
    for code in rows.keys().filter(|code| !given.contains(**code)) {
        writeln!(faults, "{code}: no SDK gives it").expect("a string grows");
    }
    assert!(faults.is_empty(), "docs/errors.md:\n{faults}");
}

#[test]
fn a_missing_and_a_superfluous_row_are_reported() {
    let texts = |all: &[&str]| all.iter().map(|text| ((*text).to_owned(), "place".to_owned())).collect::<Texts>();
    let report = difference(&texts(&["one | …", "two"]), &texts(&["two", "three"]));
    assert!(
        report.contains("add to a page of docs/errors (for place): | `one \\| …` | cause. | remedy. |"),
        "{report}"
    );
    assert!(report.contains("remove from place, or correct it: no code has \"three\""), "{report}");
    assert_eq!(report.lines().count(), 2, "{report}");
    assert_eq!(difference(&texts(&["two"]), &texts(&["two"])), "");
}

#[test]
fn rows_of_the_catalogue_are_read() {
    let page = "| a | b |\n|---|---|\n| `c` | d |\n\n| text | cause | remedy |\n|---|---|---|\n\
        | `one \\| two` | Cause. | Remedy. |\n| `` run `it` … `` | Cause. | Remedy. |\n\nEnd.\n";
    let read = rows(page);
    let texts: Vec<_> = read.iter().map(|row| span(&row[0])).collect();
    assert_eq!(texts, ["one | two", "run `it` …"]);
    assert!(read.iter().all(|row| row.len() == 3), "{read:?}");
}

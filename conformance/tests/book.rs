//! The book in `docs/`: its links hold, its commands print what it says, and its code runs (`scripts/check-book`). Blocks of
//! Rust are compiled with the documentation of this package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use protomcp_conformance::{Sandbox, init_example, peers, pmcp, root};

use crate::architecture::files;

/// The exit status and the output of the script.
fn check(what: &str, args: &[&Path]) -> (bool, String) {
    let mut script = Command::new(root().join("scripts/check-book"));
    let output = script.arg(what).args(args).env("INIT_RUST", init_example()).output().expect("the script starts");
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.success(), printed.into_owned())
}

fn passes(what: &str, args: &[&Path]) {
    let (passed, printed) = check(what, args);
    assert!(passed, "{printed}");
}

/// In the long tier no page and no flag may be missing.
fn whole() -> Option<&'static Path> {
    std::env::var_os("PMCP_LONG").map(|_| Path::new("--whole"))
}

/// A book with one page of this text and its summary.
fn book(page: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    sandbox.write("SUMMARY.md", "- [Page](page.md)\n");
    sandbox.write("page.md", page);
    let folder = sandbox.path("");
    (sandbox, folder)
}

#[test]
fn links_and_headings_exist() {
    passes("links", whole().as_slice());
}

/// The pages as they are published: mdBook makes other names of files and headings than its sources have.
#[test]
fn the_built_book_has_no_dead_link() {
    let sandbox = Sandbox::new();
    let site = sandbox.path("site");
    let mut mdbook = Command::new(peers().join("tools/bin/mdbook"));
    let output = mdbook.arg("build").arg(root().join("docs")).arg("--dest-dir").arg(&site).output().expect("it starts");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !log.contains("WARN") && !log.contains("ERROR"), "{log}");
    let (passed, printed) = check("html", &[Path::new("--site"), &site]);
    assert!(passed, "{printed}");
    // A page that is gone, and a heading.
    let page = site.join("quick-start.html");
    let text = fs::read_to_string(&page).expect("the page is built");
    let wrong = text.replacen("<main>", "<main><a href=\"gone.html\">a</a><a href=\"hosts.html#gone\">b</a>", 1);
    fs::write(&page, wrong).expect("the sandbox can be written");
    let (passed, printed) = check("html", &[Path::new("--site"), &site]);
    assert!(!passed && printed.contains(": 2 faults"), "{printed}");
    for fault in ["quick-start.html: there is no gone.html", "quick-start.html: hosts.html has no #gone"] {
        assert!(printed.contains(fault), "{printed}");
    }
}

#[test]
fn every_block_runs() {
    peers();
    passes("run", &[Path::new("--pmcp"), pmcp()]);
}

const README: &str = include_str!("../../README.md");

/// From a file to a tool in the configuration of a host.
#[test]
fn the_blocks_of_the_readme_run() {
    peers();
    for block in ["$ pmcp call", "$ pmcp init", "$ pmcp test", "$ pmcp install", "```json entry"] {
        assert!(README.contains(block), "{block}");
    }
    // Only the build of the command and the scripts of a clone are left out.
    assert_eq!(README.matches(" not-run\n").count(), 2);
    let (_sandbox, folder) = book(README);
    passes("run", &[Path::new("--pmcp"), pmcp(), Path::new("--book"), &folder]);
}

/// The lines of the blocks whose commands `scripts/check-book` runs.
fn commands(page: &str) -> Vec<&str> {
    let mut runs = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if let Some(words) = line.strip_prefix("```") {
            runs = ["sh", "sh serve", "console"].contains(&words);
        } else if runs {
            found.push(line);
        }
    }
    found
}

#[test]
fn each_row_of_the_readme_is_a_command_of_its_page() {
    let (_, table) = README.split_once("| I have | I run |").expect("it has the table");
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [_, command, more] = cells[..] else { panic!("a row has three cells: {row}") };
        let (_, link) = more.split_once("](").expect("the third cell is a link");
        let page = link.split(['#', ')']).next().expect("a split has a first part");
        let text = fs::read_to_string(root().join(page)).expect("the page can be read");
        let command = command.trim_matches('`');
        assert!(commands(&text).iter().any(|line| line.contains(command)), "{page} does not run {command}");
    }
    let marked = "```sh\na\n```\n```sh not-run\nb\n```\n```console\n$ c\n```\nd\n";
    assert_eq!(commands(marked), ["a", "$ c"]);
}

/// Runs a program, which has to succeed.
fn succeeds(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// From an empty folder and the wheel to a tool in a host, which has connected to it. The time is printed: it is the time of
/// the installation into a fresh environment and of the page's commands together.
#[test]
fn the_quick_start_ends_with_a_tool_in_a_host() {
    peers();
    let page = include_str!("../../docs/quick-start.md");
    assert!(page.contains("\npip install protomcp-*manylinux*.whl "), "the first step is an installation");
    let (before, host) = page.split_once("$ pmcp install tools.py").expect("the third step is a host");
    assert!(before.contains("\n## 3. ") && !before.contains("\n## 4. "), "{before}");
    let (to_host, _) = page.split_once("✔ Connected\n").expect("the host connects to the tool");
    let typed: Vec<_> = commands(to_host).into_iter().filter(|line| line.starts_with("$ ")).collect();
    assert_eq!(
        typed,
        [
            "$ pmcp init first",
            "$ pmcp call first/tools.py greet name=Ann",
            "$ pmcp install tools.py --client claude-code",
            "$ claude mcp list",
        ],
        "{host}"
    );
    for command in ["$ pmcp init", "$ pmcp test", "-- pmcp record", "$ pmcp replay", "$ pmcp scenario"] {
        assert!(page.contains(command), "{command}");
    }
    let sandbox = Sandbox::new();
    let package = root().join("scripts/package");
    succeeds(Command::new(package).arg("--to").arg(sandbox.path("")).arg("--binary").arg(pmcp()).arg("wheel"));
    let mut files = fs::read_dir(sandbox.path("")).expect("it is a folder").flatten().map(|entry| entry.path());
    let wheel = files.find(|path| path.extension().is_some_and(|end| end == "whl")).expect("the wheel is built");

    let begun = Instant::now();
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(sandbox.path("env")));
    let options = ["install", "--quiet", "--disable-pip-version-check", "--no-index"];
    succeeds(Command::new(sandbox.path("env/bin/pip")).args(options).arg(wheel));
    let program = sandbox.path("env/bin/pmcp");
    passes("run", &[Path::new("--pmcp"), &program, Path::new("quick-start.md")]);
    println!("the quick start: {:?}", begun.elapsed());
}

/// The compiler sees the blocks of Rust of the pages that the documentation of this package includes.
#[test]
fn each_page_with_rust_is_compiled() {
    let included = include_str!("../src/lib.rs");
    let mut compiled = 0;
    for path in files(&root().join("docs")) {
        // A script puts that page together of examples, which are compiled.
        if path.extension().is_none_or(|end| end != "md") || path.ends_with("docs/side-by-side.md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a page is text");
        if text.lines().any(|line| line.starts_with("```rust")) {
            let name = path.strip_prefix(root()).expect("pages are below the root").display().to_string();
            let include = format!("#[doc = include_str!(\"../../{name}\")]");
            assert!(included.contains(&include), "conformance/src/lib.rs lacks {include}");
            compiled += 1;
        }
    }
    assert_eq!(included.matches("#[doc = include_str!(").count(), compiled, "a page without Rust is included");
}

/// The most bytes of a page that a model reads whole; some 4,000 tokens.
const MODEL_PAGE: usize = 13_000;

/// llmstxt.org: a title, a summary, and sections with links, each with a line about its page.
#[test]
fn llms_txt_names_pages_that_exist() {
    const RAW: &str = "https://raw.githubusercontent.com/protomcp/protomcp/main/docs/";
    let (text, summary) = (include_str!("../../docs/llms.txt"), include_str!("../../docs/SUMMARY.md"));
    assert!(text.starts_with("# protomcp\n\n> ") && text.len() < MODEL_PAGE, "{} bytes", text.len());
    let mut named = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("- ")) {
        let link = line.strip_prefix("- [").and_then(|rest| rest.split_once("](")).expect("a link");
        let (address, about) = link.1.split_once("): ").expect("a line about the page");
        let page = address.strip_prefix(RAW).expect("the Markdown of a page");
        assert!(!about.is_empty() && summary.contains(&format!("[{}]({page})", link.0)), "SUMMARY.md lacks: {line}");
        assert!(root().join("docs").join(page).is_file(), "{page}");
        named.push(page.to_owned());
    }
    assert!(text.matches(RAW).count() == named.len() && named.len() > 10, "{named:?}");
    for entry in fs::read_dir(root().join("docs/llms")).expect("it is a folder") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().expect("it has a name").to_string_lossy();
        let bytes = fs::metadata(&path).expect("it is there").len();
        assert!(named.contains(&format!("llms/{name}")), "llms.txt lacks {name}");
        assert!(bytes < MODEL_PAGE as u64, "{name} has {bytes} bytes");
    }
}

/// Each page about a host says what it supports, and has its rules of `hosts.json`.
#[test]
fn host_pages_repeat_their_tables() {
    let check = Command::new(root().join("scripts/host-pages")).arg("--check").output().expect("the script starts");
    let printed = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success() && printed.ends_with("27 pages: 0 faults\n"), "{printed}");
}

/// The exit status and the output of `scripts/draw`.
fn draw(words: &[&Path]) -> (bool, String) {
    let output = Command::new(root().join("scripts/draw")).args(words).output().expect("the script starts");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn pictures_are_drawn_from_their_sources_and_shown() {
    let (passed, printed) = draw(&[Path::new("--check")]);
    assert!(passed && printed.contains("4 pictures: 0 faults"), "{printed}");
    let files: Vec<_> = fs::read_dir(root().join("docs/concepts")).expect("it is a folder").flatten().collect();
    let of = |kind: &str| {
        files
            .iter()
            .map(fs::DirEntry::path)
            .filter(|path| path.extension().is_some_and(|end| end == kind))
            .collect::<Vec<_>>()
    };
    let pages: String = of("md").iter().map(|page| fs::read_to_string(page).expect("it is text")).collect();
    for picture in of("svg") {
        let name = picture.file_name().expect("it has a name").to_string_lossy();
        let (before, _) = pages.split_once(&format!("]({name})")).unwrap_or_else(|| panic!("no page shows {name}"));
        let (_, instead) = before.rsplit_once("![").expect("it is a picture");
        assert!(instead.len() > 40, "{name} has no text in its place: {instead:?}");
        let text = fs::read_to_string(&picture).expect("it is text");
        for part in ["<title id=", "<desc id=", "prefers-color-scheme: dark"] {
            assert!(text.contains(part), "{name} lacks {part}");
        }
    }
}

#[test]
fn a_picture_that_is_not_its_source_is_found() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("");
    sandbox.write("a.seq", "title A\nabout A asks B.\nactor a A\nactor b B\na > b a question\n");
    assert_eq!(draw(&[&folder]), (true, "1 pictures: 0 faults\n".to_owned()));
    assert!(draw(&[Path::new("--check"), &folder]).0);
    sandbox.write("a.seq", "title A\nabout A asks B.\nactor a A\nactor b B\na > b another question\n");
    sandbox.write("b.seq", "title B\nactor a A\na > c\n");
    sandbox.write("c.svg", "<svg/>");
    let (passed, printed) = draw(&[Path::new("--check"), &folder]);
    assert!(!passed, "{printed}");
    for fault in ["a.svg is not the picture of a.seq", "b.seq: line 3: a > c", "c.svg has no source"] {
        assert!(printed.contains(fault), "{fault}: {printed}");
    }
}

#[test]
fn every_flag_of_the_table_exists() {
    passes("flags", &[&[Path::new("--pmcp"), pmcp()], whole().as_slice()].concat());
}

#[test]
fn a_dead_link_is_found() {
    for (text, fault) in [
        ("# A\n[b](b.md)\n", "there is no b.md"),
        ("# A b\n[c](#a-c) [b](#a-b) `[x](y)`\n", "page.md has no heading #a-c"),
    ] {
        let (_sandbox, folder) = book(text);
        let (passed, printed) = check("links", &[Path::new("--book"), &folder]);
        assert!(!passed && printed.contains(fault) && printed.contains(": 1 faults"), "{printed}");
    }
    let (sandbox, folder) = book("# A\n");
    sandbox.write("other.md", "# B\n");
    let (passed, printed) = check("links", &[Path::new("--whole"), Path::new("--book"), &folder]);
    assert!(!passed && printed.contains("SUMMARY.md lacks other.md"), "{printed}");
}

#[test]
fn a_block_that_does_not_run_is_found() {
    for (text, fault) in [
        ("```sh\nfalse\n```\n", "false: exit status 1"),
        ("```console\n$ echo a b c\na … d\n```\n", "echo a b c prints\na b c"),
        ("```python tools.py\n```\n", "nothing runs tools.py"),
        ("```ruby\n```\n", "a block of ruby is not run"),
        ("```json\n{\n```\n", "page.md:1: "),
        ("```json entry cursor\n{}\n```\n", "--client cursor --dry-run edits ~/.cursor/mcp.json"),
        ("`~/.cursor/mcp.json`\n```json entry cursor\n{}\n```\n", "--client cursor --dry-run adds\n{\n  \"mcp"),
    ] {
        let (_sandbox, folder) = book(text);
        let (passed, printed) = check("run", &[Path::new("--pmcp"), pmcp(), Path::new("--book"), &folder]);
        assert!(!passed && printed.contains(fault), "{text}: {printed}");
    }
    let (_sandbox, folder) = book("```console\n$ echo a b c\na … c\n```\n");
    let (passed, printed) = check("run", &[Path::new("--pmcp"), pmcp(), Path::new("--book"), &folder]);
    assert!(passed, "{printed}");
}

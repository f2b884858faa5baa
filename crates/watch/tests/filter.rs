//! Selected files and directories, as tables of paths.

use std::path::Path;

use protomcp_watch::{Filter, Watch};

#[test]
fn sources_next_to_the_entry_are_wanted() {
    let cases: [(&str, &[&str], &[&str]); 8] = [
        (
            "tools.py",
            &["tools.py", "lib.py", "a/b.py", "LIB.PY"],
            &["lib.pyc", "lib.pyi", "lib.txt", "lib", "py", ".py"],
        ),
        ("tools.ts", &["lib.ts", "lib.tsx", "lib.mts", "lib.cts", "lib.js", "lib.mjs"], &["lib.py", "data.json"]),
        ("tools.JS", &["lib.jsx", "lib.cjs", "lib.ts"], &["lib.json"]),
        ("main.rs", &["lib.rs", "Cargo.toml"], &["Cargo.lock", "lib.js"]),
        ("main.go", &["lib.go"], &["lib.rs", "go.sum"]),
        ("tools.rb", &["lib.rb"], &["lib.py"]),
        ("tools", &["tools"], &["other", "tools.py"]),
        (".tools.py", &[".tools.py", "lib.py"], &[".lib.py"]),
    ];
    for (entry, wanted, unwanted) in cases {
        let filter = Filter::source(&at(entry));
        wanted.iter().for_each(|name| assert!(filter.wants(&at(name)), "{entry}: {name}"));
        unwanted.iter().for_each(|name| assert!(!filter.wants(&at(name)), "{entry}: {name}"));
    }
}

#[test]
fn an_entry_that_is_watched_elsewhere_is_not_wanted() {
    let filter = Filter::next_to(&at("tools.py"));
    assert!(filter.wants(&at("lib.py")) && filter.wants(&at("a/tools.py")));
    assert!(!filter.wants(&at("tools.py")) && !filter.wants(&at("lib.json")));
}

#[test]
fn all_files_are_wanted_but_hidden_ones_and_backups() {
    let filter = Filter::new().all_files();
    for name in ["SKILL.md", "a/b.bin", "Makefile", "x.tmp"] {
        assert!(filter.wants(&at(name)), "{name}");
    }
    for name in [".env", "SKILL.md~", "a/.SKILL.md.swp"] {
        assert!(!filter.wants(&at(name)), "{name}");
    }
}

#[test]
fn by_products_of_editors_are_not_wanted() {
    let filter = Filter::source(&at("tools.py"));
    for name in [
        "4913",
        "tools.py~",
        "tools.py.swp",
        ".tools.py.swp",
        "tools.py.swx",
        ".tools.py",
        ".#tools.py",
        "#tools.py#",
        "tools.py.tmp~",
        "tools.py.tmp",
        "tools.tmp~",
        "tools.py.bak",
        "tools.py___jb_tmp___",
        "tools.py___jb_old___",
        ".goutputstream-X1B2C3",
        "tools.py.tmp.123.456",
        "sedAbC123",
        "tools.cpython-311.pyc",
    ] {
        assert!(!filter.wants(&at(name)), "{name}");
    }
}

#[test]
fn directories_without_sources_are_not_entered() {
    let filter = Filter::source(&at("tools.py"));
    for name in [
        ".git",
        ".venv",
        ".x",
        "a/.cache",
        "node_modules",
        "__pycache__",
        "a/b/target",
        "venv",
        "env/lib/python3.11/site-packages",
    ] {
        assert!(!filter.enters(&at(name)), "{name}");
    }
    for name in ["src", "a/b", "targets", "my_venv", "env", "node_modules_of_mine", "x.py"] {
        assert!(filter.enters(&at(name)), "{name}");
    }
    assert!(filter.enters(Path::new("/")));
}

#[test]
fn files_of_a_virtual_environment_are_installed() {
    let mut filter = Filter::source(&at("tools.py")).always(at("env/named.py"));
    filter.add_environment(&at("env"));
    for (path, wanted) in [("env/a.py", false), ("env/named.py", true), ("a.py", true), ("environment/a.py", true)] {
        assert_eq!(filter.wants(&at(path)), wanted, "{path}");
    }
    for (path, entered) in [("env/lib", false), ("env", true), ("lib", true)] {
        assert_eq!(filter.enters(&at(path)), entered, "{path}");
    }
    filter.remove_environment(&at("env"));
    assert!(filter.wants(&at("env/a.py")) && filter.enters(&at("env/lib")));
}

#[test]
fn a_filter_without_anything_wants_nothing() {
    let filter = Filter::new();
    assert!(!filter.wants(&at("tools.py")));
    assert!(!filter.wants(&at("tools")));
}

#[test]
fn a_gitignore_is_obeyed_as_git_does() {
    check(&[("", "*.gen.py\n")], &[("a.gen.py", false), ("d/a.gen.py", false), ("a.py", true)]);
    check(&[("", "/a.py\n")], &[("a.py", false), ("d/a.py", true)]);
    check(&[("", "a.py\n!a.py\n")], &[("a.py", true)]);
    check(&[("", "# a.py\n\n  \n")], &[("a.py", true)]);
    check(&[("", "d/*.py\n!d/keep.py\n")], &[("d/a.py", false), ("d/keep.py", true), ("a.py", true)]);
    check(&[("", "dir.py/\n")], &[("dir.py", true)]);
    check(&[("", "**/x/a.py\n")], &[("d/x/a.py", false), ("x/a.py", false), ("d/a.py", true)]);
    check(&[("", "[z-a].py\nb.py\n")], &[("a.py", true), ("b.py", false)]);
}

#[test]
fn the_nearest_gitignore_with_an_opinion_decides() {
    let rules: &[(&str, &str)] = &[("", "*.py\n"), ("d", "!keep.py\n"), ("d/e", "keep.py\n")];
    check(
        rules,
        &[("a.py", false), ("keep.py", false), ("d/keep.py", true), ("d/a.py", false), ("d/e/keep.py", false)],
    );
    check(&[("d", "*.py\n")], &[("a.py", true), ("e/a.py", true), ("d/a.py", false), ("d/e/f/a.py", false)]);
}

#[test]
fn an_ignored_directory_is_not_entered() {
    let mut filter = Filter::source(&at("tools.py"));
    filter.set_gitignore(&at(""), "build/\n/out\n");
    for (name, entered) in [("build", false), ("d/build", false), ("out", false), ("d/out", true), ("src", true)] {
        assert_eq!(filter.enters(&at(name)), entered, "{name}");
    }
    filter.set_gitignore(&at(""), "");
    assert!(filter.enters(&at("build")));
}

#[test]
fn a_named_file_is_selected_even_if_ignored() {
    let mut filter = Filter::source(&at("tools.py")).always(at("config/app.yaml"));
    filter.set_gitignore(&at(""), "*\n");
    assert!(filter.wants(&at("tools.py")));
    assert!(filter.wants(&at("config/app.yaml")));
    assert!(!filter.wants(&at("lib.py")));
    assert!(!filter.wants(&at("config/other.yaml")));
}

#[test]
fn a_gitignore_can_be_left_out() {
    let mut filter = Filter::new().extensions(["py", "yaml"]).without_gitignore();
    filter.set_gitignore(&at(""), "*\n");
    assert!(filter.wants(&at("a.py")));
    assert!(filter.wants(&at("a.yaml")));
    assert!(filter.enters(&at("src")));
}

#[test]
fn the_directory_of_the_entry_is_watched() {
    for (entry, root) in [("tools.py", "."), ("a/tools.py", "a"), ("./tools.py", "."), ("/tools.py", "/"), ("..", ".")]
    {
        assert_eq!(Watch::file(entry).root, Path::new(root), "{entry}");
    }
}

#[test]
fn the_defaults_leave_room_for_the_promise() {
    let watch = Watch::file("tools.py");
    assert!(watch.debounce.as_millis() <= 30 && watch.max_delay > watch.debounce);
    assert_eq!(watch.poll, None);
}

fn check(gitignores: &[(&str, &str)], files: &[(&str, bool)]) {
    let mut filter = Filter::new().extensions(["py"]);
    for (directory, text) in gitignores {
        filter.set_gitignore(&at(directory), text);
    }
    for (file, wanted) in files {
        assert_eq!(filter.wants(&at(file)), *wanted, "{file} under {gitignores:?}");
    }
}

fn at(name: &str) -> std::path::PathBuf {
    let root = Path::new("/project");
    if name.is_empty() { root.to_owned() } else { root.join(name) }
}

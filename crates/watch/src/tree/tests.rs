//! The tree with real files, without threads or waiting: each test changes the disk and scans.

use proptest::prelude::*;
use protomcp_testing::Log;
use tempfile::TempDir;

use super::*;
use crate::native::Evidence::{Certain, Hint};

#[cfg(unix)]
mod links;

struct Bench {
    tree: Tree,
    root: PathBuf,
    announced: Vec<PathBuf>,
    _directory: TempDir,
}

impl Bench {
    /// A directory with these files (or, with a slash at the end, directories), scanned once.
    fn new(files: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().canonicalize().expect("it exists");
        for file in files {
            make(&root.join(file), file.ends_with('/'));
        }
        let tree = Tree::new(root.clone(), Filter::source(&root.join("tools.py")));
        let mut bench = Self { tree, root, announced: Vec::new(), _directory: directory };
        bench.scan();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }

    fn scan(&mut self) -> String {
        self.announced.clear();
        let changed = self.tree.scan(&mut |directory| self.announced.push(directory.to_owned()));
        self.names(changed)
    }

    fn refresh(&mut self, name: &str, evidence: Evidence) -> String {
        self.announced.clear();
        let path = self.path(name);
        let changed = self.tree.refresh(&path, evidence, &mut |directory| self.announced.push(directory.to_owned()));
        self.names(changed)
    }

    fn names(&self, mut paths: Vec<PathBuf>) -> String {
        paths.sort();
        let names = paths.iter().map(|path| path.strip_prefix(&self.root).unwrap_or(path).to_str().expect("text"));
        names.collect::<Vec<_>>().join(" ")
    }

    fn announced(&self) -> String {
        self.names(self.announced.clone())
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("writable");
    }
}

fn make(path: &Path, directory: bool) {
    fs::create_dir_all(if directory { path } else { path.parent().expect("below the root") }).expect("writable");
    if !directory {
        fs::write(path, path.to_str().expect("text")).expect("writable");
    }
}

#[test]
fn a_look_names_what_differs_from_the_look_before() {
    let mut bench = Bench::new(&["tools.py", "a/b/m.py", "a/n.py", "a/notes.txt"]);
    assert_eq!(bench.scan(), "");
    bench.write("a/b/m.py", "changed");
    bench.write("a/notes.txt", "changed");
    fs::remove_file(bench.path("a/n.py")).unwrap();
    make(&bench.path("c/new.py"), false);
    assert_eq!(bench.scan(), "a/b/m.py a/n.py c/new.py");
    assert_eq!(bench.scan(), "");
    fs::remove_dir_all(bench.path("a")).unwrap();
    assert_eq!(bench.scan(), "a/b/m.py");
    assert_eq!(bench.scan(), "");
}

#[test]
fn every_entered_directory_is_announced_before_it_is_listed() {
    let mut bench = Bench::new(&["tools.py", "a/b/m.py", "node_modules/x/m.py", ".git/x/"]);
    bench.scan();
    assert_eq!(bench.announced(), " a a/b");
    // A file that appears at the moment of the announcement is found.
    let late = bench.path("a/b/late.py");
    let changed = bench.tree.scan(&mut |directory| {
        if directory.ends_with("b") {
            fs::write(&late, "").expect("writable");
        }
    });
    assert_eq!(changed, [late]);
}

#[test]
fn a_notification_about_one_file_looks_at_that_file() {
    let mut bench = Bench::new(&["tools.py", "m.py", "n.py"]);
    bench.write("m.py", "changed");
    bench.write("n.py", "changed");
    assert_eq!(bench.refresh("m.py", Certain), "m.py");
    // Certain of a change that the check cannot see: written twice within a tick of the clock.
    assert_eq!(bench.refresh("m.py", Certain), "m.py");
    // Uncertain, and the check sees nothing.
    assert_eq!(bench.refresh("m.py", Hint), "");
    assert_eq!(bench.refresh("n.py", Hint), "n.py");
    fs::remove_file(bench.path("m.py")).unwrap();
    assert_eq!(bench.refresh("m.py", Hint), "m.py");
    assert_eq!(bench.refresh("m.py", Certain), "");
    assert_eq!(bench.scan(), "");
    assert_eq!(bench.announced(), "");
}

#[test]
fn a_file_that_came_and_went_is_nothing() {
    let mut bench = Bench::new(&["tools.py"]);
    assert_eq!(bench.refresh("temporary.py", Certain), "");
    assert_eq!(bench.refresh("notes.txt", Certain), "");
    assert_eq!(bench.refresh("no/such/directory/m.py", Certain), "");
    assert_eq!(bench.refresh("../m.py", Certain), "");
}

#[test]
fn a_new_directory_is_entered_if_it_may_be() {
    let mut bench = Bench::new(&["tools.py"]);
    make(&bench.path("a/b/m.py"), false);
    make(&bench.path("__pycache__/m.py"), false);
    assert_eq!(bench.refresh("__pycache__", Certain), "");
    assert_eq!(bench.refresh("a", Certain), "a/b/m.py");
    assert_eq!(bench.announced(), "a a/b");
    // A known directory is scanned again only for a certain change.
    assert_eq!(bench.refresh("a", Hint), "");
    assert!(bench.announced.is_empty());
    // Notifications from places that are not entered are not followed.
    make(&bench.path("__pycache__/deep/m.py"), false);
    assert_eq!(bench.refresh("__pycache__/deep", Certain), "");
    assert_eq!(bench.scan(), "");
}

#[test]
fn a_directory_that_is_gone_takes_its_files_along() {
    let mut bench = Bench::new(&["tools.py", "a/m.py", "a/b/n.py", "ab/o.py", "a.py"]);
    fs::rename(bench.path("a"), bench.path("c")).unwrap();
    assert_eq!(bench.refresh("a", Certain), "a/b/n.py a/m.py");
    assert_eq!(bench.refresh("c", Certain), "c/b/n.py c/m.py");
    assert_eq!(bench.scan(), "");
}

#[test]
fn a_file_and_a_directory_may_take_each_others_place() {
    let mut bench = Bench::new(&["tools.py", "x.py/m.py", "y.py"]);
    fs::remove_dir_all(bench.path("x.py")).unwrap();
    bench.write("x.py", "a file now");
    assert_eq!(bench.refresh("x.py", Certain), "x.py x.py/m.py");
    fs::remove_file(bench.path("y.py")).unwrap();
    make(&bench.path("y.py/m.py"), false);
    assert_eq!(bench.refresh("y.py", Certain), "y.py y.py/m.py");
    assert_eq!(bench.scan(), "");
}

#[test]
fn what_new_rules_hide_has_not_changed() {
    let mut bench = Bench::new(&["tools.py", "gen/m.py", "gen_1.py", "a/gen/m.py"]);
    bench.write(".gitignore", "/gen/\ngen_*\n");
    assert_eq!(bench.refresh(".gitignore", Certain), "");
    bench.write("gen/m.py", "hidden");
    bench.write("gen_1.py", "hidden");
    assert_eq!(bench.refresh("gen_1.py", Certain), "");
    assert_eq!(bench.refresh("gen/m.py", Certain), "");
    assert_eq!(bench.scan(), "");
    bench.write("a/.gitignore", "gen\n");
    assert_eq!(bench.scan(), "");
    bench.write("a/gen/m.py", "hidden");
    assert_eq!(bench.scan(), "");
    fs::remove_file(bench.path("a/.gitignore")).unwrap();
    assert_eq!(bench.refresh("a/.gitignore", Certain), "a/gen/m.py");
}

#[test]
fn rules_of_a_directory_that_is_gone_are_forgotten() {
    let mut bench = Bench::new(&["tools.py", "a/m.py"]);
    bench.write("a/.gitignore", "*\n");
    assert_eq!(bench.scan(), "");
    fs::remove_dir_all(bench.path("a")).unwrap();
    assert_eq!(bench.refresh("a", Certain), "");
    make(&bench.path("a/m.py"), false);
    assert_eq!(bench.refresh("a", Certain), "a/m.py");
}

#[test]
fn a_gitignore_of_any_size_is_read_up_to_a_bound() {
    let mut bench = Bench::new(&["tools.py"]);
    bench.write(".gitignore", &format!("seen.py\n{}\nunseen.py\n", "#".repeat(1 << 20)));
    bench.scan();
    bench.write("seen.py", "");
    bench.write("unseen.py", "");
    assert_eq!(bench.scan(), "unseen.py");
}

#[test]
fn a_binary_gitignore_does_no_harm() {
    let mut bench = Bench::new(&["tools.py"]);
    fs::write(bench.path(".gitignore"), b"\xff\xfe\x00\ngen.py\n").unwrap();
    bench.write("gen.py", "");
    bench.write("m.py", "");
    assert_eq!(bench.scan(), "m.py");
}

#[test]
fn no_more_directories_are_entered_than_the_bound() {
    let mut bench = Bench::new(&["tools.py"]);
    bench.tree.bounds.directories = 3;
    for name in ["a/m.py", "b/m.py", "a/deep/m.py", "b/deep/m.py"] {
        make(&bench.path(name), false);
    }
    assert_eq!(bench.scan(), "a/m.py b/m.py");
    assert_eq!(bench.announced(), " a b");
    assert!(bench.tree.complained);
    assert_eq!(bench.scan(), "");
    fs::remove_dir_all(bench.path("a")).unwrap();
    assert_eq!(bench.refresh("a", Certain), "a/m.py");
    assert_eq!(bench.scan(), "b/deep/m.py");
}

#[test]
fn a_directory_that_cannot_be_listed_is_named_once() {
    let log = Log::capture();
    let mut bench = Bench::new(&["tools.py", "a/", "b/", "c/"]);
    // Root can read every directory: these are files at the moment of their announcement.
    let fail = |bench: &mut Bench, names: &[&str]| {
        let denied: Vec<_> = names.iter().map(|name| bench.path(name)).collect();
        bench.tree.scan(&mut |directory| {
            if denied.iter().any(|denied| denied == directory) {
                fs::remove_dir(directory).expect("it is empty");
                fs::write(directory, "").expect("writable");
            }
        });
        for path in denied {
            fs::remove_file(&path).expect("it was announced");
            fs::create_dir(&path).expect("writable");
        }
        log.text().matches("cannot watch this directory").count()
    };
    assert_eq!([fail(&mut bench, &["a"]), fail(&mut bench, &["a"])], [1, 1]);
    bench.scan();
    assert_eq!([fail(&mut bench, &["a"]), fail(&mut bench, &["a"])], [2, 2], "it was readable in between");
    fs::remove_dir(bench.path("a")).unwrap();
    bench.scan();
    make(&bench.path("a"), true);
    assert_eq!(fail(&mut bench, &["a"]), 3, "another directory of that name");
    bench.scan();
    bench.tree.bounds.directories = 2;
    assert_eq!(fail(&mut bench, &["a", "b", "c"]), 5);
    assert_eq!(bench.tree.unreadable.len(), 2);
}

#[test]
fn no_more_files_are_remembered_than_the_bound() {
    let mut bench = Bench::new(&["tools.py", "a.py"]);
    bench.tree.bounds.files = 2;
    bench.write("z.py", "1");
    // A notification needs no memory.
    assert_eq!(bench.refresh("z.py", Certain), "z.py");
    assert_eq!(bench.tree.files, 2);
    // A second scan does not report the same changes again.
    for _ in 0..3 {
        bench.scan();
    }
    assert_eq!(bench.scan(), "");
    assert_eq!(bench.tree.files, 2);
    assert!(bench.tree.complained);
}

#[cfg(unix)]
#[test]
fn links_to_directories_are_not_followed() {
    let mut bench = Bench::new(&["tools.py"]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("m.py"), "").unwrap();
    std::os::unix::fs::symlink(outside.path(), bench.path("link")).unwrap();
    std::os::unix::fs::symlink("..", bench.path("up")).unwrap();
    assert_eq!(bench.refresh("link", Certain), "");
    assert_eq!(bench.scan(), "");
    assert_eq!(bench.announced(), "");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_in_a_circle_ends() {
    let mut bench = Bench::new(&["a.py"]);
    std::os::unix::fs::symlink("tools.py", bench.path("other.py")).unwrap();
    std::os::unix::fs::symlink("other.py", bench.path("tools.py")).unwrap();
    assert_eq!(bench.scan(), "");
    fs::remove_file(bench.path("other.py")).unwrap();
    bench.write("other.py", "an end");
    assert_eq!(bench.scan(), "other.py tools.py");
}

#[cfg(unix)]
#[test]
fn each_scan_announces_the_directories_of_link_targets() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().canonicalize().unwrap().join("real.py");
    fs::write(&target, "").unwrap();
    let mut bench = Bench::new(&["a.py"]);
    std::os::unix::fs::symlink(&target, bench.path("tools.py")).unwrap();
    assert_eq!(bench.refresh("tools.py", Certain), "tools.py");
    assert_eq!(bench.announced, [target.parent().unwrap()]);
    fs::write(&target, "changed").unwrap();
    let named = target.to_str().unwrap().to_owned();
    assert_eq!(bench.refresh(&named, Hint), named);
    assert!(bench.announced.is_empty());
    assert_eq!(bench.refresh(&named, Certain), named);
    fs::remove_file(&target).unwrap();
    assert_eq!(bench.refresh(&named, Certain), named);
    assert_eq!(bench.refresh(&named, Certain), "");
    bench.scan();
    assert!(bench.announced.contains(&target.parent().unwrap().to_owned()));
}

#[derive(Debug, Clone)]
enum Act {
    Write(&'static str),
    Remove(&'static str),
    Rename(&'static str, &'static str),
    Rules(&'static str),
}

fn act() -> impl Strategy<Value = Act> {
    let place = proptest::sample::select(vec!["a", "b", "a/c", "b/c", "a/c/d"]);
    let file = proptest::sample::select(vec!["a/m.py", "a/c/m.py", "b/m.py", "b/c/m.py", "a/c/d/m.py", "tools.py"]);
    let rules = proptest::sample::select(vec!["a/.gitignore", ".gitignore"]);
    prop_oneof![
        4 => file.clone().prop_map(Act::Write),
        1 => prop_oneof![place.clone(), file].prop_map(Act::Remove),
        2 => (place.clone(), place).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => rules.prop_map(Act::Rules),
    ]
}

#[test]
fn a_virtual_environment_is_out_of_sight_from_its_mark_on() {
    let mut bench = Bench::new(&["tools.py", "env/pyvenv.cfg", "env/bin/activate_this.py", "env/x.py"]);
    assert_eq!(bench.announced(), " env", "the mark itself is watched");
    bench.write("env/x.py", "changed");
    bench.write("env/bin/activate_this.py", "changed");
    assert_eq!(bench.refresh("env/x.py", Certain), "");
    assert_eq!(bench.scan(), "");
    // A virtual environment that appears while its files arrive.
    make(&bench.path("other/lib/a.py"), false);
    assert_eq!(bench.refresh("other", Certain), "other/lib/a.py");
    assert!(!bench.tree.is_installed(&bench.path("other/lib/a.py")));
    bench.write("other/pyvenv.cfg", "");
    assert!(bench.tree.is_installed(&bench.path("other/lib/a.py")), "before the mark's own notification");
    assert!(!bench.tree.is_installed(&bench.path("tools.py")));
    assert_eq!(bench.refresh("other/pyvenv.cfg", Certain), "");
    make(&bench.path("other/lib/b.py"), false);
    make(&bench.path("other/bin/c.py"), false);
    for path in ["other/lib/a.py", "other/lib/b.py", "other/bin", "other/bin/c.py"] {
        assert_eq!(bench.refresh(path, Certain), "", "{path}");
    }
    assert_eq!(bench.scan(), "");
    // A complete one, by a rename or by a scan.
    make(&bench.path("third/pyvenv.cfg"), false);
    make(&bench.path("third/lib/a.py"), false);
    assert_eq!(bench.refresh("third", Certain), "");
    // Without its mark it is an ordinary directory.
    fs::remove_file(bench.path("other/pyvenv.cfg")).unwrap();
    assert_eq!(bench.refresh("other/pyvenv.cfg", Certain), "other/bin/c.py other/lib/a.py other/lib/b.py");
    fs::remove_dir_all(bench.path("env")).unwrap();
    assert_eq!(bench.refresh("env", Certain), "");
    make(&bench.path("env/x.py"), false);
    assert_eq!(bench.refresh("env", Certain), "env/x.py", "another directory of that name");
}

#[test]
fn a_root_that_is_a_virtual_environment_is_watched() {
    let mut bench = Bench::new(&["tools.py", "pyvenv.cfg"]);
    bench.write("lib.py", "");
    assert_eq!(bench.scan(), "lib.py");
    assert!(!bench.tree.is_installed(&bench.path("lib.py")));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    /// Following notifications leads to the same state as a full scan.
    #[test]
    fn following_notifications_keeps_step_with_the_disk(acts in proptest::collection::vec(act(), 1..25)) {
        let mut bench = Bench::new(&["tools.py"]);
        for (step, act) in acts.iter().enumerate() {
            // The notifications of the system: each new directory on the way, then the path itself.
            match act {
                Act::Write(name) => {
                    let made = Path::new(name).ancestors().skip(1).collect::<Vec<_>>();
                    let made = made.into_iter().rev().filter(|path| !bench.root.join(path).exists());
                    let made = made.map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>();
                    make(&bench.path(name), false);
                    bench.write(name, &"x".repeat(step));
                    made.iter().for_each(|path| drop(bench.refresh(path, Certain)));
                    bench.refresh(name, Certain);
                }
                Act::Remove(name) => {
                    let path = bench.path(name);
                    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).ok(); }
                    bench.refresh(name, Certain);
                }
                Act::Rename(from, to) => {
                    if fs::rename(bench.path(from), bench.path(to)).is_ok() {
                        bench.refresh(from, Certain);
                        bench.refresh(to, Certain);
                    }
                }
                Act::Rules(name) => {
                    if bench.path(name).parent().unwrap().is_dir() {
                        bench.write(name, ["c/\n", "m.py\n", "", "!m.py\n"][step % 4]);
                        bench.refresh(name, Certain);
                    }
                }
            }
            prop_assert_eq!(bench.scan(), "", "after {:?}", act);
            let known = bench.tree.directories.values().map(|directory| directory.files.len()).sum::<usize>();
            prop_assert_eq!(known, bench.tree.files);
        }
    }
}

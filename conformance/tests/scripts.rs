//! The scripts that choose tests: `scripts/affected` in a new repository, and the filters of `scripts/run-tests`.

use std::fs;
use std::process::{Command, Output};

use protomcp_conformance::{Sandbox, root};

/// A repository with the script, a package, and the topics of `conformance/tests` as empty files.
struct Repository(Sandbox);

impl Repository {
    fn new() -> Self {
        let repository = Self(Sandbox::new());
        let script = fs::read_to_string(root().join("scripts/affected")).expect("the script is there");
        repository.write("scripts/affected", &script);
        for file in fs::read_dir(root().join("conformance/tests")).expect("it is a folder").flatten() {
            if file.path().is_file() {
                repository.write(&format!("conformance/tests/{}", file.file_name().to_string_lossy()), "");
            }
        }
        repository.write("crates/types/Cargo.toml", "");
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.commit();
        repository
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path(name);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
    }

    fn git(&self, words: &[&str]) {
        let mut git = Command::new("git");
        for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")] {
            git.env(name, value);
        }
        let ended = git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).current_dir(self.0.path(""));
        assert!(ended.status().expect("git starts").success(), "{words:?}");
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "a"]);
    }

    fn affected(&self, base: &[&str]) -> Output {
        let script = self.0.path("scripts/affected");
        Command::new("python3").arg(script).args(base).output().expect("Python starts")
    }

    /// The tests that the difference to `main` reaches, without those that always run.
    fn reached(&self) -> Vec<String> {
        let output = self.affected(&[]);
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        let (always, others): (Vec<_>, Vec<_>) =
            printed.trim().split(" + ").map(str::to_owned).partition(|test| {
                ["architecture", "bounds", "items", "book"].into_iter().any(|name| *test == topic(name))
            });
        assert_eq!(always.len(), 4, "{printed}");
        others
    }
}

fn topic(name: &str) -> String {
    format!("(package(=protomcp-conformance) & test(/^{name}::/))")
}

#[test]
fn a_difference_reaches_its_packages_readers_and_topics() {
    let end_to_end = ["basics", "calls", "http", "resources", "sessions"].map(topic);
    let dependents = "(rdeps(=protomcp-types) - package(=protomcp-conformance))".to_owned();
    for (file, reached) in [
        ("crates/types/src/lib.rs", [&end_to_end[..], &[dependents]].concat()),
        ("cli/src/main.rs", [&end_to_end[..], &["package(=protomcp-cli)".to_owned()]].concat()),
        ("conformance/tests/calls.rs", vec![topic("calls")]),
        ("conformance/tests/cuts/table.rs", vec![topic("cuts")]),
        ("conformance/tests/neighbours/floods.rs", vec!["binary(=neighbours)".into()]),
        ("conformance/src/host.rs", vec!["package(=protomcp-conformance)".into()]),
        ("docs/gateway.md", vec![topic("guide"), topic("help")]),
        ("scripts/run-tests", vec![topic("scripts")]),
        ("README.md", vec!["package(=protomcp-benches)".into()]),
        ("Cargo.lock", vec!["all()".into()]),
        // There is no such package, or no reader.
        ("crates/gone/src/lib.rs", vec![]),
        ("SECURITY.md", vec![]),
    ] {
        let repository = Repository::new();
        repository.write(file, "changed");
        assert_eq!(repository.reached(), reached, "{file}");
        // On a branch the difference includes its commits, too.
        repository.git(&["checkout", "--quiet", "-b", "work"]);
        repository.commit();
        assert_eq!(repository.reached(), reached, "{file}");
    }
}

#[test]
fn no_difference_and_no_base_are_told_apart() {
    let repository = Repository::new();
    let nothing = repository.affected(&[]);
    assert_eq!((nothing.status.code(), nothing.stdout.is_empty()), (Some(3), true), "{nothing:?}");
    let unknown = repository.affected(&["nowhere"]);
    assert_eq!(unknown.status.code(), Some(1), "{unknown:?}");
    let why = String::from_utf8_lossy(&unknown.stderr);
    assert!(why.contains("please name a commit to compare with"), "{why}");
}

/// A build takes minutes, so an expression that cargo-nextest cannot read is refused before.
#[test]
fn a_wrong_filter_is_refused_before_the_build() {
    for (filter, why) in [("test(/(/)", "unclosed group"), ("package(=nowhere)", "no packages matched")] {
        let output = Command::new(root().join("scripts/run-tests")).arg(filter).output().expect("the script starts");
        let (printed, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success() && !printed.contains("built in") && error.contains(why), "{output:?}");
    }
}

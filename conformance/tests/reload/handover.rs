//! State that goes from one version of a tool file to the next, in each language.

use protomcp_conformance::{Host, Sandbox, eventually, sdk_example};
use serde_json::json;

use crate::rust_sdk::rebuild;

const SAVES: usize = 20;

/// The most bytes of a state.
const STATE_MAX: usize = 1 << 20;

const PYTHON: &str = "
from protomcp import hand_over, take_over, tool
visits = []

@hand_over
def state():
    return visits

@take_over
def resume(before: list[str]):
    visits.extend(before)

@tool('Counts a visit.')
def visit(name: str) -> int:
    visits.append(name)
    return len(visits)
";

const JAVASCRIPT: &str = r#"
import { handOver, tool } from "protomcp";
let visits = [];
handOver(() => visits, (before) => (visits = before));
tool({ name: "visit", input: { type: "object" }, handler: ({ name }) => String(visits.push(name)) });
"#;

fn visit(host: &Host) -> usize {
    host.text("visit", &json!({"name": "Ann"})).parse().expect("a number")
}

/// Saves again and again; each version goes on counting.
fn counts_on(host: &Host, save: impl Fn(usize)) {
    host.initialize();
    assert_eq!(visit(host), 1);
    for version in 1..=SAVES {
        let place = host.now();
        save(version);
        host.list_changed(place);
        assert_eq!(visit(host), version + 1);
    }
    let taken_over = || host.stderr().matches("has taken over the state").count();
    eventually("the last line of the log", || (taken_over() >= SAVES).then_some(()));
    assert_eq!(taken_over(), SAVES, "{}", host.stderr());
}

fn a_script_counts_on(file: &str, text: &str, comment: &str) {
    let sandbox = Sandbox::new();
    sandbox.write(file, text);
    let host = sandbox.pmcp(&["dev", file, "--sdk", "bundled"]).start();
    counts_on(&host, |version| {
        sandbox.write(file, format!("{text}{comment} version {version}\n"));
    });
}

#[test]
fn a_counter_in_python_survives_twenty_saves() {
    a_script_counts_on("visits.py", PYTHON, "#");
}

#[test]
fn a_counter_in_javascript_survives_twenty_saves() {
    a_script_counts_on("visits.mjs", JAVASCRIPT, "//");
}

#[test]
fn a_counter_in_rust_survives_twenty_saves() {
    let (sandbox, built) = (Sandbox::new(), sdk_example("visits"));
    rebuild(&sandbox, &built, 0);
    let host = sandbox.pmcp(&["dev", "./visits"]).start();
    counts_on(&host, |version| rebuild(&sandbox, &built, version));
}

#[test]
fn the_log_names_the_worker_that_has_taken_a_state_over() {
    let sandbox = Sandbox::new();
    sandbox.write("visits.py", PYTHON);
    let host = sandbox.pmcp(&["dev", "visits.py", "--sdk", "bundled", "--workers", "2"]).start();
    host.initialize();
    host.stderr_with("serving");
    sandbox.write("visits.py", format!("{PYTHON}# saved\n"));
    for worker in ["worker 1", "worker 2"] {
        host.stderr_with(&format!("{worker}: the new version has taken over the state of the version before"));
    }
}

#[test]
fn the_largest_state_is_taken_over_and_no_larger_one() {
    // A text in JSON has two quotes.
    for (length, logged) in [
        (STATE_MAX - 2, "has taken over the state of the version before (1048576 bytes)"),
        (STATE_MAX - 1, "starts without the state of the version before"),
    ] {
        let sandbox = Sandbox::new();
        let text = format!(
            "from protomcp import hand_over, take_over, tool\nlengths = []\nhand_over(lambda: 'x' * {length})\n\
             @take_over\ndef resume(before: str):\n    lengths.append(len(before))\n\n\
             @tool('The lengths of the states.')\ndef taken() -> str:\n    return str(lengths)\n"
        );
        sandbox.write("state.py", &text);
        let host = sandbox.pmcp(&["dev", "state.py", "--sdk", "bundled"]).start();
        host.initialize();
        assert_eq!(host.text("taken", &json!({})), "[]", "{length}");
        let place = host.now();
        sandbox.write("state.py", format!("{text}# saved\n"));
        host.list_changed(place);
        let expected = if logged.contains("without") { "[]".to_owned() } else { format!("[{length}]") };
        assert_eq!(host.text("taken", &json!({})), expected, "{length}");
        host.stderr_with(logged);
    }
}

/// The state is there before the list of tools is requested.
#[test]
fn tools_may_depend_on_the_state() {
    let sandbox = Sandbox::new();
    let text = "from protomcp import hand_over, take_over, tool\nhand_over(lambda: 'later')\n\
                @take_over\ndef resume(name: str):\n    tool('Registered with the state.', name=name)(lambda: 'here')\n\n\
                @tool('Always here.')\ndef always() -> str:\n    return 'here'\n";
    sandbox.write("tools.py", text);
    let host = sandbox.pmcp(&["dev", "tools.py", "--sdk", "bundled"]).start();
    host.initialize();
    assert_eq!(host.text("always", &json!({})), "here");
    let place = host.now();
    sandbox.write("tools.py", format!("{text}# saved\n"));
    host.list_changed(place);
    assert_eq!(host.text("later", &json!({})), "here");
}

/// A function that ended later would overwrite what calls have changed since.
#[test]
fn a_version_that_takes_too_long_leaves_the_state_where_it_is() {
    let slow_python = PYTHON.replace("    visits.extend(before)", "    import time\n    time.sleep(600)");
    let slow_javascript = JAVASCRIPT.replace("(before) => (visits = before)", "() => new Promise(() => {})");
    for (file, text, slow, comment) in
        [("visits.py", PYTHON, slow_python, "#"), ("visits.mjs", JAVASCRIPT, slow_javascript, "//")]
    {
        assert_ne!(slow, text);
        let sandbox = Sandbox::new();
        sandbox.write(file, text);
        let host = sandbox.pmcp(&["dev", file, "--sdk", "bundled"]).start();
        host.initialize();
        assert_eq!((visit(&host), visit(&host)), (1, 2));
        sandbox.write(file, slow);
        host.stderr_with("did not end within 5s");
        assert_eq!(visit(&host), 3, "{file}");
        let place = host.now();
        sandbox.write(file, format!("{text}{comment} mended\n"));
        host.list_changed(place);
        assert_eq!(visit(&host), 4, "{file}");
    }
}

/// The state of a version whose type does not fit is left out, and the log says why.
#[test]
fn a_version_that_cannot_read_the_state_starts_empty() {
    let sandbox = Sandbox::new();
    sandbox.write("visits.py", PYTHON);
    let host = sandbox.pmcp(&["dev", "visits.py", "--sdk", "bundled"]).start();
    host.initialize();
    assert_eq!((visit(&host), visit(&host)), (1, 2));
    let place = host.now();
    sandbox.write("visits.py", PYTHON.replace("list[str]", "dict[str, int]"));
    host.list_changed(place);
    assert_eq!(visit(&host), 1);
    let stderr = host.stderr_with("has not taken over the state of the version before");
    assert!(stderr.contains("the state does not fit"), "{stderr}");
}

/// A version whose functions are gone starts empty, and the log says so; one that ends over the state is not used.
#[test]
fn a_version_that_does_not_take_the_state_over_is_told_of() {
    let sandbox = Sandbox::new();
    sandbox.write("visits.py", PYTHON);
    let host = sandbox.pmcp(&["dev", "visits.py", "--sdk", "bundled"]).start();
    host.initialize();
    assert_eq!(visit(&host), 1);
    sandbox.write("visits.py", PYTHON.replace("    visits.extend(before)", "    import os\n    os._exit(3)"));
    host.stderr_with("exited with status 3 while it took over the state of the version before");
    assert_eq!(visit(&host), 2);
    let place = host.now();
    sandbox.write("visits.py", PYTHON.replace("@hand_over", "").replace("@take_over", ""));
    host.list_changed(place);
    assert_eq!(visit(&host), 1);
    host.stderr_with("the new version has no function that takes over the state of the version before");
}

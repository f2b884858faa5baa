//! Runs the examples, each with the official Python client as its host.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{fs, iter};

use protomcp_conformance::{Sandbox, eventually, living, peers, pmcp, sdk_example};
use serde_json::{Value, json};

/// The results of the steps, and the output on stderr.
struct Visit {
    given: Vec<Value>,
    stderr: String,
}

/// Runs the script in both languages that have the example; `to_check` gets the same in each.
fn both(python: &str, rust: &str, script: &Value, check: impl Fn(&Visit, &str)) {
    check(&visit(Language::Python, python, script), "Python");
    check(&visit(Language::Rust, rust, script), "Rust");
}

#[derive(Clone, Copy)]
enum Language {
    Python,
    /// On the published SDK.
    Rust,
    /// On the SDK of this workspace.
    OwnRust,
}

fn visit(language: Language, example: &str, script: &Value) -> Visit {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the workspace");
    let file = match language {
        Language::Python => root.join("conformance/published/python").join(example),
        Language::Rust => peers().join("rs-target/debug").join(example),
        Language::OwnRust => sdk_example(example),
    };
    let sandbox = Sandbox::new();
    let launch = sandbox.pmcp(&[]).command();
    let variables =
        launch.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.display(), value?.display())));
    // The SDK writes the numbers of sidecars below the home directory.
    let home = format!("HOME={}", sandbox.path("").display());
    let command: Vec<String> = iter::once("env".to_owned())
        .chain(variables)
        .chain([home, "NOTES_USER=ann".into(), pmcp().display().to_string(), "run".into(), file.display().to_string()])
        .collect();
    let stderr = sandbox.path("stderr");
    let cwd = launch.get_current_dir().expect("a launch has a working directory");
    let wish = json!({"id": example, "script": script, "command": command, "env": null, "cwd": cwd, "stderr": stderr});
    let mut answer = HOST.with_borrow_mut(|host| host.get_or_insert_with(VisitingHost::start).ask(&wish));
    let stderr = fs::read_to_string(stderr).expect("the server has written its log");
    let Value::Array(given) = answer["given"].take() else { panic!("{example}: {}\n{stderr}", answer["error"]) };
    eventually("everything to be gone", || living(sandbox.marker()).is_empty().then_some(()));
    assert_eq!(given.len(), script.as_array().expect("an array").len());
    Visit { given, stderr }
}

thread_local! {
    /// The host of this test, for all of its visits: it takes longer to start than a visit.
    static HOST: RefCell<Option<VisitingHost>> = const { RefCell::new(None) };
}

/// The official Python client, which visits one server after the other.
struct VisitingHost {
    child: Child,
    wishes: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl VisitingHost {
    fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/script.py");
        let mut host = Command::new(peers().join("mcp/bin/python"));
        host.arg(script).arg("--visits").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = host.spawn().expect("the host starts");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { wishes: child.stdin.take(), answers, child }
    }

    fn ask(&mut self, wish: &Value) -> Value {
        let wishes = self.wishes.as_mut().expect("it is open until the end");
        writeln!(wishes, "{wish}").expect("the host reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the host answers");
        serde_json::from_str(&answer).expect("an answer is JSON")
    }
}

impl Drop for VisitingHost {
    fn drop(&mut self) {
        self.wishes = None;
        drop(self.child.wait());
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

fn is_refused(result: &Value, code: &str) -> bool {
    result["isError"] == true && result["_meta"]["protomcp/error"]["error_code"] == code
}

#[test]
fn every_example_runs_in_a_test() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let source = |name: &str| fs::read_to_string(tests.join(name)).expect("the tests are there");
    let here = ["gallery.rs", "rust_sdk.rs", "apps.rs", "deployment.rs", "skills.rs"].map(source).concat();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the workspace");
    for (folder, quote) in [
        ("conformance/published/python", ""),
        ("conformance/published/rust/src/bin", "\""),
        ("crates/sdk/examples", "\""),
    ] {
        let entries = fs::read_dir(root.join(folder)).expect("the examples are there");
        let paths: Vec<_> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
        assert!(paths.len() > 5, "{folder}: {paths:?}");
        for path in paths {
            let name = if quote.is_empty() { path.file_name() } else { path.file_stem() };
            let name = name.expect("an entry has a name").to_string_lossy().into_owned();
            if !["__pycache__", "skills"].contains(&&*name) {
                assert!(here.contains(&format!("\"{name}{quote}")), "no test runs {}", path.display());
            }
        }
    }
}

/// One host visits all of these: it takes longer to start than a visit.
#[test]
fn each_example_does_what_it_shows() {
    the_first_tools_are_called_and_report_progress();
    groups_check_their_rules_before_the_handler_runs();
    groups_of_our_own_check_the_arguments_of_the_action();
    a_workflow_shows_one_step_after_the_other();
    a_workflow_follows_its_errors();
    a_workflow_of_our_own_refuses_steps_out_of_order();
    server_context_fills_arguments_in();
    local_middleware_wraps_handlers();
    telemetry_goes_to_the_log();
    a_sidecar_serves_its_tools_and_goes_with_them();
    tools_are_found_in_a_folder();
    hidden_tools_come_and_go_with_results();
    a_layer_calls_again_when_it_may();
    structured_content_comes_with_the_text();
    a_user_is_sent_to_a_page();
}

fn the_first_tools_are_called_and_report_progress() {
    let script = json!([
        {"tools": true},
        {"call": "add", "with": {"a": 2, "b": 3}},
        {"call": "greet", "with": {"name": "Ann"}},
        {"count": "count", "with": {"to": 3}},
    ]);
    for (language, example) in [(Language::Python, "tools.py"), (Language::OwnRust, "tools")] {
        let visit = visit(language, example, &script);
        let [tools, sum, greeting, counted] = visit.given.as_slice() else { panic!("four steps") };
        assert_eq!(*tools, json!(["add", "count", "greet"]));
        assert_eq!((text(sum), text(greeting)), ("5", "Hello, Ann!"));
        assert_eq!(text(&counted["result"]), "counted to 3");
        assert_eq!(counted["progress"].as_array().map(Vec::len), Some(3), "{counted}");
    }
}

fn a_user_is_sent_to_a_page() {
    let visit = visit(Language::OwnRust, "sign_in", &json!([{"call": "connect", "with": {"account": "ann"}}]));
    assert_eq!(text(&visit.given[0]), "connected ann");
}

fn groups_check_their_rules_before_the_handler_runs() {
    let script = json!([
        {"tools": true},
        {"call": "notes", "with": {"action": "write", "title": "a", "text": "hi", "color": "gren"}},
        {"call": "notes", "with": {"action": "write", "title": "a", "text": "hi", "color": "green"}},
        {"call": "notes", "with": {"action": "read", "title": "a"}},
        {"call": "notes", "with": {"action": "reed", "title": "a"}},
        {"call": "shapes.square", "with": {"side": 3}},
    ]);
    both("groups.py", "groups", &script, |visit, who| {
        let [tools, misspelt, kept, read, unknown, square] = visit.given.as_slice() else { panic!("six steps") };
        assert!(tools.as_array().is_some_and(|names| names.contains(&json!("notes"))), "{who}: {tools}");
        assert!(is_refused(misspelt, "INVALID_ENUM"), "{who}: {misspelt}");
        assert!(misspelt.to_string().contains("Did you mean 'green'?"), "{who}: {misspelt}");
        assert!(text(kept).starts_with("kept a"), "{who}");
        assert!(text(read).starts_with("hi"), "{who}: {read}");
        assert!(is_refused(unknown, "UNKNOWN_ACTION"), "{who}: {unknown}");
        assert_eq!(text(square), "9.00", "{who}");
    });
}

fn groups_of_our_own_check_the_arguments_of_the_action() {
    let script = json!([
        {"tools": true},
        {"call": "notes", "with": {"action": "write", "title": "a", "text": "hi", "color": "gren"}},
        {"call": "notes", "with": {"action": "write", "title": "a", "text": "hi", "color": "green"}},
        {"call": "notes", "with": {"action": "read", "title": "a"}},
        {"call": "notes", "with": {"action": "reed", "title": "a"}},
        {"call": "notes", "with": {"action": "read", "title": "a", "text": "hi"}},
        {"call": "shapes_square", "with": {"side": 3}},
    ]);
    let visit = visit(Language::OwnRust, "groups", &script);
    let [tools, misspelt, kept, read, unknown, foreign, square] = visit.given.as_slice() else { panic!("seven steps") };
    assert_eq!(*tools, json!(["notes", "shapes_circle", "shapes_square"]));
    for (refused, why) in
        [(misspelt, "green"), (unknown, "did you mean \"read\"?"), (foreign, "unknown argument \"text\"")]
    {
        assert!(is_refused(refused, "INVALID_ARGUMENTS") && text(refused).contains(why), "{refused}");
    }
    assert_eq!((text(kept), text(read), text(square)), ("kept a in Green", "hi", "9.00"));
}

fn a_workflow_shows_one_step_after_the_other() {
    let script = json!([
        {"tools": true},
        {"call": "release.test"},
        {"call": "release.choose", "with": {"version": "1.2"}},
        {"until": ["release.cancel", "release.test", "status"]},
        {"call": "wipe"},
        {"call": "status"},
        {"call": "release.test"},
        {"until": ["release.publish", "status"]},
        {"call": "release.publish"},
        {"until": ["status", "wipe"]},
    ]);
    both("workflow.py", "workflow", &script, |visit, who| {
        let given = &visit.given;
        assert_eq!(given[0], json!(["release.choose", "status", "wipe"]), "{who}");
        assert_eq!(given[1]["error"], -32602, "{who}: not its turn");
        assert_eq!(text(&given[2]), "releasing 1.2", "{who}");
        assert_eq!(given[4]["error"], -32602, "{who}: not during the release");
        assert_eq!(text(&given[5]), "green", "{who}");
        assert_eq!(text(&given[6]), "tests pass", "{who}");
        assert!(text(&given[8]).ends_with("is out"), "{who}");
    });
}

fn a_workflow_follows_its_errors() {
    let script = json!([
        {"call": "release.choose", "with": {"version": "1.2"}},
        {"call": "release.test", "with": {"passed": false}},
        {"until": ["release.cancel", "release.fix", "status"]},
        {"call": "release.cancel"},
        {"until": ["status", "wipe"]},
    ]);
    let visit = visit(Language::Python, "workflow.py", &script);
    assert!(text(&visit.given[1]).contains("transitioning to 'fix'"), "{}", visit.given[1]);
}

fn a_workflow_of_our_own_refuses_steps_out_of_order() {
    let script = json!([
        {"call": "release_test"},
        {"call": "release_choose", "with": {"version": "1.2"}},
        {"call": "release_publish"},
        {"call": "release_test", "with": {"passed": false}},
        {"call": "release_fix"},
        {"call": "release_test"},
        {"call": "release_publish"},
        {"call": "status"},
        {"tools": true},
    ]);
    let given = visit(Language::OwnRust, "workflow", &script).given;
    assert!(is_refused(&given[0], "NO_RUN"), "{}", given[0]);
    assert!(is_refused(&given[2], "WRONG_STEP"), "{}", given[2]);
    assert!(text(&given[2]).contains("next: release_test"), "{}", given[2]);
    assert_eq!((text(&given[3]), text(&given[4]), text(&given[5])), ("two tests fail", "mended", "tests pass"));
    assert_eq!((text(&given[6]), text(&given[7])), ("it is out", "green"));
    assert_eq!(given[8].as_array().map(Vec::len), Some(6), "the list stays: {}", given[8]);
}

fn server_context_fills_arguments_in() {
    let script = json!([{"call": "whoami"}, {"call": "whoami", "with": {"workspace": "attic"}}]);
    let check = |visit: &Visit, who: &str| {
        assert_eq!(text(&visit.given[0]), "ann in home", "{who}");
        assert_eq!(text(&visit.given[1]), "ann in attic", "{who}");
    };
    both("server_context.py", "server_context", &script, check);
    check(&visit(Language::OwnRust, "server_context", &script), "own Rust");
}

fn local_middleware_wraps_handlers() {
    let visit_python = visit(
        Language::Python,
        "local_middleware.py",
        &json!([{"call": "weather", "with": {"city": "ulm"}}, {"call": "weather", "with": {"city": "bonn"}}]),
    );
    assert_eq!(text(&visit_python.given[0]), "mild, at attempt 2", "the first attempt was repeated");
    assert!(is_refused(&visit_python.given[1], "NOT_FOUND"), "{}", visit_python.given[1]);
    let visit_rust = visit(
        Language::Rust,
        "local_middleware",
        &json!([{"call": "weather", "with": {"city": "ULM"}}, {"call": "weather", "with": {"city": "bonn"}}]),
    );
    assert_eq!(text(&visit_rust.given[0]), "mild", "the name was changed to small letters");
    assert_eq!(
        visit_rust.given[1]["_meta"]["protomcp/error"]["suggestion"], "Look into the manual of weather.",
        "{}",
        visit_rust.given[1]
    );
}

/// Items 78, 79, 81.
#[test]
fn middleware_of_each_sdk_runs_around_calls() {
    let script = json!([{"call": "pay", "with": {"amount": 5}}, {"call": "pay", "with": {"amount": 500}}]);
    let check = |visit: &Visit, who: &str| {
        assert_eq!(text(&visit.given[0]), "paid 5 €", "{who}");
        assert!(is_refused(&visit.given[1], "REJECTED"), "{who}: {}", visit.given[1]);
        assert_eq!(text(&visit.given[1]), "rejected by middleware \"limits\": at most 100 at a time", "{who}");
    };
    both("middleware.py", "middleware", &script, check);
    check(&visit(Language::OwnRust, "interception", &script), "own Rust");
}

fn telemetry_goes_to_the_log() {
    let script = json!([{"call": "divide", "with": {"a": 7, "b": 2}}, {"call": "divide", "with": {"a": 7, "b": 0}}]);
    let check = |visit: &Visit, who: &str| {
        assert_eq!(text(&visit.given[0]), "3", "{who}");
        assert_eq!(visit.given[1]["isError"], true, "{who}");
        for line in ["telemetry: divide start", "telemetry: divide success 3", "telemetry: divide error"] {
            assert!(visit.stderr.contains(line), "{who}: no {line:?} in {}", visit.stderr);
        }
    };
    both("telemetry.py", "telemetry", &script, check);
    check(&visit(Language::OwnRust, "telemetry", &script), "own Rust");
}

/// Every visit checks that nothing is left of it.
fn a_sidecar_serves_its_tools_and_goes_with_them() {
    let script = json!([{"call": "ask", "with": {"about": "tea"}}]);
    let check = |visit: &Visit, who: &str| {
        assert!(text(&visit.given[0]).starts_with("the sidecar says"), "{who}: {}", visit.given[0]);
        assert!(text(&visit.given[0]).ends_with("tea"), "{who}: {}", visit.given[0]);
    };
    both("sidecar.py", "sidecar", &script, check);
    check(&visit(Language::OwnRust, "sidecar", &script), "own Rust");
}

fn tools_are_found_in_a_folder() {
    let script = json!([{"tools": true}, {"call": "total", "with": {"numbers": [1, 2, 3]}}]);
    let visit = visit(Language::Python, "discovery/main.py", &script);
    assert_eq!(visit.given[0], json!(["total", "words"]));
    assert_eq!(text(&visit.given[1]), "6");
}

fn hidden_tools_come_and_go_with_results() {
    let script = json!([
        {"tools": true},
        {"call": "open_vault", "with": {"code": "0"}},
        {"call": "look_inside"},
        {"call": "open_vault", "with": {"code": "1234"}},
        {"until": ["close_vault", "look_inside"]},
        {"call": "look_inside"},
        {"call": "close_vault"},
        {"until": ["open_vault"]},
    ]);
    for (language, example) in [(Language::Python, "hidden.py"), (Language::OwnRust, "hidden")] {
        let visit = visit(language, example, &script);
        assert_eq!(visit.given[0], json!(["open_vault"]));
        assert!(is_refused(&visit.given[1], "WRONG_CODE"), "{}", visit.given[1]);
        assert_eq!(visit.given[2]["error"], -32602);
        assert_eq!(text(&visit.given[5]), "three gold coins");
    }
}

fn a_layer_calls_again_when_it_may() {
    let script = json!([{"call": "weather", "with": {"city": "ulm"}}, {"call": "weather", "with": {"city": "bonn"}}]);
    let visit = visit(Language::OwnRust, "retries", &script);
    assert_eq!(text(&visit.given[0]), "mild, at attempt 2");
    assert!(is_refused(&visit.given[1], "NOT_FOUND"), "{}", visit.given[1]);
}

fn structured_content_comes_with_the_text() {
    let script = json!([{"call": "forecast", "with": {"city": "Ulm"}}]);
    let python = visit(Language::Python, "structured.py", &script);
    assert_eq!(text(&python.given[0]), "21 degrees in Ulm");
    for visit in [python, visit(Language::OwnRust, "structured", &script)] {
        assert_eq!(visit.given[0]["structuredContent"], json!({"city": "Ulm", "degrees": 21}));
    }
}

/// Items 82, 84.
#[test]
fn resources_prompts_and_completions_are_offered() {
    let script = json!([
        {"resources": true},
        {"templates": true},
        {"prompts": true},
        {"read": "notes://all"},
        {"read": "notes://one/tea"},
        {"read": "notes://one/coal"},
        {"get": "summarize", "with": {"name": "tea"}},
        {"get": "summarize"},
        {"complete": ["prompt", "summarize", "name", ""]},
    ]);
    both("resources_prompts.py", "resources", &script, |visit, who| {
        let given = &visit.given;
        assert!(given[0].to_string().contains("notes://all"), "{who}: {}", given[0]);
        assert_eq!((&given[1], &given[2]), (&json!(["notes://one/{name}"]), &json!(["summarize"])), "{who}");
        assert_eq!(given[3]["contents"][0]["text"], "tea, cake", "{who}");
        assert_eq!(given[4]["contents"][0]["uri"], "notes://one/tea", "{who}");
        assert_eq!(given[5]["error"], -32002, "{who}: {}", given[5]);
        assert_eq!(given[6]["messages"][0]["role"], "user", "{who}");
        assert!(given[6].to_string().contains("Summarize"), "{who}: {}", given[6]);
        assert_eq!(given[7]["error"], -32602, "{who}: {}", given[7]);
        assert_eq!(given[8]["completion"]["values"], json!(["cake", "tea"]), "{who}");
    });
    let own = visit(Language::OwnRust, "notes", &script).given;
    assert_eq!((&own[1], &own[2]), (&json!(["notes://one/{name}"]), &json!(["summarize"])));
    assert_eq!(own[3]["contents"][0]["text"], "tea, cake");
    assert_eq!(own[4]["contents"][0]["text"], "Steep for four minutes.");
    assert_eq!((&own[5]["error"], &own[7]["error"]), (&json!(-32002), &json!(-32602)));
    assert_eq!(own[8]["completion"]["values"], json!(["cake", "tea"]));
    let script = json!([{"read": "notes://dot"}, {"complete": ["resource", "notes://one/{name}", "name", "t"]}]);
    let visit = visit(Language::Python, "resources_prompts.py", &script);
    let picture = &visit.given[0]["contents"][0];
    assert!(picture["blob"].as_str().is_some_and(|blob| blob.starts_with("iVBORw0KGgo")), "{picture}");
    assert_eq!(visit.given[1]["completion"], json!({"values": ["tea"], "total": 1, "hasMore": false}));
}

/// Items 51, 54.
#[test]
fn long_work_reports_progress_and_stops_when_asked() {
    let script = json!([
        {"count": "count", "with": {"to": 3}},
        {"give_up": "count", "with": {"to": 5000}},
        {"give_up": "wait", "with": {"seconds": 600}},
        {"count": "count", "with": {"to": 1}},
    ]);
    for (language, example) in [(Language::Python, "progress.py"), (Language::OwnRust, "progress")] {
        let visit = visit(language, example, &script);
        assert_eq!(visit.given[0]["progress"], json!([[1.0, 3.0, "at 1"], [2.0, 3.0, "at 2"], [3.0, 3.0, "at 3"]]));
        assert_eq!(text(&visit.given[0]["result"]), "counted to 3");
        assert_eq!(visit.given[1..3], [json!("cancelled"), json!("cancelled")]);
        assert_eq!(text(&visit.given[3]["result"]), "counted to 1", "both handlers have ended");
        assert!(visit.stderr.contains("tidied up"), "{}", visit.stderr);
    }
}

/// Item 85.
#[test]
fn a_tool_asks_the_model_of_its_host() {
    for (language, example) in [(Language::Python, "sampling.py"), (Language::OwnRust, "sampling")] {
        let visit = visit(language, example, &json!([{"call": "title", "with": {"text": "tea and cake"}}]));
        assert_eq!(text(&visit.given[0]), "a model's answer to A title for: tea and cake (says a-model)");
    }
}

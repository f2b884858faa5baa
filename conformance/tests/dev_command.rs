//! `pmcp dev -- COMMAND`: hot reload for servers on SDKs that know nothing of it. No call is lost, no session ends, and
//! nothing is left behind.

mod program;

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use protomcp_client::{Client, ClientSession, Mode};
use protomcp_conformance::{Host, Sandbox, Web, eventually, living, patience, peers, tier};
use protomcp_http_client::HttpTransport;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::chaos::moments::rounds;
use crate::dev_command::program::{ALL, Sdk};
use crate::storm::{call_while_saving, each_ran_once, one_answer_each};

#[test]
#[ignore = "ten seconds of a processor, in the long tier alone"]
fn a_storm_of_saves_loses_no_call_of_fastmcp() {
    storm(Sdk::FastMcp);
}

#[test]
fn a_storm_of_saves_loses_no_call_of_the_typescript_sdk() {
    storm(Sdk::TypeScript);
}

#[test]
fn a_storm_of_saves_loses_no_call_of_rmcp() {
    storm(Sdk::Rmcp);
}

fn start(sdk: Sdk, sandbox: &Sandbox) -> Host {
    sdk.install(sandbox);
    // Calls that run in an earlier version do not belong to a shutdown.
    let host = sdk.pmcp(sandbox, &["dev", "--drain-timeout=40ms"]).start();
    host.initialize();
    assert_eq!(host.first_names(), ["work"]);
    host
}

fn storm(sdk: Sdk) {
    let (calls, saves) = tier((40, 4), (200, 50));
    let sandbox = Sandbox::new();
    let host = start(sdk, &sandbox);
    let answers = call_while_saving(&host, |version| sdk.save(&sandbox, version), calls, saves);
    each_ran_once(&answers, &sandbox);
    assert!(answers.len() as u64 >= calls, "only {} calls were made", answers.len());
    let reloads = || host.stderr().matches("reloaded (").count() as u64;
    eventually("the log of each reload", || (reloads() >= saves).then_some(()));
    let versions: BTreeSet<&str> = answers.values().filter_map(|answer| answer.split(' ').nth(1)).collect();
    assert!(versions.len() >= 3, "the calls ran in so few versions: {versions:?}");
    let made = answers.len();
    assert_eq!(host.text("work", &json!({"id": made, "ms": 0})), format!("{made} v{saves}"), "the last version serves");
    assert_eq!(reloads(), saves, "each save is one reload");
    one_answer_each(&host);
    eventually("one process of the server", || (servers(sdk, &sandbox).len() == 1).then_some(()));
    host.hang_up();
    assert!(host.exit().success());
}

/// The processes of the server.
fn servers(sdk: Sdk, sandbox: &Sandbox) -> Vec<u32> {
    let all = living(sandbox.marker()).into_iter();
    all.filter(|process| sdk.is_server(&process.command)).map(|process| process.pid).collect()
}

#[test]
fn a_version_that_does_not_start_changes_nothing() {
    for sdk in ALL {
        let sandbox = Sandbox::new();
        let host = start(sdk, &sandbox);
        let running = host.start_call("work", &json!({"id": 1, "ms": 3000}));
        sdk.break_it(&sandbox);
        let log = host.stderr_with("reload failed, still serving the previous version: ");
        assert!(log.contains(sdk.complaint()), "{sdk:?}: {log}");
        assert_eq!(host.text("work", &json!({"id": 2, "ms": 0})), "2 v0");
        assert!(host.notifications("notifications/tools/list_changed", 0).is_empty(), "{sdk:?}: nothing has changed");
        let place = host.now();
        sandbox.write("note.txt", "not a source file");
        if sdk == Sdk::Rmcp {
            sdk.save(&sandbox, 1);
        } else {
            sandbox.copy(&format!("dev/server.{}", if sdk == Sdk::FastMcp { "py" } else { "mjs" }));
            sdk.save(&sandbox, 1);
        }
        host.list_changed(place);
        eventually("the corrected version", || (host.text("work", &json!({"id": 3, "ms": 0})) == "3 v1").then_some(()));
        assert_eq!(host.answer(running).value["result"]["content"][0]["text"], "1 v0", "{sdk:?}");
    }
}

#[test]
fn killing_the_server_at_any_moment_loses_no_answer() {
    let mut next = ALL.into_iter().cycle();
    rounds("server", tier(3, 90), |random| {
        let sdk = next.next().expect("there are three");
        let sandbox = Sandbox::new();
        let host = start(sdk, &sandbox);
        // It runs when the server is killed, however late that is on a busy machine.
        let long = host.start_call("work", &json!({"id": 98, "ms": 3_600_000}));
        eventually("the long call to run", || (notes(&sandbox) == 1).then_some(()));
        let calls: Vec<(u64, u64)> = (1..8)
            .map(|id| (id, host.start_call("work", &json!({"id": id, "ms": id * 40 + random.below(40)}))))
            .collect();
        // A reload may be under way.
        let saved = u64::from(random.below(2) == 0);
        if saved == 1 {
            sdk.save(&sandbox, 1);
        }
        let answers = random.below(8);
        eventually("the answers before the kill", || {
            let answered = calls.iter().filter(|(_, call)| host.answered(*call).is_some()).count() as u64;
            (answered >= answers).then_some(())
        });
        thread::sleep(Duration::from_millis(random.below(10)));
        servers(sdk, &sandbox).into_iter().for_each(kill);
        assert_lost(&host.answer(long).value["result"]);
        let mut finished = 0;
        for (id, call) in calls {
            let result = &host.answer(call).value["result"];
            if result["isError"] == true {
                assert_lost(result);
            } else {
                let text = result["content"][0]["text"].as_str().unwrap_or_default();
                assert!(text.starts_with(&format!("{id} v")), "{result}");
                finished += 1;
            }
        }
        assert!(finished >= answers, "{finished} calls finished, and {answers} were answered before the kill");
        // Lists wait for the new process.
        assert_eq!(host.first_names(), ["work"]);
        eventually("the newest version", || {
            let result = host.call("work", &json!({"id": 99, "ms": 0}));
            (result["content"][0]["text"] == format!("99 v{saved}")).then_some(())
        });
        one_answer_each(&host);
    });
}

fn assert_lost(result: &Value) {
    let error = &result["_meta"]["protomcp/error"];
    let code = error["error_code"].as_str().unwrap_or_default();
    assert!(["SERVER_LOST", "SERVER_DOWN"].contains(&code) && error["retryable"] == true, "{result}");
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id is positive");
    // It may have ended since it was listed: an old version that had no call left.
    let _ = kill_process(pid, Signal::KILL);
}

/// Ends `pmcp`, or lets its host leave, in the middle of starts and reloads.
fn end_at_any_moment(what: &str, end: impl Fn(&Host)) {
    let mut next = ALL.into_iter().cycle();
    rounds(what, tier(3, 90), |random| {
        let sdk = next.next().expect("there are three");
        let sandbox = Sandbox::new();
        sdk.install(&sandbox);
        let host = sdk.pmcp(&sandbox, &["dev", "--drain-timeout=40ms"]).start();
        host.begin("2025-11-25");
        if random.below(3) > 0 {
            assert_eq!(host.first_names(), ["work"]);
            host.start_call("work", &json!({"id": 1, "ms": 5000}));
            for version in 1..=random.below(3) {
                sdk.save(&sandbox, version);
                thread::sleep(Duration::from_millis(random.below(700)));
            }
        }
        thread::sleep(Duration::from_millis(random.below(400)));
        end(&host);
        host.exit();
        host.no_orphans();
        assert!(sandbox.leftovers().is_empty(), "{:?}", sandbox.leftovers());
    });
}

#[test]
fn killing_pmcp_at_any_moment_leaves_nothing() {
    end_at_any_moment("pmcp", |host| host.signal(Signal::KILL));
}

#[test]
fn a_host_that_leaves_at_any_moment_leaves_nothing() {
    end_at_any_moment("host", Host::hang_up);
}

#[test]
fn a_file_with_another_sdk_is_served_as_a_command() {
    for (sdk, file) in [(Sdk::FastMcp, "server.py"), (Sdk::TypeScript, "server.mjs")] {
        let sandbox = Sandbox::new();
        sdk.install(&sandbox);
        let pmcp = |words: &[&str]| sandbox.pmcp(words).env("PROTOMCP_PYTHON", peers().join("mcp/bin/python"));
        let printed = |words: &[&str]| {
            let output = pmcp(words).command().output().expect("pmcp starts");
            String::from_utf8([output.stdout, output.stderr].concat()).expect("it is text")
        };
        let listed = printed(&["list", file]);
        assert!(listed.starts_with("work(id: "), "{listed}");
        assert_eq!(printed(&["call", file, "work", "id=7", "ms=0"]), "7 v0\n");
        for (verb, version) in [("run", 0), ("dev", 1)] {
            let host = pmcp(&[verb, file]).start();
            host.initialize();
            assert_eq!(host.names(), ["work"], "{verb} {file}");
            host.stderr_with(&format!("{file} is an MCP server with another SDK: serving it as the command `"));
            sdk.save(&sandbox, 1);
            let expected = format!("7 v{version}");
            eventually("the version", || (host.text("work", &json!({"id": 7, "ms": 0})) == expected).then_some(()));
        }
        let refused = printed(&["list", file, "--sdk", "bundled"]);
        assert!(refused.contains("--sdk is for tool files: "), "{refused}");
        for verb in ["run", "dev"] {
            let refused = printed(&[verb, file, "--hot-reload", "swap"]);
            let expected = format!("--hot-reload is for tool files: {file} is an MCP server with another SDK");
            assert!(refused.contains(&expected), "{refused}");
        }
    }
}

#[test]
fn a_file_that_does_not_start_its_server_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("server.py", "from fastmcp import FastMCP\nserver = FastMCP('x')\n");
    let pmcp = |verb: &str| sandbox.pmcp(&[verb, "server.py"]).env("PROTOMCP_PYTHON", peers().join("mcp/bin/python"));
    let hint = "server.py ends before it serves: it has to start its server on standard input and output";
    let output = pmcp("list").command().output().expect("pmcp starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && text.contains(hint), "{text}");
    let host = pmcp("dev").start();
    host.request("initialize", &json!({}));
    host.stderr_with(hint);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_both_eras_keep_their_sessions_over_http() {
    let sdk = Sdk::TypeScript;
    let sandbox = Sandbox::new();
    sdk.install(&sandbox);
    let gateway = Web::launch(sandbox.clone(), sdk.pmcp(&sandbox, &["dev", "--transport", "http", "--port", "0"]));
    let url = format!("http://localhost:{}/mcp", gateway.port());
    let changed = std::sync::Arc::new(Notify::new());
    let mut sessions = Vec::new();
    for mode in [Mode::Stateful, Mode::Stateless] {
        let heard = std::sync::Arc::clone(&changed);
        let client = Client::new("host", "1").mode(mode).on_list_changed(move |_, _| {
            heard.notify_one();
            async {}
        });
        let session = client.connect(HttpTransport::new(&url).expect("a URL")).await.expect("it is served");
        assert_eq!(work(&session, 0).await, "7 v0");
        sessions.push(session);
    }
    for version in 1..=3 {
        let begun = notes(&sandbox);
        let running =
            sessions.clone().into_iter().map(|session| tokio::spawn(async move { work(&session, 1500).await }));
        let running: Vec<_> = running.collect();
        let until = tokio::time::Instant::now() + patience();
        while notes(&sandbox) < begun + running.len() {
            assert!(tokio::time::Instant::now() < until, "the calls do not begin");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sdk.save(&sandbox, version);
        tokio::time::timeout(patience(), changed.notified()).await.expect("clients are told");
        for session in &sessions {
            eventually_is(session, &format!("7 v{version}")).await;
        }
        for call in running {
            assert_eq!(call.await.expect("no panic"), format!("7 v{}", version - 1), "it finishes where it began");
        }
    }
}

async fn work(session: &ClientSession, ms: u64) -> String {
    let result = session.call_tool("work", &json!({"id": 7, "ms": ms})).await.expect("an answer");
    let content: Value = result.content.to().expect("content");
    content[0]["text"].as_str().expect("a text").to_owned()
}

async fn eventually_is(session: &ClientSession, expected: &str) {
    let until = tokio::time::Instant::now() + patience();
    while work(session, 0).await != expected {
        assert!(tokio::time::Instant::now() < until, "{expected} never came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The number of calls that have begun.
fn notes(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.path("work.log")).unwrap_or_default().lines().count()
}

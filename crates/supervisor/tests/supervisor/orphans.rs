//! A bridge that is killed with SIGKILL at any moment leaves nothing alive.
//!
//! The bridge is the example program, a separate process that can be killed; its orphans are found by a mark in the
//! environment. `PROTOMCP_CHAOS_ROUNDS` sets the number of rounds, twenty by default.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use protomcp_testing::{holds_in_time, judged};
use rustix::process::Signal;

use crate::support::{
    Mark, expect_line, guarded, is_alive, rest, shell, signal, spawn, stat, wait_for_descriptors, watch_over,
    write_program,
};
use protomcp_supervisor::{Process, Status};

/// A bridge in miniature that runs a script, and the lines it prints.
fn bridge(mark: &Mark, options: &[&str], script: &str) -> Child {
    let mut command = Command::new(watch_over());
    command.args(options).args(["sh", "-c", script]).stdout(Stdio::piped()).stdin(Stdio::null());
    mark.on_std(&mut command);
    command.spawn().unwrap()
}

/// Returns what the bridge prints after that line; while it is held, the bridge can go on printing.
fn wait_for_line(bridge: &mut Child, wanted: &str) -> impl Iterator<Item = String> + use<> {
    let mut lines = BufReader::new(bridge.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.ends_with(wanted)), "the bridge never printed {wanted:?}");
    lines
}

fn kill(mut bridge: Child) -> Instant {
    bridge.kill().unwrap();
    bridge.wait().unwrap();
    Instant::now()
}

/// The promised time. A guardian needs milliseconds.
const PROMISE: Duration = Duration::from_secs(2);

/// The factor by which a single round may exceed the promise on a busy machine. Half of many rounds must keep it.
const MARGIN: u32 = 10;

fn assert_gone_soon(mark: &Mark, since: Instant) -> Duration {
    mark.wait_until_gone();
    let took = since.elapsed();
    assert!(took < judged(PROMISE * MARGIN), "it took {took:?}");
    took
}

#[expect(clippy::print_stdout, reason = "figures are printed in each tier, and judged in one")]
fn assert_promise_is_kept(mut rounds: Vec<Duration>) {
    rounds.sort_unstable();
    let median = rounds[rounds.len() / 2];
    println!("{} rounds, of which half took {median:?} at most", rounds.len());
    assert!(median < judged(PROMISE), "half of the rounds took longer than {median:?}");
}

/// Everything a descendant can do to get away: another session, a double fork without descriptors, no attention to
/// signals, and no pause.
const ESCAPE_ARTISTS: &str = r#"
    setsid sh -c 'echo one > /dev/null; exec sleep 1001' &
    ( ( exec setsid sleep 1002 <&- >&- 2>&- ) & )
    sh -c 'trap "" HUP INT TERM QUIT; while :; do :; done' busyloop &
    sh -c 'sh -c "sleep 1003 & wait" & wait' &
    echo up
    wait
"#;

fn all_artists_are_on_stage(bearers: &[(u32, String)]) -> bool {
    let count = |text: &str| bearers.iter().filter(|(_, line)| line.starts_with(text)).count();
    count("sleep 1001") == 1
        && count("sleep 1002") == 1
        && count("sleep 1003") == 1
        && bearers.iter().any(|(_, line)| line.ends_with("busyloop "))
}

fn rounds() -> u64 {
    std::env::var("PROTOMCP_CHAOS_ROUNDS").map_or(20, |rounds| rounds.parse().unwrap())
}

/// A guardian that is executed, and one that is forked.
const GUARDIANS: [&[&str]; 2] = [&[], &["--prefork"]];

#[test]
fn nothing_outlives_a_killed_bridge() {
    let rounds = (0..rounds()).map(|round| {
        let mark = Mark::new();
        let mut bridge = bridge(&mark, GUARDIANS[usize::from(round % 2 == 1)], ESCAPE_ARTISTS);
        let _lines = wait_for_line(&mut bridge, "up");
        mark.wait_for("all are on stage", all_artists_are_on_stage);
        assert_gone_soon(&mark, kill(bridge))
    });
    assert_promise_is_kept(rounds.collect());
}

#[test]
fn a_stopped_guardian_goes_on_when_its_bridge_is_killed() {
    for options in GUARDIANS {
        let mark = Mark::new();
        let mut bridge = bridge(&mark, options, ESCAPE_ARTISTS);
        let _lines = wait_for_line(&mut bridge, "up");
        mark.wait_for("all are on stage", all_artists_are_on_stage);
        let guardian = mark.bearers_of("protomcp-guardian")[0];
        signal(guardian, Signal::STOP);
        wait_for_state(guardian, "T");
        assert_gone_soon(&mark, kill(bridge));
    }
}

#[test]
fn a_stopped_guardian_follows_orders() {
    for options in GUARDIANS {
        let mark = Mark::new();
        let mut bridge = bridge(&mark, options, "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done");
        let _lines = wait_for_line(&mut bridge, "up");
        let guardian = mark.bearers_of("protomcp-guardian")[0];
        signal(guardian, Signal::STOP);
        wait_for_state(guardian, "T");
        signal(bridge.id(), Signal::INT);
        assert_eq!(bridge.wait().unwrap().code(), Some(3));
        mark.wait_until_gone();
    }
}

/// A bridge in miniature that starts `echo up` when it is told to, and the guardian that it has forked until then.
fn waiting_bridge(mark: &Mark) -> (Child, u32) {
    let mut command = Command::new(watch_over());
    command.args(["--prefork", "--wait", "echo", "up"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    mark.on_std(&mut command);
    let bridge = command.spawn().unwrap();
    mark.wait_for("a guardian waits", |bearers| bearers.iter().any(|(_, line)| line.starts_with("protomcp-guardian")));
    (bridge, mark.bearers_of("protomcp-guardian")[0])
}

/// Lets the bridge go on, and waits for its end.
fn let_it_start(mut bridge: Child) {
    drop(bridge.stdin.take());
    let _lines = wait_for_line(&mut bridge, "up");
    assert_eq!(bridge.wait().unwrap().code(), Some(0));
}

#[test]
fn a_forked_guardian_holds_nothing_of_its_program() {
    let mark = Mark::new();
    let (bridge, guardian) = waiting_bridge(&mark);
    wait_for_descriptors(guardian, &[0, 1, 2, 3, 4]);
    for number in 0..3 {
        let held = std::fs::read_link(format!("/proc/{guardian}/fd/{number}")).unwrap();
        assert_eq!(held, std::path::Path::new("/dev/null"));
    }
    let leads_its_session = || stat(guardian).is_some_and(|fields| fields[3] == guardian.to_string());
    assert!(holds_in_time(leads_its_session));
    let_it_start(bridge);
    mark.wait_until_gone();

    // It ends with its program, although it has never guarded anything.
    let (bridge, _) = waiting_bridge(&mark);
    assert_gone_soon(&mark, kill(bridge));
}

#[test]
fn a_forked_guardian_that_is_not_needed_ends_before_its_program() {
    let mark = Mark::new();
    let mut bridge = bridge(&mark, &["--prefork", "--no-guardian"], "echo up; exec sleep 1000");
    let _lines = wait_for_line(&mut bridge, "up");
    assert_eq!(mark.bearers_of("protomcp-guardian"), [0; 0]);
    kill(bridge);
    mark.wait_until_gone();
}

#[test]
fn a_forked_guardian_that_is_gone_is_replaced() {
    let mark = Mark::new();
    let (bridge, guardian) = waiting_bridge(&mark);
    signal(guardian, Signal::KILL);
    let_it_start(bridge);
    mark.wait_until_gone();
}

fn wait_for_state(pid: u32, state: &str) {
    let is_in_state = || stat(pid).is_some_and(|fields| fields[0] == state);
    assert!(holds_in_time(is_in_state), "{pid} is never in state {state}");
}

#[tokio::test]
async fn the_socket_of_a_process_that_was_never_started_is_removed() {
    let mark = Mark::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let command = mark.on(shell("sleep 1000")).guardian(guarded()).env_socket("TOOL_SOCKET", &path);
    let prepared = Process::prepare(&command).await.unwrap();
    // A killed bridge leaves this: a file without a listener.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    drop(prepared);
    mark.wait_until_gone();
    assert!(!path.exists());
}

#[tokio::test]
async fn nothing_outlives_a_killed_guardian() {
    let mark = Mark::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let command = mark.on(shell(ESCAPE_ARTISTS)).guardian(guarded()).env_socket("TOOL_SOCKET", &path);
    let (_process, mut events) = spawn(&command).await;
    expect_line(&mut events, "up").await;
    mark.wait_for("all are on stage", all_artists_are_on_stage);
    signal(mark.bearers_of("protomcp-guardian")[0], Signal::KILL);
    let (_, exit) = rest(&mut events).await;
    assert_eq!(exit.status, Status::Unknown);
    mark.wait_until_gone();
}

#[test]
fn nothing_outlives_a_bridge_that_is_killed_while_it_starts() {
    for step in 0..2 * rounds() {
        let mark = Mark::new();
        let bridge = bridge(&mark, GUARDIANS[usize::from(step % 2 == 1)], ESCAPE_ARTISTS);
        std::thread::sleep(Duration::from_micros(step % 40 * 150));
        assert_gone_soon(&mark, kill(bridge));
    }
}

#[test]
fn nothing_outlives_a_tool_process_that_ends() {
    let mark = Mark::new();
    let script = format!("{}\n", ESCAPE_ARTISTS.replace("    wait\n", "    read line < \"$GATE\"\n    exit 7\n"));
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let mut command = Command::new(watch_over());
    command.args(["sh", "-c", &script]).env("GATE", &gate).stdout(Stdio::null()).stdin(Stdio::null());
    mark.on_std(&mut command);
    let mut bridge = command.spawn().unwrap();
    mark.wait_for("all are on stage", all_artists_are_on_stage);
    std::fs::write(&gate, "go\n").unwrap();
    assert_eq!(bridge.wait().unwrap().code(), Some(7));
    mark.wait_until_gone();
}

#[test]
fn a_family_that_never_stands_still_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let runner = folder.path().join("runner");
    // Every few milliseconds each runner becomes another process without a parent.
    write_program(&runner, "#!/bin/sh\nsleep 0.002\n( \"$0\" & )\nexit 0\n");
    let mark = Mark::new();
    let script = format!("for i in 1 2 3 4; do ( {} & ); done; echo up; sleep 1000", runner.display());
    let mut bridge = bridge(&mark, &[], &script);
    let _lines = wait_for_line(&mut bridge, "up");
    std::thread::sleep(Duration::from_millis(50));
    assert_gone_soon(&mark, kill(bridge));
    // No runner is between two processes either.
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(mark.bearers(), []);
    }
}

#[test]
fn a_terminal_interrupt_meets_the_bridge_alone() {
    let mark = Mark::new();
    let script = "trap 'echo interrupted' INT; echo up; while :; do sleep 0.01; done";
    let mut command = Command::new(watch_over());
    command.args(["sh", "-c", script]).stdout(Stdio::piped()).stdin(Stdio::null());
    mark.on_std(&mut command);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut bridge = command.spawn().unwrap();
    let lines = wait_for_line(&mut bridge, "up");
    let group = rustix::process::Pid::from_child(&bridge);
    rustix::process::kill_process_group(group, Signal::INT).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(rest[0], "stopping", "the bridge heard it");
    assert!(!rest.iter().any(|line| line.contains("interrupted")), "the tool process heard it: {rest:#?}");
    bridge.wait().unwrap();
    mark.wait_until_gone();
}

#[test]
fn without_a_guardian_the_tool_process_dies_with_its_bridge() {
    for _ in 0..5 {
        let mark = Mark::new();
        let mut bridge = bridge(&mark, &["--no-guardian"], "echo up; exec sleep 1000");
        let _lines = wait_for_line(&mut bridge, "up");
        assert_gone_soon(&mark, kill(bridge));
    }
}

#[test]
fn without_a_guardian_a_kill_reaches_all_descendants() {
    let mark = Mark::new();
    let script = "setsid sleep 1001 & echo up; wait";
    let mut bridge = bridge(&mark, &["--no-guardian"], script);
    let _lines = wait_for_line(&mut bridge, "up");
    mark.wait_for("the child is there", |bearers| bearers.iter().any(|(_, line)| line.starts_with("sleep 1001")));
    // A polite bridge: interrupted twice, it kills.
    let pid = bridge.id();
    while is_alive(pid) {
        signal(pid, Signal::INT);
        std::thread::sleep(Duration::from_millis(20));
    }
    bridge.wait().unwrap();
    mark.wait_until_gone();
}

//! Servers as child processes. The server is the example `child_server`, which `cargo test` builds along with the tests.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{
    Backoff, CloseReason, Command, CommandTransport, Guardian, RequestError, SpawnError, SpawnedError, StopPolicy,
};
use protomcp_testing::{in_time, patience, until};
use protomcp_transport::Transport;
use protomcp_types::{JsonObject, ProtocolVersion};

use crate::seed::sample::my_server;
use crate::sessions::server::{client, text};

fn server() -> Command {
    Command::new(my_server()).guardian(Guardian::None)
}

fn shell(script: &str) -> Command {
    Command::new("sh").arg("-c").arg(script).guardian(Guardian::None)
}

/// Waits until a process does not exist, or is a zombie.
async fn wait_for_the_end_of(pid: &str) {
    let is_alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    };
    until(&format!("{pid} has ended"), || !is_alive()).await;
}

#[tokio::test]
async fn a_program_is_a_server() {
    let session = client().spawn(server()).await.unwrap();
    assert_eq!(session.server().version, ProtocolVersion::V2026_07_28);
    assert_eq!(session.list_tools(None).await.unwrap().items.len(), 4);
    let pid = text(&session, "pid").await.unwrap();
    assert_eq!(session.close(patience()).await, CloseReason::Requested);
    wait_for_the_end_of(&pid).await;
}

#[tokio::test]
async fn the_last_handle_ends_the_process() {
    let session = client().spawn(server()).await.unwrap();
    let pid = text(&session, "pid").await.unwrap();
    drop(session);
    wait_for_the_end_of(&pid).await;
}

#[tokio::test]
async fn the_end_of_a_process_is_quoted() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&lines);
    let server = CommandTransport::new(server()).on_stderr(move |line| heard.lock().unwrap().push(line.to_owned()));
    let session = client().spawn_transport(server).await.unwrap();
    let failed = text(&session, "crash").await.unwrap_err();
    assert!(failed.is_retryable());
    let why = failed.to_string();
    assert!(why.contains("exited with status 3") && why.contains("out of luck"), "{why}");
    assert_eq!(*lines.lock().unwrap(), ["out of luck"]);
    assert!(session.closed().await.to_string().contains("out of luck"));

    let Err(SpawnedError::Connect(reason)) = client().spawn(shell("echo no config >&2; exit 4")).await else {
        panic!()
    };
    let why = reason.to_string();
    assert!(why.contains("exited with status 4") && why.contains("no config"), "{why}");
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_named() {
    let failed = client().spawn(Command::new("no-such-program").guardian(Guardian::None)).await;
    assert!(matches!(failed, Err(SpawnedError::Spawn(SpawnError::NotFound { .. }))));
}

#[tokio::test]
async fn a_server_that_ends_at_discovery_gets_a_handshake() {
    let script = r#"read line; case "$line" in *discover*) exit 1;; esac
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}'
        cat > /dev/null"#;
    let session = client().spawn(shell(script)).await.unwrap();
    assert_eq!(session.server().version, ProtocolVersion::V2024_11_05);
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_is_killed() {
    let script = r#"trap '' TERM; read line
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"'$$'","version":"1"}}}'
        while true; do sleep 1; done"#;
    let quick = Duration::from_millis(20);
    let server =
        CommandTransport::new(shell(script)).stop(StopPolicy { close: quick, terminate: quick, kill: patience() });
    let client = client().mode(protomcp_client::Mode::Stateful);
    let session = client.spawn_transport(server).await.unwrap();
    let pid = session.server().implementation.clone().unwrap().name;
    session.close(patience()).await;
    wait_for_the_end_of(&pid).await;
}

#[tokio::test]
async fn a_crashed_server_is_started_again() {
    let changes = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&changes);
    let client = client().on_list_changed(move |_, _| {
        *seen.lock().unwrap() += 1;
        async {}
    });
    let backoff = Backoff { first: Duration::from_millis(10), ..Backoff::default() };
    let session = client.spawn_transport(CommandTransport::new(server()).restart(backoff)).await.unwrap();
    let before = text(&session, "pid").await.unwrap();
    let hanging = tokio::spawn(session.call_tool("hang", &JsonObject::new()).into_future());
    session.ping().await.unwrap();
    assert!(text(&session, "crash").await.unwrap_err().is_retryable());
    assert!(hanging.await.unwrap().unwrap_err().is_retryable(), "every call of the old process fails");
    let after = text(&session, "pid").await.unwrap();
    assert_ne!(before, after);
    // The lists of the new process may differ.
    until("the client is notified", || *changes.lock().unwrap() > 0).await;
    session.close(patience()).await;
    wait_for_the_end_of(&after).await;
}

#[tokio::test]
async fn a_server_that_keeps_crashing_is_given_up() {
    let once = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("client-once-{}", std::process::id()));
    // An earlier process may have had this id.
    drop(std::fs::remove_file(&once));
    let script = format!(
        r#"[ -e '{once}' ] && exit 7; touch '{once}'; read line
        echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}'
        read line"#,
        once = once.display()
    );
    let backoff = Backoff { first: Duration::from_millis(1), give_up_after: 3, ..Backoff::default() };
    let client = client().mode(protomcp_client::Mode::Stateful);
    let session = client.spawn_transport(CommandTransport::new(shell(&script)).restart(backoff)).await.unwrap();
    let end = in_time(session.closed()).await.unwrap();
    drop(std::fs::remove_file(&once));
    assert!(matches!(end, CloseReason::Failed(_) | CloseReason::ByServer(_)), "{end}");
}

#[test]
fn a_transport_may_be_dropped_outside_a_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pid = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&pid);
    let server =
        CommandTransport::new(shell("echo $$ >&2; cat")).on_stderr(move |line| *heard.lock().unwrap() = line.into());
    let running = runtime.block_on(async {
        let running = server.spawn().await.unwrap();
        until("the server has sent its id", || !pid.lock().unwrap().is_empty()).await;
        running
    });
    let (source, sink) = running.split();
    drop(runtime);
    drop(source);
    drop(sink);
    let pid = pid.lock().unwrap().clone();
    tokio::runtime::Runtime::new().unwrap().block_on(wait_for_the_end_of(&pid));
}

#[tokio::test]
async fn a_process_that_stops_reading_is_given_up_while_it_writes() {
    let discovered =
        r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let script = format!("read line; exec 0<&-; echo '{discovered}'; while echo '{note}'; do sleep 0.1; done");
    let session = client().spawn(shell(&script)).await.unwrap();
    let call = in_time(session.call_tool("a", &JsonObject::new()).into_future()).await;
    assert!(matches!(call.expect("the session goes on"), Err(RequestError::Closed(_))));
}

#[tokio::test]
async fn a_flood_on_standard_output_is_stopped() {
    let flood = CommandTransport::new(shell("exec yes")).on_stderr(|_| {}).max_output(1 << 20);
    let opened = in_time(client().spawn_transport(flood)).await.unwrap();
    let error = opened.map(drop).unwrap_err().to_string();
    assert!(error.contains("was stopped: it has written 1048576 bytes to standard output"), "{error}");
}

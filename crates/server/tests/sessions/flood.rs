//! A handler that reports without end holds up nothing else: with real time and threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use protomcp_server::{Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_testing::{JsonPeer, in_time, judged};
use protomcp_transport::lines::Lines;
use protomcp_types::{CallTool, CallToolResult, ErrorObject, Level, Progress, RawJson};

use super::transcript::{full, initialize};

/// Ten times the time within which a ping is promised to be answered.
const PROMISE: Duration = Duration::from_millis(500);

/// Floods until it is told to stop.
struct Flood {
    sessions: ServerHandle,
    stop: Arc<AtomicBool>,
}

impl Handler for Flood {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.sessions.info())
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let stop = Arc::clone(&self.stop);
        let flood = move || {
            let (text, mut step) = (RawJson::text("x"), 0);
            while !stop.load(Ordering::Relaxed) {
                step += 1;
                match call.name.as_str() {
                    "progress" => context.progress(&Progress::new(step)),
                    _ => context.log(Level::Error, None, &text),
                }
            }
        };
        tokio::task::spawn_blocking(flood).await.unwrap();
        Ok(CallToolResult::text("done"))
    }
}

/// Pings while two calls flood, in one of two ways of running calls.
#[expect(clippy::print_stdout, reason = "figures are printed in each tier, and judged in one")]
fn check(tool: &str, inline_calls: bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    // Dropped before the runtime, which waits for the handlers.
    let _stops = StopOnDrop(Arc::clone(&stop));
    let test = async {
        let limits = Limits { ping_interval: Some(Duration::from_millis(100)), ..Limits::default() };
        let sessions = ServerHandle::new(ServerInfo::new("flood", "1"), limits);
        let handler = Flood { sessions: sessions.clone(), stop: Arc::clone(&stop) };
        let server = Server::with_sessions(sessions, handler);
        let server = if inline_calls { server.inline_calls() } else { server };
        let (mut client, reader, writer) = JsonPeer::connected(1 << 16);
        let serving = tokio::spawn(async move { server.serve(Lines::new(reader, writer)).await });
        let params = format!(r#"{{"name":"{tool}","_meta":{{"progressToken":1}}}}"#);
        let call = |id: &str| full(&format!(r#"{{"id":"{id}","method":"tools/call","params":{params}}}"#));
        let ready = full(r#"{"method":"notifications/initialized"}"#);
        for line in [initialize("2025-11-25"), ready, call("a"), call("b")] {
            client.send_line(&line).await;
        }
        let (mut reports, mut longest) = (0, Duration::ZERO);
        for id in 0..20 {
            let sent = Instant::now();
            let ping = full(&format!(r#"{{"id":{id},"method":"ping"}}"#));
            client.send_line(&ping).await;
            let pong = full(&format!(r#"{{"id":{id},"result":{{}}}}"#));
            while client.next_line().await.unwrap() != pong {
                reports += 1;
            }
            longest = longest.max(sent.elapsed());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        println!("{tool}: a ping took {longest:?} at most, during {reports} reports");
        assert!(longest < judged(PROMISE), "{tool}: a ping took {longest:?}");
        assert!(reports > 1_000, "{tool}: there were only {reports} reports");
        // The client has not said anything for long enough: timers are looked at, too.
        let sent = Instant::now();
        while !client.next_line().await.unwrap().contains(r#""method":"ping""#) {
            assert!(sent.elapsed() < judged(PROMISE) + Duration::from_millis(100), "{tool}: the server does not ping");
        }
        stop.store(true, Ordering::Relaxed);
        drop(client);
        let _outcome = serving.await.unwrap();
    };
    runtime.block_on(async { in_time(test).await.expect("it has an end") });
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_ping_is_answered_while_calls_flood_progress() {
    check("progress", false);
}

#[test]
fn a_ping_is_answered_while_calls_flood_log_messages() {
    check("log", false);
}

#[test]
fn a_ping_is_answered_while_inline_calls_flood() {
    check("log", true);
}

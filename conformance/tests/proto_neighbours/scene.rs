//! A server of proto-mcp with two users, one of whom works and measures every answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use protomcp_bufmcp::message::{CallToolRequest, ListToolsRequest};
use protomcp_bufmcp::{BinaryClient, DescriptorSchemas, ToolSchemas};
use protomcp_conformance::neighbours::{User, peak};
use protomcp_conformance::{Host, Sandbox, hostile_tools, tier};
use protomcp_types::RawJson;
use rustix::process::setpriority_process;
use tokio::sync::watch;

use crate::carrier::{Carrier, Door};
use crate::report::{Op, Report, Work};

const MIB: u64 = 1 << 20;
/// The budgets of bytes that clients share (SECURITY.md).
pub(crate) const INBOUND: u64 = 512 * MIB;
pub(crate) const OUTBOUND: u64 = 512 * MIB;
/// Unhandled data of the tool process (SECURITY.md).
pub(crate) const UNHANDLED: u64 = 128 * MIB;
/// Memory of the process outside the budgets: socket buffers, and pages that the allocator keeps.
pub(crate) const SLACK: u64 = 64 * MIB;

/// The niceness of the threads that attack: elsewhere, they would not take the server's processors.
const ATTACK_NICENESS: i32 = 10;
/// The time for an attack. Only one that keeps alice out takes this long.
const ATTACK: Duration = Duration::from_secs(300);
/// The rounds of alice after an attack, so that the end of a short one is covered.
const ROUNDS_AFTER: usize = 8;
/// The pause between her rounds. In the short tier other tests need the processors.
fn pause() -> Duration {
    tier(Duration::from_millis(20), Duration::from_millis(2))
}

/// Few enough connections and conversations that one user could take all.
const MAX_SESSIONS: &str = "400";

/// A call of a tool of the hostile tool process.
pub(crate) async fn call(client: &BinaryClient, name: &str, arguments: &str) -> Result<String, String> {
    let tools = client.list_tools(ListToolsRequest { include_schemas: true, ..ListToolsRequest::default() }).await;
    let tools = tools.map_err(|error| error.to_string())?.tools;
    let tool = tools.into_iter().find(|tool| tool.name == name).ok_or("the tool is not listed")?;
    let messages = DescriptorSchemas::new().of_proto(&tool).await.map_err(|error| error.to_string())?;
    let json = RawJson::parse(arguments.to_owned()).map_err(|error| error.to_string())?;
    let arguments = messages.arguments_to_any(&json).await.map_err(|error| error.to_string())?;
    let request = CallToolRequest { name: name.into(), arguments: Some(arguments), ..CallToolRequest::default() };
    let response = client.call_tool(request, None).await.map_err(|error| error.to_string())?;
    Ok(format!("{response:?}"))
}

/// A server with two users, told apart by their addresses.
pub(crate) struct Server {
    host: Host,
    carrier: Carrier,
    port: u16,
    /// Scenarios measure time, so they run one after the other.
    _alone: MutexGuard<'static, ()>,
}

impl Server {
    pub(crate) fn start(carrier: Carrier) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = hostile_tools();
        let mut args = vec!["run", tools.to_str().unwrap(), "--transport", carrier.transport(), "--port", "0"];
        if carrier != Carrier::Grpc {
            args.extend(["--max-sessions", MAX_SESSIONS]);
        }
        let host = Sandbox::new().pmcp(&args).env("HOSTILE_CALLS", "64").start();
        let log = host.stderr_with("serving");
        let line = log.lines().find(|line| line.contains(carrier.listening())).expect("it says where it listens");
        let digits: String = line.rsplit(':').next().unwrap().chars().take_while(char::is_ascii_digit).collect();
        Self { port: digits.parse().unwrap(), host, carrier, _alone: alone }
    }

    /// Carries an attack out while alice works.
    pub(crate) fn suffer<A: Future<Output = ()>>(&self, ops: &[Op], attack: impl FnOnce(Door) -> A) -> Report {
        let (rounds, seen) = watch::channel(0);
        let door = |number| Door { carrier: self.carrier, user: User::new(self.port, number), rounds: seen.clone() };
        let (alice, mallory) = (door(2), door(1));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let working = scope.spawn(|| work(&alice, ops, &rounds, &over));
            while *seen.borrow() == 0 && !working.is_finished() {
                thread::sleep(Duration::from_millis(10));
            }
            let before = peak(self.host.pid());
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .on_thread_start(|| setpriority_process(None, ATTACK_NICENESS).unwrap())
                .enable_all()
                .build()
                .unwrap();
            let ended = runtime.block_on(async { tokio::time::timeout(ATTACK, attack(mallory)).await });
            over.store(true, Ordering::Release);
            let work = working.join().unwrap();
            let grown = peak(self.host.pid()).saturating_sub(before);
            runtime.shutdown_background();
            Report { carrier: self.carrier, ended: ended.is_ok(), grown, work }
        })
    }
}

/// Works until the attack is over, or until she is not served.
fn work(door: &Door, ops: &[Op], rounds: &watch::Sender<usize>, over: &AtomicBool) -> Work {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut work = Work::default();
    runtime.block_on(async {
        let Some(client) = work.measure(Op::Arrive, door.client()).await else { return };
        let mut left = ROUNDS_AFTER;
        while left > 0 && work.failure.is_none() {
            left -= usize::from(over.load(Ordering::Acquire));
            for op in ops {
                work.measure(*op, async {
                    match op {
                        Op::List => list(&client).await,
                        Op::Call => echo(&client).await,
                        Op::Arrive => list(&door.client().await?).await,
                    }
                })
                .await;
            }
            rounds.send_modify(|rounds| *rounds += 1);
            tokio::time::sleep(pause()).await;
        }
    });
    work
}

async fn list(client: &BinaryClient) -> Result<(), String> {
    let page = client.list_tools(ListToolsRequest::default()).await.map_err(|error| error.to_string())?;
    if page.tools.is_empty() { Err("the list is empty".into()) } else { Ok(()) }
}

async fn echo(client: &BinaryClient) -> Result<(), String> {
    let said = call(client, "echo", r#"{"text":"alice"}"#).await?;
    if said.contains("alice") { Ok(()) } else { Err(said) }
}

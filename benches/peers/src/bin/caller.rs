//! Calls the tool `echo` of a server with one client library, and prints the figures of this process: `clients` starts
//! it once for each library, so that the processor time of each is its own.
//!
//! `caller (protomcp|proto-mcp|rmcp) CALLS WIDTH (http://… | proto://… | PROGRAM [ARG…])`

use std::error::Error;
use std::future::Future;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_bufmcp::{BinaryClient, BinaryClientConfig, CommandServer, Connect, DescriptorSchemas, TcpServer};
use protomcp_client::{Client, ClientSession, Command, Mode, guardian};
use protomcp_http_client::HttpTransport;
use protomcp_transport::lines::Lines;
use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt};
use rustix::time::{ClockId, clock_gettime};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The text of calls.
const TEXT: &str =
    "some words that make this call about as long as calls usually are, a few hundred bytes with what is around it";

const USAGE: &str = "usage: caller (protomcp|proto-mcp|rmcp) CALLS WIDTH (http://… | proto://… | PROGRAM [ARG…])";

fn main() -> Outcome<()> {
    guardian::run_if_requested();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Outcome<()> {
    let mut words = std::env::args().skip(1);
    let library = words.next().ok_or(USAGE)?;
    let calls = words.next().and_then(|word| word.parse().ok()).ok_or(USAGE)?;
    let width = words.next().and_then(|word| word.parse().ok()).ok_or(USAGE)?;
    let server: Vec<String> = words.collect();
    match library.as_str() {
        library @ ("protomcp" | "proto-mcp") => {
            let session = match library {
                "protomcp" => protomcp_session(&server).await?,
                _ => proto_session(&server).await?,
            };
            let session = Arc::new(session);
            let called = Arc::clone(&session);
            measure(calls, width, move || call_of_protomcp(Arc::clone(&called))).await?;
            session.close(Duration::from_secs(5)).await;
        }
        "rmcp" => {
            let session = Arc::new(rmcp_session(&server).await?);
            let called = Arc::clone(&session);
            measure(calls, width, move || call_of_rmcp(Arc::clone(&called))).await?;
            session.cancellation_token().cancel();
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

/// Opens a session of a revision with sessions, as the other library does.
async fn protomcp_session(server: &[String]) -> Outcome<ClientSession> {
    let client = Client::new("bench", "1").mode(Mode::Stateful);
    let (program, args) = server.split_first().ok_or(USAGE)?;
    if program.starts_with("http://") {
        return Ok(client.connect(HttpTransport::new(program)?).await?);
    }
    if let Some(address) = program.strip_prefix("proto://") {
        let (reader, writer) = TcpServer::new(address).connect().await?;
        return Ok(client.connect(Lines::new(reader, writer)).await?);
    }
    Ok(client.spawn(Command::new(program).args(args)).await?)
}

/// Opens a session whose other end is a conversation in proto-mcp.
async fn proto_session(server: &[String]) -> Outcome<ClientSession> {
    let (program, args) = server.split_first().ok_or(USAGE)?;
    let config = BinaryClientConfig::new("bench", "1");
    let transport = match program.strip_prefix("proto://") {
        Some(address) => {
            let (reader, writer) = TcpServer::new(address).connect().await?;
            BinaryClient::connect(reader, writer, config).await?
        }
        None => {
            let (reader, writer) = CommandServer::new(Command::new(program).args(args)).connect().await?;
            BinaryClient::connect(reader, writer, config).await?
        }
    };
    let transport = transport.into_transport(Arc::new(DescriptorSchemas::new()));
    Ok(Client::new("bench", "1").mode(Mode::Stateful).connect(transport).await?)
}

async fn rmcp_session(server: &[String]) -> Outcome<RunningService<RoleClient, ()>> {
    let (program, args) = server.split_first().ok_or(USAGE)?;
    if program.starts_with("http://") {
        return Ok(().serve(StreamableHttpClientTransport::from_uri(program.as_str())).await?);
    }
    let mut command = tokio::process::Command::new(program);
    command.args(args);
    Ok(().serve(TokioChildProcess::new(command)?).await?)
}

async fn call_of_protomcp(session: Arc<ClientSession>) -> Outcome<()> {
    let result = session.call_tool("echo", &serde_json::json!({"text": TEXT})).await?;
    if result.content.as_str().contains(TEXT) { Ok(()) } else { Err(format!("unexpected: {result:?}").into()) }
}

async fn call_of_rmcp(session: Arc<RunningService<RoleClient, ()>>) -> Outcome<()> {
    let serde_json::Value::Object(arguments) = serde_json::json!({"text": TEXT}) else {
        unreachable!("the literal is an object");
    };
    let result = session.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
    let text = result.content.first().and_then(|block| block.as_text());
    if text.is_some_and(|text| text.text == TEXT) { Ok(()) } else { Err(format!("unexpected: {result:?}").into()) }
}

/// Makes the calls with this many in flight, after a tenth as many to warm up, and prints nanoseconds: in all, of the
/// median call, of the 99th percentile, and of processor time; then the peak memory in kB.
async fn measure<F>(calls: usize, width: usize, call: impl Fn() -> F + Clone + Send + 'static) -> Outcome<()>
where
    F: Future<Output = Outcome<()>> + Send + 'static,
{
    make(calls / 10 + 1, width, call.clone()).await?;
    let (before, start) = (cpu(), Instant::now());
    let mut samples = make(calls, width, call).await?;
    let (took, used) = (start.elapsed(), cpu().saturating_sub(before));
    samples.sort_unstable();
    let share = |percent: usize| samples[(samples.len() - 1) * percent / 100].as_nanos();
    writeln!(
        std::io::stdout(),
        "{} {} {} {} {} {}",
        samples.len(),
        took.as_nanos(),
        share(50),
        share(99),
        used.as_nanos(),
        peak()
    )?;
    Ok(())
}

/// The peak memory of this process in kB.
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// The processor time of this process so far.
fn cpu() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or_default())
}

async fn make<F>(calls: usize, width: usize, call: impl Fn() -> F + Clone + Send + 'static) -> Outcome<Vec<Duration>>
where
    F: Future<Output = Outcome<()>> + Send + 'static,
{
    let tasks: Vec<_> = (0..width)
        .map(|_| {
            let call = call.clone();
            tokio::spawn(async move {
                let mut samples = Vec::with_capacity(calls / width + 1);
                for _ in 0..calls.div_ceil(width) {
                    let start = Instant::now();
                    call().await?;
                    samples.push(start.elapsed());
                }
                Outcome::Ok(samples)
            })
        })
        .collect();
    let mut all = Vec::with_capacity(calls + width);
    for task in tasks {
        all.extend(task.await??);
    }
    Ok(all)
}

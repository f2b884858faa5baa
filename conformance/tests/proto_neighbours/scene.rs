//! A server of proto-mcp with two users, one of whom works and measures every answer.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use protomcp_binary::message::{CallToolRequest, ListToolsRequest};
use protomcp_binary::{BinaryClient, BinaryClientConfig, DescriptorSchemas, ToolSchemas};
use protomcp_conformance::neighbours::{MARGIN, PROMISE, User, WORST, peak};
use protomcp_conformance::{Host, Sandbox, hostile_tools, tier};
use protomcp_types::RawJson;
use rustix::process::setpriority_process;
use tokio::io::{AsyncRead, AsyncWrite};

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
/// The time after which an answer counts as missing.
const TOO_LATE: Duration = Duration::from_secs(5);
/// The rounds of alice after an attack, so that the end of a short one is covered.
const ROUNDS_AFTER: usize = 8;

/// A way to carry frames of proto-mcp over a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Frames over TCP.
    Tcp,
}

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

impl Carrier {
    pub(crate) const ALL: [Self; 1] = [Self::Tcp];

    /// The value of `--transport`.
    fn transport(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
        }
    }

    /// The text of the log when the server listens, before the port.
    fn listening(self) -> &'static str {
        match self {
            Self::Tcp => "listening on proto://",
        }
    }
}

/// The way of a user to the server.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) carrier: Carrier,
    pub(crate) user: User,
}

impl Door {
    /// A stream of frames.
    pub(crate) async fn stream(&self) -> io::Result<(Reader, Writer)> {
        self.over(self.user.socket().await?)
    }

    /// A stream that the server soon has to wait for, when it is not read.
    pub(crate) async fn narrow_stream(&self) -> io::Result<(Reader, Writer)> {
        self.over(self.user.narrow_socket().await?)
    }

    fn over(&self, stream: tokio::net::TcpStream) -> io::Result<(Reader, Writer)> {
        match self.carrier {
            Carrier::Tcp => {
                let (reader, writer) = stream.into_split();
                Ok((Box::new(reader), Box::new(writer)))
            }
        }
    }

    /// A conversation.
    pub(crate) async fn client(&self) -> Result<BinaryClient, String> {
        let (reader, writer) = self.stream().await.map_err(|error| error.to_string())?;
        let config = BinaryClientConfig::new("neighbour", "1");
        BinaryClient::connect(reader, writer, config).await.map_err(|reason| reason.to_string())
    }
}

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
        let args = ["run", tools.to_str().unwrap(), "--transport", carrier.transport(), "--port", "0"];
        let host = Sandbox::new().pmcp(&args).env("HOSTILE_CALLS", "64").start();
        let log = host.stderr_with("serving");
        let line = log.lines().find(|line| line.contains(carrier.listening())).expect("it says where it listens");
        let digits: String = line.rsplit(':').next().unwrap().chars().take_while(char::is_ascii_digit).collect();
        Self { port: digits.parse().unwrap(), host, carrier, _alone: alone }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Carries an attack out while alice works.
    pub(crate) fn suffer(&self, ops: &[Op], attack: impl Future<Output = ()>) -> Report {
        let alice = Door { carrier: self.carrier, user: User::new(self.port, 2) };
        let (begun, over) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let working = scope.spawn(|| work(&alice, ops, &begun, &over));
            while !begun.load(Ordering::Acquire) && !working.is_finished() {
                thread::sleep(Duration::from_millis(10));
            }
            let before = peak(self.host.pid());
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .on_thread_start(|| setpriority_process(None, ATTACK_NICENESS).unwrap())
                .enable_all()
                .build()
                .unwrap();
            let limit = tier(Duration::from_secs(30), Duration::from_secs(120));
            let ended = runtime.block_on(async { tokio::time::timeout(limit, attack).await });
            over.store(true, Ordering::Release);
            let work = working.join().unwrap();
            let grown = peak(self.host.pid()).saturating_sub(before);
            drop(runtime);
            Report { carrier: self.carrier, ended: ended.is_ok(), grown, work }
        })
    }
}

/// An operation of alice.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// A page of the tools.
    List,
    /// A call that is answered at once.
    Call,
}

/// The results of alice's work.
#[derive(Debug, Default)]
struct Work {
    took: Vec<Duration>,
    failures: Vec<String>,
    arrivals: usize,
}

/// Her observations, and the cost of the attack.
#[derive(Debug)]
pub(crate) struct Report {
    carrier: Carrier,
    ended: bool,
    grown: u64,
    work: Work,
}

impl Report {
    /// Nothing of hers failed or took too long, and the server has grown by at most this many bytes.
    #[track_caller]
    pub(crate) fn holds(mut self, bound: u64) {
        let Self { carrier, ended, grown, work } = &mut self;
        assert!(*ended, "{carrier:?}: the attack did not finish");
        assert!(work.failures.is_empty(), "{carrier:?}: {:?}", work.failures);
        assert!(work.arrivals > 0, "{carrier:?}: she did not connect again");
        work.took.sort_unstable();
        let [p99, max] = [99, 100].map(|percent| work.took[(work.took.len() - 1) * percent / 100]);
        assert!(p99 <= PROMISE * MARGIN && max <= WORST * MARGIN, "{carrier:?}: {p99:?} (p99), {max:?} (max)");
        assert!(*grown <= bound, "{carrier:?}: {} MiB more, of {} MiB", *grown / MIB, bound / MIB);
    }
}

/// Works until the attack is over.
fn work(door: &Door, ops: &[Op], begun: &AtomicBool, over: &AtomicBool) -> Work {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut work = Work::default();
        let client = match door.client().await {
            Ok(client) => client,
            Err(why) => {
                work.failures.push(format!("she is not served before the attack: {why}"));
                return work;
            }
        };
        let (mut round, mut left) = (0, ROUNDS_AFTER);
        while left > 0 {
            left -= usize::from(over.load(Ordering::Acquire));
            round += 1;
            for op in ops {
                work.measure(async {
                    match op {
                        Op::List => list(&client).await,
                        Op::Call => echo(&client).await,
                    }
                })
                .await;
            }
            if round % 4 == 0 {
                let arrived = work.measure(async { list(&door.client().await?).await }).await;
                work.arrivals += usize::from(arrived);
            }
            begun.store(true, Ordering::Release);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        work
    })
}

impl Work {
    /// Measures one operation. True if it succeeds.
    async fn measure(&mut self, operation: impl Future<Output = Result<(), String>>) -> bool {
        let start = Instant::now();
        let outcome = tokio::time::timeout(TOO_LATE, operation).await;
        let outcome = outcome.unwrap_or_else(|_| Err("no answer".to_owned()));
        let is_good = outcome.is_ok();
        match outcome {
            Ok(()) => self.took.push(start.elapsed()),
            Err(why) => self.failures.push(why),
        }
        is_good
    }
}

async fn list(client: &BinaryClient) -> Result<(), String> {
    let page = client.list_tools(ListToolsRequest::default()).await.map_err(|error| error.to_string())?;
    if page.tools.is_empty() { Err("the list is empty".into()) } else { Ok(()) }
}

async fn echo(client: &BinaryClient) -> Result<(), String> {
    let said = call(client, "echo", r#"{"text":"alice"}"#).await?;
    if said.contains("alice") { Ok(()) } else { Err(said) }
}

//! A server that shares its sessions in a Redis next to one that does not, over HTTP. The same clients also reach it
//! through a second server, which hands their requests on.
//!
//! A call in a session and a call without one are answered as JSON, which needs no store. A call with progress is a
//! stream of events, each of which is in the store before its client has it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Outcome};
use crate::measurement::{Measurement, Meter, Row};
use crate::web::{TEXT, WebClient, WebServer};

/// The name of this part.
pub const PART: &str = "store";

/// Concurrent clients.
const WIDTHS: [usize; 2] = [1, 16];

/// The time in which the store has to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A call whose answer is a stream: five reports of progress, and the result.
const PROGRESS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep_ms","arguments":{"ms":0},"_meta":{"progressToken":"p"}}}"#;

/// The calls of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    InSessions,
    WithoutSessions,
    WithProgress,
}

const ALL: [(Calls, &str); 3] = [
    (Calls::WithoutSessions, "without a session"),
    (Calls::InSessions, "in sessions"),
    (Calls::WithProgress, "in sessions, with progress"),
];

/// Measures the server alone, with the store, and behind another one.
///
/// # Errors
///
/// If a program cannot be started, or an answer is wrong. `redis-server` has to be installed.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    let store = Store::start(bench.folder())?;
    let alone = serve(bench, None)?;
    let (holder, other) = (serve(bench, Some(&store))?, serve(bench, Some(&store))?);
    for (calls, case) in ALL {
        for width in WIDTHS {
            let row = |subject: &str| Row::new(PART, format!("{width} {case}"), subject);
            let count = bench.options.calls / if calls == Calls::WithProgress { 4 } else { 1 };
            let clients = |port| connect(port, port, calls, width);
            out.add(measure(alone.pid(), clients(alone.port())?, calls, count, row("without a store"))?);
            let meter = Meter::new(store.process.id());
            out.add(measure(holder.pid(), clients(holder.port())?, calls, count, row("with a store"))?);
            out.add(row("redis-server of these calls").spent(&meter.read(), count));
            if calls != Calls::WithoutSessions {
                let clients = connect(holder.port(), other.port(), calls, width)?;
                out.add(measure(other.pid(), clients, calls, count, row("through another server"))?);
            }
        }
    }
    Ok(())
}

/// Clients whose sessions are opened at one port, and used at another.
fn connect(opens: u16, uses: u16, calls: Calls, width: usize) -> io::Result<Vec<WebClient>> {
    let connect = || {
        if calls == Calls::WithoutSessions {
            return WebClient::stateless(uses);
        }
        let opened = WebClient::open(opens)?;
        let mut client = WebClient::connect(uses)?;
        client.resume(opened.session());
        Ok(client)
    };
    (0..width).map(|_| connect()).collect()
}

/// Makes `count` calls in total, spread over the clients; the processor time is the one of a process.
fn measure(pid: u32, mut clients: Vec<WebClient>, calls: Calls, count: usize, row: Row) -> Outcome<Row> {
    let each = (count / clients.len()).max(1);
    for client in &mut clients {
        (0..each / 10 + 1).try_for_each(|_| call(client, calls).map(drop))?;
    }
    let meter = Meter::new(pid);
    let threads: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            thread::spawn(move || (0..each).map(|_| call(&mut client, calls)).collect::<io::Result<Vec<_>>>())
        })
        .collect();
    let mut samples = Vec::with_capacity(count);
    for thread in threads {
        samples.extend(thread.join().map_err(|_| "a client panicked")??);
    }
    Ok(row.spent(&meter.read(), samples.len()).timed(samples))
}

fn call(client: &mut WebClient, calls: Calls) -> io::Result<Duration> {
    if calls != Calls::WithProgress {
        return client.call(TEXT);
    }
    let start = Instant::now();
    let reply = client.post(PROGRESS)?;
    let took = start.elapsed();
    let is_expected = reply.status == 200 && client.response_contains("notifications/progress");
    if is_expected { Ok(took) } else { Err(io::Error::other(format!("an unexpected answer: {reply:?}"))) }
}

/// Starts a server, which shares its sessions in the store if there is one.
fn serve(bench: &Bench, store: Option<&Store>) -> io::Result<WebServer> {
    let mut command = Command::new(&bench.programs.pmcp);
    command.arg("run").arg(&bench.programs.tool).args(["--transport", "http", "--port", "0"]);
    if let Some(Store { url, key, .. }) = store {
        command.env("PMCP_STORE", url).arg("--sealing-key-file").arg(key);
        command.args(["--replica-url", "http://127.0.0.1:0"]);
    }
    WebServer::start(command)
}

/// A Redis on a socket, which ends with its value.
#[derive(Debug)]
struct Store {
    process: Child,
    url: String,
    key: PathBuf,
}

impl Store {
    fn start(folder: &Path) -> io::Result<Self> {
        let (socket, key) = (folder.join("redis"), folder.join("key"));
        fs::write(&key, [7; 32])?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        // Of an earlier round.
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&socket);
        let process = command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let process = process.map_err(|error| io::Error::other(format!("redis-server: {error}")))?;
        let store = Self { process, url: format!("redis+unix://{}", socket.display()), key };
        let until = Instant::now() + PATIENCE;
        while UnixStream::connect(&socket).is_err() {
            if Instant::now() >= until {
                return Err(io::Error::other("redis-server does not listen"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(store)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

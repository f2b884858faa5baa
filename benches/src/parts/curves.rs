//! Growth curves: the same work at sizes that grow by a factor, usually of ten.

use std::io;
use std::time::Instant;

use crate::bench::{Bench, Outcome};
use crate::client::Client;
use crate::measurement::{Measurement, Meter, Metric, Row};
use crate::parts::{gateway, lists, results};
use crate::process::memory;
use crate::subject::{Tools, environment};
use crate::web::{TEXT, WebClient, WebServer};

/// The name of the curve over the number of tools.
pub const TOOLS: &str = "curve-tools";
/// The name of the curve over the size of a result in bytes.
pub const RESULTS: &str = "curve-results";
/// The name of the curve over the number of open sessions.
pub const SESSIONS: &str = "curve-sessions";
/// The name of the curve over the number of users with a session each.
pub const PRINCIPALS: &str = "curve-principals";

/// Numbers of tools. An envelope of a tool process has at most 16,384; servers behind the gateway may have more.
const MANY: [usize; 6] = [10, 100, 1_000, 10_000, 16_000, 100_000];
/// The most tools of a tool process.
const MOST_TOOLS: usize = 16_384;
/// Sizes of a result. `--max-result` is 256 MiB.
const SIZES: [usize; 7] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 256_000_000];
/// Bytes that are requested of a subject, in one to fifty results.
const BYTES: usize = 20_000_000;
/// Numbers of open sessions: `pmcp` allows 10,000.
const OPEN: [usize; 5] = [1, 10, 100, 1_000, 10_000];
/// Numbers of users.
const USERS: [usize; 4] = [1, 10, 100, 1_000];
/// Calls while sessions are open.
const CALLS: usize = 2_000;

/// Starts each subject with many tools and lists them, and does the same through the gateway.
///
/// # Errors
///
/// If a program cannot be started, or a list is too short.
pub fn tools_round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for count in bench.sizes(&MANY) {
        let tools = Tools::Many(count);
        for started in bench.started(tools) {
            let (subject, client) = started?;
            if count <= MOST_TOOLS || subject.bridge().is_none() {
                listed(client, count, subject.name(), out)?;
            }
        }
        for (name, mut command) in bench.bridges() {
            command.arg("run").arg("--").arg(&bench.programs.rmcp).arg("--pipes").envs(environment(tools));
            listed(Client::start(&mut command)?, count, &gateway::in_front(name), out)?;
        }
    }
    Ok(())
}

fn listed(mut client: Client, count: usize, subject: &str, out: &mut Measurement) -> Outcome<()> {
    let row = |case: &str| Row::new(TOOLS, case, subject).sized(count);
    let first = lists::first_page(&mut client, row("start to first page"))?;
    out.add(first.with(Metric::MemoryMb, memory(client.pid())));
    out.add(lists::whole_lists(&mut client, count, row("whole list"))?);
    Ok(())
}

/// Requests results of growing sizes.
///
/// # Errors
///
/// If a program cannot be started, or a result is too short.
pub fn results_round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for size in bench.sizes(&SIZES) {
        for (case, tools) in [("raw", Tools::Large(size)), ("zstd", Tools::LargeZstd(size))] {
            for started in bench.started(tools) {
                let (subject, mut client) = started?;
                client.handshake()?;
                let row = Row::new(RESULTS, case, subject.name()).sized(size);
                out.add(results::requests(&mut client, size, (BYTES / size).clamp(1, 50), row)?);
            }
        }
    }
    Ok(())
}

/// Opens sessions, leaves them open, and makes calls in the last one.
///
/// # Errors
///
/// If a program cannot be started, or an answer is wrong.
pub fn sessions_round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for count in bench.sizes(&OPEN) {
        for listening in bench.listening(&[]) {
            let (subject, server) = listening?;
            let row = |case: &str| Row::new(SESSIONS, case, subject.name()).sized(count);
            let mut client = WebClient::connect(server.port())?;
            out.add(opened(&server, &mut client, count, row("open all"))?);
            client.initialized()?;
            out.add(called(&server, count, row("a call while they are open"), |_| client.call(TEXT).map(drop))?);
        }
    }
    Ok(())
}

/// Opens a session for each of many users, told apart by the address that a proxy names, and makes calls for each in
/// turn.
///
/// # Errors
///
/// If the program cannot be started, or an answer is wrong.
pub fn principals_round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for count in bench.sizes(&USERS) {
        for (name, mut command) in bench.bridges() {
            command.arg("run").arg(&bench.programs.tool);
            command.args(["--transport", "http", "--port", "0", "--trusted-proxy", "127.0.0.1"]);
            let server = WebServer::start(command)?;
            let row = |case: &str| Row::new(PRINCIPALS, case, name).sized(count);
            let mut client = WebClient::connect(server.port())?;
            let (meter, before) = (Meter::new(server.pid()), memory(server.pid()));
            let mut sessions = Vec::with_capacity(count);
            for user in 0..count {
                client.forward_for(address(user));
                sessions.push(client.initialize()?.to_owned());
                client.initialized()?;
            }
            let growth = memory(server.pid()) - before;
            out.add(row("a session each").total(&meter.read()).with(Metric::GrowthMb, growth));
            out.add(called(&server, count, row("a call of each in turn"), |call| {
                let user = call % count;
                client.forward_for(address(user));
                client.resume(&sessions[user]);
                client.call(TEXT).map(drop)
            })?);
        }
    }
    Ok(())
}

/// An address for each of 65,536 users.
fn address(user: usize) -> String {
    format!("10.1.{}.{}", user / 256 % 256, user % 256)
}

/// Opens this many sessions on one connection, and leaves all of them open.
fn opened(server: &WebServer, client: &mut WebClient, count: usize, row: Row) -> Outcome<Row> {
    let (meter, before) = (Meter::new(server.pid()), memory(server.pid()));
    (0..count).try_for_each(|_| client.initialize().map(drop))?;
    Ok(row.total(&meter.read()).with(Metric::GrowthMb, memory(server.pid()) - before))
}

/// Makes calls one after the other, at least two for each of `count`.
fn called(server: &WebServer, count: usize, row: Row, mut call: impl FnMut(usize) -> io::Result<()>) -> Outcome<Row> {
    (0..CALLS / 10).try_for_each(&mut call)?;
    let calls = CALLS.max(2 * count);
    let meter = Meter::new(server.pid());
    let mut samples = Vec::with_capacity(calls);
    for number in 0..calls {
        let start = Instant::now();
        call(number)?;
        samples.push(start.elapsed());
    }
    Ok(row.spent(&meter.read(), calls).timed(samples))
}

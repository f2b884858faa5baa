//! Endless connections, and exhausted descriptors.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use protomcp_conformance::{Sandbox, Web, eventually};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use serde_json::{Value, json};

/// `pmcp` with this soft limit of open files.
fn limited(soft: u64, flags: &[&str]) -> Web {
    let sandbox = Sandbox::new();
    sandbox.copy("py/limits.py");
    Web::launch(sandbox.clone(), sandbox.pmcp(&[&["run", "limits.py", "--port", "0"], flags].concat()).open_files(soft))
}

/// This program holds the other ends.
fn take_all_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let maximum = limit.maximum.unwrap_or(1 << 20);
    setrlimit(Resource::Nofile, Rlimit { current: Some(maximum), ..limit }).expect("the soft limit can be raised");
    maximum
}

/// True if `pmcp` has neither answered nor closed a connection.
fn is_open(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket need not block");
    stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn connections(web: &Web, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(("127.0.0.1", web.port())).expect("pmcp listens")).collect()
}

/// Item 95.
#[test]
fn idle_connections_beyond_the_soft_limit_block_no_client() {
    let hard = take_all_descriptors();
    assert!(hard > 3000, "this test needs a hard limit of 3,000 open files; it is {hard}");
    for flags in [&["--transport", "http"][..], &["--transport", "sse"]] {
        // Each idle connection has 10 s for its first request, which on a busy machine may be over before the new host is
        // served. A host behind them would be served when they have ended.
        let (web, _idle) = eventually("a new host with idle connections", || {
            let mut web = limited(1024, flags);
            let idle = connections(&web, 1100);
            web.initialize();
            idle.iter().all(is_open).then_some((web, idle))
        });
        let reply = web.call("open_files", &json!({}));
        assert_eq!(text(&reply.json()), format!("1024 {hard}"));
    }
}

/// Item 95.
#[test]
fn running_out_of_descriptors_stops_nothing_and_logs_little() {
    let mut web = limited(1024, &["--transport", "http"]);
    web.initialize();
    let pid = web.process().pid();
    let open = fs::read_dir(format!("/proc/{pid}/fd")).expect("pmcp runs").count() as u64;
    let process = Pid::from_raw(pid.cast_signed());
    let limit = getrlimit(Resource::Nofile);
    let tight = Rlimit { current: Some(open + 5), maximum: limit.maximum };
    prlimit(process, Resource::Nofile, tight).expect("it is our process");
    let (began, before) = (Instant::now(), cpu_ticks(pid));
    // The system completes connections that pmcp has not accepted yet.
    let mut idle = connections(&web, 40);
    assert_eq!(web.call("open_files", &json!({})).status, 200);
    sleep(Duration::from_secs(3).saturating_sub(began.elapsed()));
    let (seconds, ticks) = (began.elapsed().as_secs_f64(), cpu_ticks(pid) - before);
    // 100 ticks are a second.
    assert!((ticks as f64) < seconds * 20.0, "pmcp worked for {ticks} of {seconds:.1} × 100 ticks");
    let log = web.process().stderr();
    let lines = log.lines().filter(|line| line.contains("attempts to accept a connection failed")).count();
    assert!((1..=began.elapsed().as_secs() as usize + 1).contains(&lines), "{lines} lines in {seconds:.1} s: {log}");
    // Some connections were closed in favour of others, and the others are served.
    let mut open = 0;
    for stream in &mut idle {
        stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket has timeouts");
        open += usize::from(stream.write_all(b"").is_ok() && stream.read(&mut [0]).is_err());
    }
    assert!(open < 40, "none was closed");
}

/// The processor time of a process, in hundredths of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("pmcp runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
}

fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {reply}"))
}

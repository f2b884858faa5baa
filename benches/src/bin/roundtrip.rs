//! Measures the whole bridge, its lower bound and a server without a second process, and prints a table.
//!
//! `cargo run --release -p protomcp-benches --bin roundtrip -- [--rounds N] [--calls N]`
//!
//! With the path of another build of `pmcp` in `PMCP_OTHER`, that build is measured too. All subjects take turns within each round, so that other load on the machine affects them alike. Figures are medians
//! of the rounds. Compare within one run, and ignore differences below 15 %.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use protomcp_benches::{Client, Figures, Measured, Programs, Subject, cpu, flags, memory, micros, millis, peak};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The environment variables of a subject.
type Environment<'a> = &'a [(&'a str, &'a str)];

/// The number of calls in flight during the burst.
const WIDTH: usize = 64;
/// The number of calls that wait for a tool process while lists are requested.
const QUEUED: usize = 1_000;
/// The size of the large result.
const LARGE: usize = 100_000_000;

struct Plan {
    rounds: usize,
    calls: usize,
    out: std::io::Stdout,
}

fn main() -> Outcome<()> {
    let [rounds, count] = flags([("--rounds", 5), ("--calls", 4_000)])?;
    let mut plan = Plan { rounds, calls: count, out: std::io::stdout() };
    let programs = Programs::build()?;
    calls(&mut plan, &programs, "on all processors")?;
    let all = sched_getaffinity(None)?;
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).ok_or("there is no processor")?);
    sched_setaffinity(None, &one)?;
    calls(&mut plan, &programs, "on one processor")?;
    sched_setaffinity(None, &all)?;
    large(&mut plan, &programs)?;
    lists(&mut plan, &programs)?;
    idle_and_cold(&mut plan, &programs)
}

/// Small calls: latency, throughput, processor time, cold start.
///
/// The placement of processes by the scheduler moves the latencies of all subjects. With everything on one processor it
/// cannot, so latencies are compared there; throughput is measured on all processors.
fn calls(plan: &mut Plan, programs: &Programs, place: &str) -> Outcome<()> {
    let mut all: BTreeMap<&str, Figures> = BTreeMap::new();
    for _ in 0..plan.rounds {
        for subject in Subject::all(programs) {
            let figures = all.entry(subject.name()).or_default();
            for _ in 0..5 {
                figures.cold.push(subject.start(programs, &[])?.handshake()?);
            }
            round(plan.calls, &mut subject.start(programs, &[])?, figures)?;
        }
    }
    writeln!(
        plan.out,
        "| stdio {place}, {} rounds | one at a time p50 / p99, µs | CPU per call, µs | {WIDTH} in flight, calls/s | CPU per call, µs | cold start to tools/list, ms |",
        plan.rounds
    )?;
    writeln!(plan.out, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
    for subject in Subject::all(programs) {
        let figures = &all[subject.name()];
        let per_second = 1.0 / figures.burst.median().as_secs_f64().max(1e-9);
        writeln!(
            plan.out,
            "| {} | {} / {} | {} | {per_second:.0} | {} | {} |",
            subject.name(),
            micros(figures.p50.median()),
            micros(figures.p99.median()),
            micros(figures.cpu_single.median()),
            micros(figures.cpu_many.median()),
            millis(figures.cold.median()),
        )?;
    }
    writeln!(plan.out)?;
    Ok(())
}

fn round(calls: usize, client: &mut Client, figures: &mut Figures) -> Outcome<()> {
    client.handshake()?;
    client.one_at_a_time(calls / 4)?;
    let before = cpu(client.pid());
    let mut samples = client.one_at_a_time(calls)?;
    figures.cpu_single.push(each(cpu(client.pid()).saturating_sub(before), calls));
    samples.sort_unstable();
    figures.p50.push_share(&samples, 0.5);
    figures.p99.push_share(&samples, 0.99);

    let many = calls * 10;
    client.many_in_flight(many / 4, WIDTH)?;
    let before = cpu(client.pid());
    let took = client.many_in_flight(many, WIDTH)?;
    figures.cpu_many.push(each(cpu(client.pid()).saturating_sub(before), many));
    figures.burst.push(each(took, many));
    Ok(())
}

fn each(total: Duration, count: usize) -> Duration {
    total / u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

/// One large result: time compared with the relay, and memory.
fn large(plan: &mut Plan, programs: &Programs) -> Outcome<()> {
    let size = LARGE.to_string();
    let rows: [(&str, Subject, Environment<'_>); 3] = [
        ("relay", Subject::Relay, &[]),
        ("pmcp, raw", Subject::PmcpLarge, &[("LARGE_SIZE", &size)]),
        ("pmcp, zstd", Subject::PmcpLarge, &[("LARGE_SIZE", &size), ("LARGE_ZSTD", "1")]),
    ];
    let mut times: BTreeMap<&str, (Measured, Measured, u64)> = BTreeMap::new();
    for _ in 0..3 {
        for (name, subject, env) in rows {
            let mut client = subject.start(programs, env)?;
            client.handshake()?;
            let before = cpu(client.pid());
            let (took, bytes) = client.large(LARGE)?;
            if bytes < LARGE {
                return Err(format!("{name}: only {bytes} bytes came").into());
            }
            let entry = times.entry(name).or_default();
            entry.0.push(took);
            entry.1.push(cpu(client.pid()).saturating_sub(before));
            entry.2 = entry.2.max(peak(client.pid()));
        }
    }
    writeln!(
        plan.out,
        "| result of {} MB | ms | of that CPU of the bridge, ms | peak memory, MB |",
        LARGE / 1_000_000
    )?;
    writeln!(plan.out, "| --- | ---: | ---: | ---: |")?;
    for (name, ..) in rows {
        let (took, cpu, peak) = &times[name];
        writeln!(
            plan.out,
            "| {name} | {} | {} | {:.0} |",
            millis(took.median()),
            millis(cpu.median()),
            kilobytes(*peak)
        )?;
    }
    writeln!(plan.out)?;
    Ok(())
}

/// Many tools: the cost of the start and of the whole list, compared with a tenth of them; and a list while calls are
/// queued.
fn lists(plan: &mut Plan, programs: &Programs) -> Outcome<()> {
    let mut rows: BTreeMap<usize, [Measured; 2]> = BTreeMap::new();
    for _ in 0..plan.rounds {
        for count in [1_000, 10_000] {
            let many = count.to_string();
            let env = [("LARGE_SIZE", "1000"), ("MANY_TOOLS", many.as_str())];
            let [start, list] = rows.entry(count).or_default();
            let mut client = Subject::PmcpLarge.start(programs, &env)?;
            start.push(client.handshake()?);
            let began = Instant::now();
            let seen = client.list()?;
            list.push(began.elapsed());
            if seen != count + 1 {
                return Err(format!("{seen} tools were listed of {}", count + 1).into());
            }
        }
    }
    writeln!(plan.out, "| tools | start to first page, ms | the whole list, page after page, ms |")?;
    writeln!(plan.out, "| --- | ---: | ---: |")?;
    for (count, [start, list]) in &rows {
        writeln!(plan.out, "| {count} | {} | {} |", millis(start.median()), millis(list.median()))?;
    }

    let env = [("LARGE_SIZE", "1000"), ("NO_ANSWER", "1")];
    let mut client = Subject::PmcpLarge.start(programs, &env)?;
    client.handshake()?;
    client.send_calls(QUEUED)?;
    let mut samples = Vec::new();
    for _ in 0..1_000 {
        let began = Instant::now();
        client.list()?;
        samples.push(began.elapsed());
    }
    samples.sort_unstable();
    let mut queued = Figures::default();
    queued.p50.push_share(&samples, 0.5);
    queued.p99.push_share(&samples, 0.99);
    writeln!(
        plan.out,
        "\ntools/list while {QUEUED} calls wait, p50 / p99: {} / {} µs\n",
        micros(queued.p50.median()),
        micros(queued.p99.median())
    )?;
    Ok(())
}

/// Idle memory, and the start of a tool process that answers every request. The example leaves the bridge's resource
/// request unanswered, as a simple SDK does, and the bridge waits for the answer.
fn idle_and_cold(plan: &mut Plan, programs: &Programs) -> Outcome<()> {
    let small = [("LARGE_SIZE", "1000")];
    let mut cold = Measured::default();
    for _ in 0..20 {
        cold.push(Subject::PmcpLarge.start(programs, &small)?.handshake()?);
    }
    writeln!(plan.out, "cold start to tools/list, tool process that answers everything: {} ms", millis(cold.median()))?;
    let mut client = Subject::Pmcp.start(programs, &[])?;
    client.handshake()?;
    writeln!(plan.out, "idle memory of pmcp: {:.1} MB", kilobytes(memory(client.pid())))?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "memory in kB is far below 2^52")]
fn kilobytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1000.0
}

//! The goals, each with its figure.

use crate::measurement::{Metric, Row};
use crate::parts::{http, lists, memory, overload, protocols, reload, results, sessions, start, stdio};
use crate::subject::{PMCP, RELAY, RMCP};

/// A goal that was measured.
#[derive(Debug, Clone, PartialEq)]
struct Goal {
    name: &'static str,
    /// The figure, and its unit or `×`.
    value: f64,
    unit: &'static str,
    bound: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// The medians of one run.
#[derive(Clone, Copy)]
struct Medians<'a>(&'a [Row]);

/// A table of the goals whose figures were measured; empty if there are none.
pub fn table(rows: &[Row]) -> String {
    let goals = measured(Medians(rows));
    if goals.is_empty() {
        return String::new();
    }
    let rows: String = goals.iter().map(Goal::row).collect();
    format!("| goal | | measured | |\n| --- | --- | ---: | --- |{rows}")
}

impl Goal {
    fn row(&self) -> String {
        let Self { name, value, unit, bound } = self;
        let (bound, is_met) = match bound {
            Bound::AtMost(limit) => (format!("≤ {limit}"), value <= limit),
            Bound::AtLeast(limit) => (format!("≥ {limit}"), value >= limit),
        };
        let outcome = if is_met { "met" } else { "**missed**" };
        format!("\n| {name} | {bound} {unit} | {value:.2} {unit} | {outcome} |")
    }
}

impl Medians<'_> {
    fn of(self, part: &str, case: &str, subject: &str, metric: Metric) -> Option<f64> {
        let is_it = |row: &&Row| row.part == part && row.case == case && row.subject == subject;
        self.0.iter().find(is_it)?.median(metric)
    }

    /// A figure of `pmcp`, divided by a figure of another subject in the same case.
    fn against(self, peer: &str, part: &str, case: &str, metric: Metric) -> Option<f64> {
        Some(self.of(part, case, PMCP, metric)? / self.of(part, case, peer, metric)?)
    }

    /// A figure of `pmcp` in one case, divided by the same in another.
    fn between(self, part: &str, cases: [&str; 2], metric: Metric) -> Option<f64> {
        Some(self.of(part, cases[0], PMCP, metric)? / self.of(part, cases[1], PMCP, metric)?)
    }
}

/// All goals whose figures were measured.
fn measured(rows: Medians<'_>) -> Vec<Goal> {
    let all = [over_stdio, over_http, of_protocols, of_sizes, of_memory, of_reloads, of_overload];
    all.iter().flat_map(|goals| goals(rows)).collect()
}

fn at_most(name: &'static str, limit: f64, unit: &'static str, value: Option<f64>) -> Option<Goal> {
    Some(Goal { name, value: value?, unit, bound: Bound::AtMost(limit) })
}

fn at_least(name: &'static str, limit: f64, unit: &'static str, value: Option<f64>) -> Option<Goal> {
    Some(Goal { name, value: value?, unit, bound: Bound::AtLeast(limit) })
}

fn over_stdio(rows: Medians<'_>) -> Vec<Goal> {
    let (single, many) = ("one at a time", "64 in flight");
    let share =
        |part| Some(rows.of(part, single, PMCP, Metric::P99Us)? / rows.of(part, single, PMCP, Metric::MedianUs)?);
    let cold = rows.of(start::PART, "native tool", PMCP, Metric::MedianUs).map(|micros| micros / 1e3);
    [
        at_most(
            "stdio, one at a time, median / the relay's",
            1.25,
            "×",
            rows.against(RELAY, stdio::PART, single, Metric::MedianUs),
        ),
        at_most("the same / rmcp's", 1.0, "×", rows.against(RMCP, stdio::PART, single, Metric::MedianUs)),
        at_most(
            "the same on one processor / the relay's",
            1.25,
            "×",
            rows.against(RELAY, stdio::PINNED, single, Metric::MedianUs),
        ),
        at_most("the same / rmcp's", 1.0, "×", rows.against(RMCP, stdio::PINNED, single, Metric::MedianUs)),
        at_most("stdio, one at a time, p99 / median", 3.0, "×", share(stdio::PART)),
        at_least(
            "stdio, 64 in flight, calls per second / rmcp's",
            8.0,
            "×",
            rows.against(RMCP, stdio::PART, many, Metric::PerSecond),
        ),
        at_most("stdio, 64 in flight, CPU of a call", 4.0, "µs", rows.of(stdio::PART, many, PMCP, Metric::CpuUs)),
        at_most("start / rmcp's", 1.0, "×", rows.against(RMCP, start::PART, "native tool", Metric::MedianUs)),
        at_most("start to tools/list", 4.0, "ms", cold),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn over_http(rows: Medians<'_>) -> Vec<Goal> {
    let widths = [
        (1, 1.5, 40.0, "HTTP, 1 session, calls per second / rmcp's", "HTTP, 1 session, CPU of a call"),
        (16, 2.0, 20.0, "HTTP, 16 sessions, calls per second / rmcp's", "HTTP, 16 sessions, CPU of a call"),
        (64, 2.0, 20.0, "HTTP, 64 sessions, calls per second / rmcp's", "HTTP, 64 sessions, CPU of a call"),
    ];
    let mut goals = Vec::new();
    for (width, ratio, cpu, faster, cheaper) in widths {
        let case = http::sessions(width);
        goals.extend(at_least(faster, ratio, "×", rows.against(RMCP, http::PART, &case, Metric::PerSecond)));
        goals.extend(at_most(cheaper, cpu, "µs", rows.of(http::PART, &case, PMCP, Metric::CpuUs)));
    }
    let (without, with) = (http::stateless(16), http::sessions(16));
    let share = rows.between(http::PART, [&without, &with], Metric::CpuUs);
    goals.extend(at_most("HTTP, 16 clients, CPU of a call without / with a session", 1.0, "×", share));
    goals
}

fn of_protocols(rows: Medians<'_>) -> Vec<Goal> {
    let share = |carrier: &str, calls: &str| {
        let cases = [protocols::PROTO, protocols::JSON].map(|spoken| protocols::case(carrier, calls, spoken));
        rows.between(protocols::PART, [&cases[0], &cases[1]], Metric::CpuUs)
    };
    let (single, many) = ("one at a time", "64 in flight");
    [
        at_most("proto-mcp over TCP, one at a time, CPU of a call / JSON-RPC's", 1.2, "×", share("TCP", single)),
        at_most("proto-mcp over TCP, 64 in flight, the same", 1.3, "×", share("TCP", many)),
        at_most("proto-mcp over stdio, one at a time, the same", 1.2, "×", share("stdio", single)),
        at_most("proto-mcp over stdio, 64 in flight, the same", 1.3, "×", share("stdio", many)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_sizes(rows: Medians<'_>) -> Vec<Goal> {
    let (raw, zstd) = ("100 MB raw", "100 MB zstd");
    let time = |case| {
        let relay = rows.of(results::PART, raw, RELAY, Metric::MedianUs)?;
        Some(rows.of(results::PART, case, PMCP, Metric::MedianUs)? / relay)
    };
    let peak = |case| rows.of(results::PART, case, PMCP, Metric::PeakMb);
    let (many, few) = (lists::start_case(10_000), lists::start_case(1_000));
    let queued = format!("tools/list while {} calls wait", lists::WAITING);
    let queued = rows.of(lists::QUEUED, &queued, PMCP, Metric::P99Us).map(|micros| micros / 1e3);
    [
        at_most("100 MB raw, time / the relay's", 2.0, "×", time(raw)),
        at_most("100 MB zstd, time / the relay's raw", 2.0, "×", time(zstd)),
        at_most("100 MB raw, peak memory", 220.0, "MB", peak(raw)),
        at_most("100 MB zstd, peak memory", 220.0, "MB", peak(zstd)),
        at_most("start, 10,000 / 1,000 tools", 10.0, "×", rows.between(lists::PART, [&many, &few], Metric::MedianUs)),
        at_most("tools/list while 1,000 calls wait, p99", 10.0, "ms", queued),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_memory(rows: Medians<'_>) -> Vec<Goal> {
    let idle = |case| rows.of(memory::PART, case, PMCP, Metric::MemoryMb);
    let cycles = [sessions::case(1), sessions::case(2)];
    let each = |cycle: &str| rows.of(sessions::PART, cycle, PMCP, Metric::EachKb);
    let share = rows.between(sessions::PART, [&cycles[1], &cycles[0]], Metric::MemoryMb);
    [
        at_most("idle memory on stdio", 7.0, "MB", idle(memory::STDIO)),
        at_most("idle memory over HTTP", 7.0, "MB", idle(memory::HTTP)),
        at_most("memory of a session", 6.0, "kB", each(&cycles[0])),
        at_most("memory after the second / the first cycle of 10,000 sessions", 1.05, "×", share),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_reloads(rows: Medians<'_>) -> Vec<Goal> {
    let more = |tool: &str, save: &str| {
        let alone = rows.of(reload::PART, &reload::start_case(tool), reload::ALONE, Metric::MedianUs)?;
        Some((rows.of(reload::PART, &reload::save_case(tool, save), PMCP, Metric::MedianUs)? - alone) / 1e3)
    };
    let (native, python) = (reload::NATIVE, reload::PYTHON);
    [
        at_most("first save to list_changed beyond the start, native", 45.0, "ms", more(native, "first")),
        at_most("second save, native", 45.0, "ms", more(native, "second")),
        at_most("first save, Python", 45.0, "ms", more(python, "first")),
        at_most("second save, Python", 45.0, "ms", more(python, "second")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_overload(rows: Medians<'_>) -> Vec<Goal> {
    let lists = rows.of(overload::PART, overload::LISTS, PMCP, Metric::P99Us).map(|micros| micros / 1e3);
    let last = rows.of(overload::PART, overload::RECOVERY, PMCP, Metric::TotalMs);
    [
        at_most("tools/list at twice the capacity, p99", 10.0, "ms", lists),
        at_most("from the end of the overload to the last refusal", 1_000.0, "ms", last),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_that_were_measured_are_met_or_missed() {
        let row = |case: &str, subject: &str, metric, value| Row::new(stdio::PART, case, subject).with(metric, value);
        let rows = [
            row("one at a time", RELAY, Metric::MedianUs, 20.0),
            row("one at a time", PMCP, Metric::MedianUs, 24.0),
            row("64 in flight", PMCP, Metric::CpuUs, 5.5),
        ];
        let expected = "\
| goal | | measured | |
| --- | --- | ---: | --- |
| stdio, one at a time, median / the relay's | ≤ 1.25 × | 1.20 × | met |
| stdio, 64 in flight, CPU of a call | ≤ 4 µs | 5.50 µs | **missed** |";
        assert_eq!(table(&rows), expected);
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn a_reload_is_measured_beyond_the_start() {
        let row =
            |case: String, subject: &str, value| Row::new(reload::PART, case, subject).with(Metric::MedianUs, value);
        let rows = [
            row(reload::start_case(reload::NATIVE), reload::ALONE, 2_000.0),
            row(reload::save_case(reload::NATIVE, "second"), PMCP, 46_000.0),
        ];
        let goals = of_reloads(Medians(&rows));
        let expected = Goal { name: "second save, native", value: 44.0, unit: "ms", bound: Bound::AtMost(45.0) };
        assert_eq!(goals, [expected]);
    }
}

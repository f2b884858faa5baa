//! Measures what proto-mcp is said to save, and writes `docs/proto-mcp-claims.md`.
//!
//! `cargo run --release -p protomcp-benches --features claims --bin proto_claims -- [--lists FOLDER] [--out FILE]`
//!
//! `--lists` names a folder with results of `tools/list`, such as `pmcp list --json SERVER` prints them; without it the
//! lists in `crates/descriptors/tests/samples` are counted, which are written for tests and shorter than real ones. The document
//! has the counts and digests of lists, and none of their texts. The tables are printed unless `--out` names a file.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

mod lazy;
mod lists;
mod registry;
mod speed;
#[cfg(test)]
mod tests;
mod tokens;

use lists::{List, Outcome};
use registry::Times;
use speed::{Pair, Step};
use tokens::{CONTROL, Column, LAZY_SESSION, NAMES, REFERENCES, RESAMPLES, SAMPLES, SEARCH, SIZES, TEXT};

/// The tools that a session is assumed to use after a search.
const USED: f64 = 3.0;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/descriptors/tests/samples"));
    let mut out = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or("usage: proto_claims [--lists FOLDER] [--out FILE]")?;
        match word.as_str() {
            "--lists" => folder = PathBuf::from(value),
            "--out" => out = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown flag {word}").into()),
        }
    }
    let lists = lists::read(&folder)?;
    let times = registry::measure().await?;
    let text = document(&lists, &times)?;
    match out {
        Some(path) => std::fs::write(path, text)?,
        None => std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?,
    }
    Ok(())
}

/// The whole document.
fn document(lists: &[List], times: &Times) -> Outcome<String> {
    let machine = protomcp_benches::machine::summary();
    let cl100k = bpe_openai::cl100k_base();
    let count: usize = lists.iter().map(|list| list.tools.len()).sum();
    let captured: Vec<usize> = SIZES.into_iter().filter(|size| *size <= count).collect();
    let columns = tokens::columns(cl100k, lists, &SIZES);
    let others = tokens::columns(bpe_openai::o200k_base(), lists, &captured);
    let sizes = tokens::sizes(cl100k, lists);
    let (pairs, steps) = (speed::pairs(lists), speed::steps()?);
    let mut text = String::from(
        "# The claims about proto-mcp, measured\n\n\
         proto-mcp comes with figures: 99 % fewer tokens, five times faster serialization, schemas from the cache in less\n\
         than 1 ms, 0.1 ms to encode a message. Each is measured here with its control. This document is written by\n\n\
         ```sh not-run\n\
         cargo run --release -p protomcp-benches --features claims --bin proto_claims -- --lists FOLDER --out docs/proto-mcp-claims.md\n\
         ```\n\n",
    );
    text.push_str("| claim | measured | control | verdict |\n| --- | --- | --- | --- |\n");
    token_verdicts(&mut text, &columns);
    speed_verdicts(&mut text, &pairs, &steps, times);
    token_tables(&mut text, lists, &columns, &others, sizes);
    speed_tables(&mut text, &machine, &pairs, &steps);
    registry_table(&mut text, times);
    Ok(text)
}

/// The claims about tokens, with verdicts that follow from the figures.
fn token_verdicts(text: &mut String, columns: &[Column]) {
    for column in columns {
        let note = if column.is_resampled { ", resampled" } else { "" };
        let change = |at: usize| column.reductions[at].mean;
        let _ = writeln!(
            text,
            "| 99 % fewer tokens at {} tools{note} | {:+.1} % as base64 with references; {:+.1} % as text; {:+.1} % as the \
             five best of a search | {:+.1} % as JSON with name and description, without protobuf; {:+.1} % as names only | \
             {} |",
            column.size,
            change(REFERENCES),
            change(TEXT),
            change(SEARCH),
            change(CONTROL),
            change(NAMES),
            if change(REFERENCES) <= -99.0 {
                "holds"
            } else if change(SEARCH) <= -99.0 {
                "does not hold for a list; holds for a search, before any schema is read"
            } else {
                "does not hold"
            },
        );
    }
}

/// The claims about time, with verdicts that follow from the figures.
fn speed_verdicts(text: &mut String, pairs: &[Pair], steps: &[Step], times: &Times) {
    let ratios: Vec<f64> = pairs.iter().map(|pair| ratio(pair.json, pair.protobuf)).collect();
    let (least, most) =
        (ratios.iter().copied().fold(f64::INFINITY, f64::min), ratios.iter().copied().fold(0.0, f64::max));
    let _ = writeln!(
        text,
        "| serialization is 5 times faster | {least:.1} to {most:.1} times | the same content as typed JSON | {} |",
        if cfg!(debug_assertions) {
            "not judged: an unoptimized build"
        } else if least >= 5.0 {
            "holds"
        } else if most >= 5.0 {
            "holds for some messages"
        } else {
            "does not hold"
        },
    );
    let (p50, p99) = times.cached;
    let _ = writeln!(
        text,
        "| a cached schema takes less than 1 ms | p50 {}, p99 {}; with the check of a message p50 {}, p99 {} | {} from disk \
         after a start | {} |",
        micros(p50),
        micros(p99),
        micros(times.with_check.0),
        micros(times.with_check.1),
        micros(times.disk),
        if times.with_check.1 < Duration::from_millis(1) { "holds" } else { "does not hold" },
    );
    let worst =
        pairs.iter().filter(|pair| pair.what.ends_with("encode")).map(|pair| pair.protobuf).max().unwrap_or_default();
    let worst = worst.max(steps.iter().find(|step| step.what == "encode it").map(|step| step.time).unwrap_or_default());
    let json =
        pairs.iter().filter(|pair| pair.what.ends_with("encode")).map(|pair| pair.json).max().unwrap_or_default();
    let _ = writeln!(
        text,
        "| 0.1 ms to encode in protobuf, 0.5 ms in JSON | at most {} in protobuf, {} in JSON | the same content | {} |\n",
        micros(worst),
        micros(json),
        if worst <= Duration::from_micros(100) { "holds" } else { "does not hold" },
    );
}

fn token_tables(text: &mut String, lists: &[List], columns: &[Column], others: &[Column], sizes: [f64; 4]) {
    let count: usize = lists.iter().map(|list| list.tools.len()).sum();
    let [mean, median, least, most] = sizes;
    let _ = writeln!(
        text,
        "What saves tokens is to leave schemas out, in whatever form the rest is written. Base64 of protobuf is the form \
         with the most tokens per byte. A schema that is left out is paid for when its tool is used: a session that finds \
         five tools by a search among 100 and reads {USED:.0} schemas takes {:.0} tokens instead of {:.0} ({:+.1} %).\n",
        search_and_use(columns, mean).0,
        search_and_use(columns, mean).1,
        100.0 * (search_and_use(columns, mean).0 / search_and_use(columns, mean).1 - 1.0),
    );
    let lazy = columns.iter().map(|column| {
        let change = column.reductions[LAZY_SESSION].mean;
        format!(
            "{:.0} instead of {:.0} at {} tools ({change:+.1} %)",
            column.count(LAZY_SESSION),
            column.count(0),
            column.size
        )
    });
    let _ = writeln!(
        text,
        "The same with [`--lazy-tools`](lazy-tools.md), as a host of JSON-RPC sees it: a session that searches for each of three \
         tools with six words, with ten results each, and reads their definitions has these tokens, its own arguments \
         included (a tool that was drawn twice is one to a search): {}. The arguments of `call_tool` repeat the name of the tool, which is not counted.\n",
        lazy.collect::<Vec<_>>().join("; "),
    );
    let _ = writeln!(
        text,
        "## Tokens\n\n\
         {count} tools of {} lists. A tool as JSON has {mean:.0} tokens on average (median {median:.0}, {least:.0} to \
         {most:.0}); the claim assumes 1,000, and 10 in protobuf, which is less than a reference alone. Each column is the \
         mean of {SAMPLES} random samples of that many tools, with the change against the first row and its range; a size above \
         {count} is drawn with repetition, {RESAMPLES} times. The encoding is cl100k_base, which the claim names; it is OpenAI's. Other models \
         have other encodings, so the table follows once more in o200k_base.\n",
        lists.len(),
    );
    text.push_str(&tokens::table(columns));
    text.push_str("\nIn o200k_base:\n\n");
    text.push_str(&tokens::table(others));
    text.push_str("\nEach list as a whole, in cl100k_base, and the beginning of its digest:\n\n");
    text.push_str(&tokens::lists_table(bpe_openai::cl100k_base(), lists));
}

/// The tokens of a session with a search and some schemas, and the tokens of the list of 100 tools.
fn search_and_use(columns: &[Column], mean: f64) -> (f64, f64) {
    let column = columns.iter().find(|column| column.size == 100).or(columns.first());
    column.map(|column| (column.count(SEARCH) + USED * mean, column.count(0))).unwrap_or_default()
}

fn speed_tables(text: &mut String, machine: &str, pairs: &[Pair], steps: &[Step]) {
    let build =
        if cfg!(debug_assertions) { "an unoptimized build, so these are upper bounds" } else { "a release build" };
    let _ = writeln!(
        text,
        "\n## Serialization\n\n\
         Medians of 15 batches, {build}. Both sides have typed messages with the same content. {machine}.\n\n\
         | | protobuf | JSON | JSON / protobuf | bytes |\n| --- | ---: | ---: | ---: | ---: |",
    );
    for pair in pairs {
        let (protobuf, json) = (micros(pair.protobuf), micros(pair.json));
        let ratio = ratio(pair.json, pair.protobuf);
        let _ = writeln!(
            text,
            "| {} | {protobuf} | {json} | {ratio:.1} | {} / {} |",
            pair.what, pair.bytes.0, pair.bytes.1
        );
    }
    text.push_str("\nA message whose schema is known at run time only:\n\n| step | time |\n| --- | ---: |\n");
    for step in steps {
        let _ = writeln!(text, "| {} | {} |", step.what, micros(step.time));
    }
}

fn registry_table(text: &mut String, times: &Times) {
    text.push_str(
        "\n## Schemas\n\n\
         From a reference to a message. The registry is one in the same process, over TLS, with a delay before each answer: \
         the 50 to 200 ms of the claim are the network's.\n\n| | p50 | p99 |\n| --- | ---: | ---: |\n",
    );
    for (what, (p50, p99)) in [
        ("in memory", times.cached),
        ("in memory, eight concurrent tasks", times.concurrent),
        ("in memory, and a message decoded and checked", times.with_check),
    ] {
        let _ = writeln!(text, "| {what} | {} | {} |", micros(p50), micros(p99));
    }
    let _ = writeln!(text, "| on disk, after a start | {} | |", micros(times.disk));
    for (delay, time) in &times.first {
        let _ = writeln!(text, "| from a registry that answers after {delay} ms | {} | |", micros(*time));
    }
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// A time in microseconds, with the digits that mean something.
fn micros(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..10.0 => format!("{micros:.2} µs"),
        ..1000.0 => format!("{micros:.0} µs"),
        _ => format!("{:.1} ms", micros / 1000.0),
    }
}

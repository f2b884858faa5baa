//! The outcomes of visits, and the tables of them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use protomcp_conformance::patience;
use protomcp_types::ProtocolVersion;

use crate::real_servers::behind::Gate;
use crate::real_servers::place::Way;
use crate::real_servers::servers::Server;
use crate::real_servers::visit::{Attempt, Fault};

/// The features, in the order of the tables.
const FEATURES: &[(&str, &str)] = &[
    ("open", "discovery or handshake: revision, name"),
    ("ping", "ping"),
    ("tools", "list of tools"),
    ("call", "calls with a known answer"),
    ("structured", "structured results"),
    ("failure", "a tool that fails, and an unknown tool"),
    ("progress", "progress"),
    ("cancellation", "a call that is given up"),
    ("deadline", "a call that ends at its deadline"),
    ("task", "a call as a task"),
    ("logging", "log messages"),
    ("resources", "resources: list, text, one that is not there"),
    ("templates", "resource templates"),
    ("subscription", "news of a resource"),
    ("prompts", "prompts: list, arguments"),
    ("completion", "completion"),
    ("sampling", "a tool asks the model"),
    ("elicitation", "a tool asks the user"),
    ("roots", "a tool asks for the roots"),
    ("equal", "results and errors equal the server's, byte for byte"),
    ("close", "the session is closed; over stdio no process is left"),
    ("killed", "the server is killed during a call: it fails, and no process is left"),
];

/// The outcomes with one server over one transport.
pub(crate) struct Column {
    server: &'static str,
    /// The server is behind the gateway.
    gate: Option<Gate>,
    way: Way,
    revision: ProtocolVersion,
    outcomes: Vec<(&'static str, Attempt)>,
    /// Only the long tier has this visit.
    is_left_out: bool,
}

impl Column {
    pub(crate) fn new(server: &'static str, way: Way, revision: ProtocolVersion) -> Self {
        Self { server, gate: None, way, revision, outcomes: Vec::new(), is_left_out: false }
    }

    /// A server behind the gateway.
    pub(crate) fn behind(server: &'static str, way: Way, revision: ProtocolVersion, gate: Gate) -> Self {
        Self { gate: Some(gate), ..Self::new(server, way, revision) }
    }

    /// A visit of the long tier, in the short one.
    pub(crate) fn left_out(self) -> Self {
        Self { is_left_out: true, ..self }
    }

    fn title(&self) -> String {
        let way = self.way.title();
        let Some(gate) = self.gate else { return format!("{way} {}", self.revision) };
        let named = match gate {
            Gate::Run | Gate::Upstream => "",
            Gate::Dev => " with `dev`",
            Gate::Config => " in `--config`",
        };
        format!("{way}{named}, as {} {}", gate.front().title(), self.revision)
    }

    /// The features that are tried.
    fn features(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        FEATURES.iter().filter(|(feature, _)| self.gate.is_some() || *feature != "equal")
    }

    pub(crate) fn add(&mut self, feature: &'static str, outcome: Attempt) {
        self.outcomes.push((feature, outcome));
    }

    /// Tries a feature. Its own waits end earlier than this one, to say what they were for.
    pub(crate) async fn tries(&mut self, feature: &'static str, attempt: impl Future<Output = Attempt>) {
        let limit = patience() * 2;
        let outcome = tokio::time::timeout(limit, attempt).await;
        self.add(feature, outcome.unwrap_or_else(|_| Err(Fault::Failed(format!("took {limit:?}")))));
    }

    /// The features that have failed, or were not tried although they should have been.
    pub(crate) fn faults(&self) -> Vec<String> {
        if self.is_left_out {
            return Vec::new();
        }
        let (server, title) = (self.server, self.title());
        let fault = |(feature, _): &(&str, &str)| match self.outcome(feature) {
            Some(Ok(()) | Err(Fault::Lacks)) => None,
            Some(Err(Fault::Failed(why))) => Some(format!("{server} over {title}: {feature}: {why}")),
            None => Some(format!("{server} over {title}: {feature} was not tried")),
        };
        self.features().filter_map(fault).collect()
    }

    /// The latest outcome: a feature may fail when it is used once more.
    fn outcome(&self, feature: &str) -> Option<&Attempt> {
        self.outcomes.iter().rfind(|(name, _)| *name == feature).map(|(_, outcome)| outcome)
    }
}

pub(crate) fn introduction() -> String {
    "# Servers and what the client uses of them\n\n\
    Published servers, and servers of this project, each used through `protomcp-client`. The first table of a server is \
    without the gateway: in the revision that the client finds out with `Mode::Auto`, and in a session if the server has \
    both eras. The second one is \
    through `pmcp run -- COMMAND`, which serves a server on stdio over HTTP, and `pmcp run --upstream URL`, which serves a \
    server over HTTP on stdio, with clients of both eras. Servers on an SDK are used through `pmcp dev -- COMMAND` and \
    `pmcp run --config FILE`, too. Every row was tried in every column: ✓ did what is expected, – \
    is something that the server does not offer. Nothing fails: that would be a failing test.\n\n\
    Behind the gateway, every element of a list, every result and every error is compared with the one of the server itself, \
    byte for byte, in the era of the client if the server has it. Otherwise the era of the client demands exceptions: `resultType`, `ttlMs`, `cacheScope` and the server's \
    identity in `_meta`, which results of 2026-07-28 have, and the code of an unknown resource (−32002 or −32602). Lists \
    have the pages of the gateway, and its order, which is by name. News of a resource is missing where a call of a client \
    without a session would have to switch it on in the session that has subscribed.\n\n\
    These tables are written by `UPDATE_SERVERS=1 scripts/run-tests 'test(/^real_servers::/)'`.\n"
        .to_owned()
}

/// The tables of one server: without the gateway, and behind it. Columns that are left out are as in the text that is known.
pub(crate) fn table(server: &Server, columns: &[Column], known: &str) -> String {
    let mut text = format!("\n## {}{}\n", server.name, version(server));
    let section = known.split("\n## ").find(|section| section.starts_with(server.name)).unwrap_or_default();
    for (is_behind, known) in [false, true].into_iter().zip(section.split("\n\n").skip(1).chain(["", ""])) {
        let columns =
            columns.iter().filter(|column| column.server == server.name && column.gate.is_some() == is_behind);
        let columns: Vec<_> = columns.collect();
        let title = if is_behind { "Behind `pmcp`" } else { "" };
        let titles: Vec<_> = columns.iter().map(|column| column.title()).collect();
        writeln!(text, "\n| {title} | {} |\n| --- |{}", titles.join(" | "), " :---: |".repeat(columns.len()))
            .expect("it grows");
        for (feature, what) in columns.iter().take(1).flat_map(|column| column.features()) {
            let row = known.lines().find(|row| row.starts_with(&format!("| {what} |"))).unwrap_or_default();
            let mark = |(index, column): (usize, &&Column)| match column.outcome(feature) {
                _ if column.is_left_out => row.split('|').nth(index + 2).map_or("", str::trim),
                Some(Ok(())) => "✓",
                _ => "–",
            };
            let marks: Vec<_> = columns.iter().enumerate().map(mark).collect();
            writeln!(text, "| {what} | {} |", marks.join(" | ")).expect("it grows");
        }
    }
    text
}

/// The version of a server, from what `scripts/setup` installs.
fn version(server: &Server) -> String {
    let Some((file, before)) = server.pin else { return String::new() };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(file);
    let pins = fs::read_to_string(path).expect("the pins can be read");
    let after = pins.split_once(before).unwrap_or_else(|| panic!("{file} does not name {}", server.name)).1;
    format!(" {}", after.split(['"', '\n']).next().unwrap_or_default())
}

//! Third-party clients use every feature that they support, of servers written with this library and of a bridged tool
//! file: each feature, over each transport, in each revision that the client can be set to. The results are in
//! CLIENTS.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use protomcp_conformance::{Balancer, Everything, Redis, Sandbox, Web, everything_server, living, peers, pmcp, tier};
use protomcp_testing::assert_committed;
use serde::Deserialize;
use serde_json::{Value, json};

/// The features, in the order of the tables.
const FEATURES: &[(&str, &str)] = &[
    ("open", "handshake, or discovery: revision, name, capabilities"),
    ("ping", "ping"),
    ("tools", "list of tools, page by page"),
    ("call", "call of a tool"),
    ("content", "text, images, audio, resources and links in results"),
    ("structured", "structured results"),
    ("failure", "a tool that fails, and arguments of the wrong type"),
    ("refusal", "unknown tools and prompts"),
    ("progress", "progress"),
    ("cancellation", "a call that is given up"),
    ("logging", "log messages, and which are wanted"),
    ("resources", "resources: list, text, bytes, one that is not there"),
    ("templates", "resource templates"),
    ("subscription", "news of a resource"),
    ("prompts", "prompts: list, arguments"),
    ("prompt content", "images and resources in prompts"),
    ("completion", "completion"),
    ("sampling", "a tool asks the model"),
    ("form", "a tool asks the user, with a form"),
    ("page", "a tool asks the user, with a web page"),
    ("roots", "a tool asks for the roots"),
    ("several", "a tool asks three things together"),
    ("roots changed", "the roots have changed"),
    ("tools changed", "the tools have changed"),
    ("prompts changed", "the prompts have changed"),
    ("resources changed", "the resources have changed"),
    ("listen", "`subscriptions/listen`, two concurrently"),
    ("tasks", "tasks: made, looked at, asked for their result, asking, cancelled"),
    ("resumption", "a broken stream is resumed"),
    ("headers", "arguments repeated in headers"),
];

/// Features that the published Python SDK cannot express; `feature@revision` if it concerns one revision only.
const NOT_BRIDGED: &[&str] = &[
    "content",
    "prompt content",
    "form",
    "page",
    "roots",
    "several",
    "roots changed",
    "subscription",
    "prompts changed",
    "resources changed",
    "listen",
    "tasks",
    "resumption",
    "headers",
    // No call changes what another request sees there.
    "tools changed@2026-07-28",
];

/// A client, and the program that drives it.
struct Client {
    name: &'static str,
    /// The file in conformance/peers with the version, and the text before it.
    pin: (&'static str, &'static str),
    words: Vec<PathBuf>,
    /// True if it also visits a bridged tool file.
    bridged: bool,
    /// True if it connects anew for each request, which takes a minute of processor time: the long tier tries its features.
    /// The short one compares those that it lacks, and `hosts` tries a few.
    long: bool,
}

/// The output of a driver.
#[derive(Deserialize)]
struct Outcome {
    transport: String,
    revision: String,
    feature: String,
    ok: Option<bool>,
    detail: String,
}

fn clients(scripts: &Path) -> Vec<Client> {
    let python = peers().join("mcp/bin/python");
    // It runs TypeScript itself, and starts sooner than `tsx`.
    let node = peers().join("suite/node_modules/.bin/node");
    let here = here().join("hosts/matrix");
    vec![
        Client {
            name: "`mcp`, the official Python client",
            pin: ("requirements-mcp.txt", "\nmcp=="),
            words: vec![python.clone(), here.join("mcp_2.py")],
            bridged: true,
            long: false,
        },
        Client {
            name: "`fastmcp`, Python",
            pin: ("requirements-mcp.txt", "\nfastmcp=="),
            words: vec![python.clone(), here.join("fastmcp_4.py")],
            bridged: true,
            long: false,
        },
        Client {
            name: "`@modelcontextprotocol/sdk`, the official TypeScript client of the first generation",
            pin: ("node/package.json", "/sdk\": \""),
            words: vec![node.clone(), scripts.join("typescript_1.mts")],
            bridged: true,
            long: false,
        },
        Client {
            name: "`@modelcontextprotocol/client`, the official TypeScript client of the second generation",
            pin: ("node/package.json", "/client\": \""),
            words: vec![node, scripts.join("typescript_2.mts")],
            bridged: true,
            long: false,
        },
        Client {
            name: "`rmcp`, the official Rust client",
            pin: ("rmcp/Cargo.toml", "rmcp = { version = \"="),
            words: vec![peers().join("rs-target/debug/host-rmcp")],
            bridged: true,
            long: false,
        },
        Client {
            name: "the command line of the official inspector",
            pin: ("inspector/package.json", "/inspector\": \""),
            words: vec![python, here.join("inspector_2.py"), peers().join("inspector/node_modules/.bin/mcp-inspector")],
            bridged: false,
            long: true,
        },
    ]
}

#[test]
fn clients_use_all_their_features_and_the_tables_are_current() {
    let scripts = scripts();
    let clients = clients(&scripts.path(""));
    let all = tier(std::env::var_os(UPDATE).is_some(), true);
    let visits: Vec<_> = thread::scope(|scope| {
        let begin = |client| scope.spawn(move || (library(client, all), client.bridged.then(|| bridge(client))));
        let visits: Vec<_> = clients.iter().map(begin).collect();
        visits.into_iter().map(|visit| visit.join().expect("a visit does not panic")).collect()
    });

    let mut faults = Vec::new();
    let mut text = String::from(INTRODUCTION);
    for (client, (library, bridge)) in clients.iter().zip(&visits) {
        writeln!(text, "\n## {} {}", client.name, version(client)).expect("a string grows");
        for (server, visit) in
            [("A server written with the library", Some(library)), ("A bridged file", bridge.as_ref())]
        {
            let Some((outcomes, why)) = visit else { continue };
            faults.extend(why.iter().map(|why| format!("{}, {server}: {why}", client.name)));
            writeln!(text, "\n### {server}\n").expect("a string grows");
            text += &table(outcomes);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));

    assert_committed(here().join("CLIENTS.md"), text, UPDATE);
}

/// Features that are not tried there. A tool process does not learn of changed roots, and announces no change of resources
/// that have not changed. A call that is given up without a session ends at its server, and the call that waits for that
/// reaches another one.
const NOT_BALANCED: &[&str] = &["roots changed", "resources changed", "cancellation@2026-07-28"];

#[test]
fn clients_use_all_their_features_through_a_balancer() {
    let (redis, (socket, address)) = (Redis::start(), Balancer::socket());
    let servers = Balancer::servers(&address, &redis);
    let _balancer = Balancer::start(redis.sandbox(), socket, &servers);
    let scripts = scripts();
    let plan = json!({
        "server": "protomcp",
        "pages": false,
        "tries": true,
        "without": NOT_BALANCED,
        "http": format!("http://{address}/mcp"),
    });
    // One after the other: the change of a list is for all of them.
    let faults = clients(&scripts.path("")).into_iter().filter(|client| !client.long).flat_map(|client| {
        let (_, faults) = run(&client, Command::new(&client.words[0]), &plan);
        faults.into_iter().map(move |fault| format!("{}: {fault}", client.name))
    });
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The folder with the clients for TypeScript.
fn scripts() -> Sandbox {
    let scripts = Sandbox::new();
    scripts.with_node();
    for script in ["visit.mts", "typescript_1.mts", "typescript_2.mts"] {
        fs::copy(here().join("hosts/matrix").join(script), scripts.path(script)).expect("the sandbox can be written");
    }
    scripts
}

/// The variable with which the tables are written.
const UPDATE: &str = "UPDATE_CLIENTS";

const INTRODUCTION: &str = "# Clients and what they use\n\n\
    Published clients, each with a server written with the library (`everything_server` of this package) and with a tool \
    file on the published Python SDK behind `pmcp run`. Every row was tried in every column: ✓ did what is expected, – is \
    something that the client or the revision does not have, with the reason below the table. Nothing fails: that would be a \
    failing test. The tables of the bridged file leave out what its SDK cannot express.\n\
    These tables are written by `UPDATE_CLIENTS=1 scripts/run-tests 'test(/^matrix::/)'`.\n";

/// The outcomes of a visit, and its faults.
type Visit = (Vec<Outcome>, Vec<String>);

/// The client visits a server written with the library. `all`: it tries its features however long that takes.
fn library(client: &Client, all: bool) -> Visit {
    let server = Everything::start(&["--page", "2"]);
    let plan = json!({
        "server": "everything",
        "pages": true,
        "tries": all || !client.long,
        "without": [],
        "stdio": [everything_server(), "--page", "2"],
        "http": server.url(),
        "sse": server.url().replace("/mcp", "/sse"),
    });
    run(client, Command::new(&client.words[0]), &plan)
}

/// The client visits a tool file behind `pmcp`.
fn bridge(client: &Client) -> Visit {
    let server = Web::start("py/clients.py", &["--transport", "sse"]);
    let sandbox = Sandbox::new();
    let file = sandbox.copy("py/clients.py");
    let plan = json!({
        "server": "protomcp",
        "pages": false,
        "tries": true,
        "without": NOT_BRIDGED,
        "stdio": [pmcp(), "run", file],
        // The other path of the endpoint: `library` has `/mcp`.
        "http": format!("http://localhost:{}/", server.port()),
        "sse": format!("http://localhost:{}/sse", server.port()),
    });
    let prepared = sandbox.pmcp(&[]).command();
    let mut command = Command::new(&client.words[0]);
    command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let visit = run(client, command, &plan);
    protomcp_conformance::eventually("everything to be gone", || living(sandbox.marker()).is_empty().then_some(()));
    visit
}

fn run(client: &Client, mut command: Command, plan: &Value) -> Visit {
    let without: BTreeSet<&str> = plan["without"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let output = command.args(&client.words[1..]).arg(plan.to_string()).stdin(Stdio::null()).output();
    let output = output.expect("the client starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut faults = Vec::new();
    for line in stdout.lines() {
        match serde_json::from_str(line) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => faults.push(format!("{error}: {line}")),
        }
    }
    for Outcome { transport, revision, feature, ok, detail } in &outcomes {
        if *ok == Some(false) {
            faults.push(format!("{feature} over {transport} in {revision}: {detail}"));
        }
    }
    for (transport, revision) in columns(&outcomes) {
        let tried = |feature: &str| {
            let mut all = outcomes.iter();
            all.any(|one| one.transport == transport && one.revision == revision && one.feature == feature)
        };
        let is_left_out =
            |feature: &str| without.contains(feature) || without.contains(format!("{feature}@{revision}").as_str());
        let missing = FEATURES.iter().filter(|(feature, _)| !tried(feature) && !is_left_out(feature));
        faults.extend(missing.map(|(feature, _)| format!("{feature} was not tried over {transport} in {revision}")));
    }
    if outcomes.is_empty() || !output.status.success() {
        faults.push(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    (outcomes, faults)
}

/// Transports and revisions of a visit, in their order.
fn columns(outcomes: &[Outcome]) -> Vec<(String, String)> {
    let order = |transport: &str| ["stdio", "http", "sse"].iter().position(|known| *known == transport);
    let columns: BTreeSet<_> =
        outcomes.iter().map(|one| (order(&one.transport), one.revision.clone(), one.transport.clone())).collect();
    columns.into_iter().map(|(_, revision, transport)| (transport, revision)).collect()
}

fn table(outcomes: &[Outcome]) -> String {
    let columns = columns(outcomes);
    let title = |(transport, revision): &(String, String)| {
        let transport = match transport.as_str() {
            "http" => "HTTP",
            "sse" => "HTTP+SSE",
            other => other,
        };
        format!("{transport} {revision}")
    };
    let titles: Vec<_> = columns.iter().map(title).collect();
    let mut text = format!("| | {} |\n| --- |{}\n", titles.join(" | "), " :---: |".repeat(columns.len()));
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (feature, what) in FEATURES {
        let cell = |(transport, revision): &(String, String)| {
            let found = outcomes
                .iter()
                .find(|one| one.feature == *feature && one.transport == *transport && one.revision == *revision);
            found.map(|one| (one.ok, one.detail.as_str()))
        };
        let cells: Vec<_> = columns.iter().map(cell).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let marks: Vec<_> = cells
            .iter()
            .map(|cell| match cell {
                Some((Some(true), _)) => "✓",
                Some((Some(false), _)) => "fails",
                Some((None, _)) => "–",
                None => "",
            })
            .collect();
        writeln!(text, "| {what} | {} |", marks.join(" | ")).expect("a string grows");
        for (_, reason) in cells.into_iter().flatten().filter(|(ok, _)| ok.is_none()) {
            let about = reasons.entry(reason).or_default();
            if !about.iter().any(|known| known == what) {
                about.push((*what).to_owned());
            }
        }
    }
    if !reasons.is_empty() {
        text.push('\n');
    }
    for (reason, about) in reasons {
        writeln!(text, "- {reason}: {}", about.join("; ")).expect("a string grows");
    }
    text
}

/// The version of a client, from what `scripts/setup` installs.
fn version(client: &Client) -> String {
    let (file, before) = client.pin;
    let pins = fs::read_to_string(here().join("peers").join(file)).expect("the pins can be read");
    let after = pins.split_once(before).unwrap_or_else(|| panic!("{file} does not name {}", client.name)).1;
    after.split(['"', '\n']).next().unwrap_or_default().to_owned()
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

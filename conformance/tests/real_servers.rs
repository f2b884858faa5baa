//! The client of this project uses published servers: each feature that they offer, over each transport that they have,
//! in the revision that the client finds out by itself. The results are in SERVERS.md.

mod behind;
mod facts;
mod family;
mod hearing;
mod own;
mod place;
mod report;
mod servers;
mod transcript;
mod visit;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use protomcp_client::{ClientLimits, CloseReason, Guardian, Mode, RequestError};
use protomcp_conformance::{Sandbox, patience, pmcp, tier};
use protomcp_testing::assert_committed;
use protomcp_types::ProtocolVersion;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::real_servers::behind::{Behind, ERAS, Gate};
use crate::real_servers::family::{kill, padded, pause};
use crate::real_servers::hearing::client;
use crate::real_servers::own::{OWN, RUST};
use crate::real_servers::place::{Place, Way};
use crate::real_servers::report::{Column, introduction, table};
use crate::real_servers::servers::{NODE, PYTHON, Server, Short};
use crate::real_servers::transcript::{Transcript, equal};
use crate::real_servers::visit::{Fault, Visit, is};

/// The visits at a time. Most of a visit is the start of two processes.
const CONCURRENT: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_uses_real_servers_and_the_tables_are_current() {
    let servers: Vec<&'static Server> = [NODE, PYTHON, RUST, OWN].into_iter().flatten().collect();
    // Built before the visits, whose time limits are for the servers.
    pmcp();
    let all = tier(std::env::var_os(UPDATE).is_some(), true);
    let places = Arc::new(Semaphore::new(CONCURRENT));
    let visits = servers.iter().copied().flat_map(|server| {
        let visit = |way: &Way| {
            let (places, way) = (Arc::clone(&places), *way);
            tokio::spawn(async move {
                let _place = places.acquire().await.expect("it is not closed");
                columns(server, way, all).await
            })
        };
        server.ways.iter().map(visit).collect::<Vec<_>>()
    });
    let mut columns = Vec::new();
    for visit in visits.collect::<Vec<_>>() {
        columns.extend(visit.await.expect("a visit does not panic"));
    }
    let faults: Vec<_> = columns.iter().flat_map(Column::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/SERVERS.md");
    let known = fs::read_to_string(path).unwrap_or_default();
    let mut text = introduction();
    for server in servers {
        text += &table(server, &columns, &known);
    }
    assert_committed(path, text, UPDATE);
}

/// The variable with which the tables are written.
const UPDATE: &str = "UPDATE_SERVERS";

/// A server that starts slowly gets a handshake after `server/discover`, and may refuse either of them. In the short tier,
/// one of each SDK does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_servers_are_reached() {
    let limits = ClientLimits {
        discover_timeout: Duration::from_millis(1),
        open_timeout: patience(),
        ..ClientLimits::default()
    };
    let is_chosen = |server: &&Server| server.ways.contains(&Way::Stdio) && tier(server.short != Short::OneEra, true);
    for server in [NODE, PYTHON, RUST, OWN].into_iter().flatten().filter(is_chosen) {
        let sandbox = Sandbox::new();
        let place = Place::new((server.program)(&sandbox, Way::Stdio), Way::Stdio, &sandbox);
        let facts = (server.facts)(&sandbox, Way::Stdio);
        let (client, _hearing) = client();
        let session =
            place.connect(&client.limits(limits)).await.unwrap_or_else(|why| panic!("{}: {why}", server.name));
        let call = session.call_tool(facts.calls[0].tool, &facts.calls[0].arguments).timeout(patience());
        assert!(!call.await.unwrap_or_else(|why| panic!("{}: {why}", server.name)).is_error, "{}", server.name);
        session.close(patience()).await;
        place.family.gone().await;
    }
}

/// Servers are often started by a shell or a package manager, which stays in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_wrapper_takes_its_server_along() {
    for guardian in [Guardian::None, Guardian::Program(pmcp().into())] {
        let sandbox = Sandbox::new();
        let server = NODE.iter().find(|server| server.name.ends_with("memory`")).expect("it is among them");
        let mut program = (server.program)(&sandbox, Way::Stdio);
        program.words.splice(0..0, ["sh", "-c", "\"$0\"; exit 0"].map(Into::into));
        let place = Place::new(program, Way::Stdio, &sandbox);
        let (client, _hearing) = client();
        let session = client.spawn(place.command().guardian(guardian.clone())).await.expect("the server starts");
        pause(&place.family.named("node ")).await;
        let call = session.call_tool("read_graph", &padded(&json!({}))).timeout(patience()).into_future();
        place.family.until_asked().await;
        let [shell] = place.family.named("sh -c")[..] else { panic!("no shell") };
        kill(shell);
        let error = call.await.expect_err("the shell is gone");
        assert!(matches!(error, RequestError::Closed(_)), "{guardian:?}: {error}");
        place.family.gone().await;
    }
}

/// Visits a server directly in each of its eras, and through a gateway with clients of both eras; unless `all` is true,
/// only as the short tier does.
async fn columns(server: &'static Server, way: Way, all: bool) -> Vec<Column> {
    let is_tried = |gate: Option<Gate>, era: ProtocolVersion| {
        let is_dev_or_config = matches!(gate, Some(Gate::Dev | Gate::Config));
        all || match server.short {
            Short::Whole => true,
            Short::BothEras => !is_dev_or_config,
            Short::OneEra => !is_dev_or_config && !era.is_stateful(),
        }
    };
    let revision = (server.facts)(&Sandbox::new(), way).revision;
    let (column, mut expected) = direct(server, way, Mode::Auto, revision).await;
    let mut columns = vec![column];
    for (mode, era) in ERAS.into_iter().rev() {
        if era.is_stateful() && !revision.is_stateful() {
            if is_tried(None, era) {
                let (column, results) = direct(server, way, mode, era).await;
                columns.push(column);
                expected = results;
            } else {
                columns.push(Column::new(server.name, way, era).left_out());
            }
        }
        for gate in Gate::all(server, way) {
            columns.push(if is_tried(Some(*gate), era) {
                through(Route { server, way, gate: *gate }, mode, era, &expected).await
            } else {
                Column::behind(server.name, way, era, *gate).left_out()
            });
        }
    }
    columns
}

/// Visits a server twice: until the client closes the session, and until the server is killed. Returns the results of
/// requests as well.
async fn direct(server: &'static Server, way: Way, mode: Mode, revision: ProtocolVersion) -> (Column, Transcript) {
    let sandbox = Sandbox::new();
    let program = (server.program)(&sandbox, way);
    let facts = (server.facts)(&sandbox, way).in_revision(revision);
    let place = Place::new(program, way, &sandbox);
    let (mut column, mut results) = (Column::new(server.name, way, revision), Transcript::new());
    let (client, mut hearing) = client();
    let client = client.mode(mode);
    let session = match place.connect(&client).await {
        Ok(session) => session,
        Err(why) => {
            column.add("open", Err(Fault::Failed(why)));
            return (column, results);
        }
    };
    let family = &place.family;
    let mut visit = Visit { session: &session, facts: &facts, family, revision, hearing: &mut hearing };
    features(&mut column, &mut visit).await;
    match transcript::transcript(&session, &facts, &sandbox).await {
        Ok(lines) => results = lines,
        Err(why) => column.add("call", Err(why.into())),
    }
    column
        .tries("close", async {
            is(session.close(patience()).await, CloseReason::Requested)?;
            if place.is_child() {
                place.family.gone().await;
            }
            Ok(())
        })
        .await;
    match place.connect(&client).await {
        Ok(session) => {
            let visit = Visit { session: &session, facts: &facts, family, revision, hearing: &mut hearing };
            column.tries("killed", visit.killed(&place)).await;
        }
        Err(why) => column.add("killed", Err(Fault::Failed(why))),
    }
    (column, results)
}

/// A server, and the way to it through a gateway.
struct Route {
    server: &'static Server,
    way: Way,
    gate: Gate,
}

/// Visits a server through the gateway, until it is killed and the session is closed.
async fn through(route: Route, mode: Mode, revision: ProtocolVersion, expected: &Transcript) -> Column {
    let Route { server, way, gate } = route;
    let mut behind = Behind::new(server, way, gate);
    let mut facts = (server.facts)(&behind.sandbox, way).in_revision(revision);
    if way != Way::Stdio && facts.revision.is_stateful() && !revision.is_stateful() {
        // The server sends news to the session of the call that switches them on, which without a session of the client
        // is one for this call.
        facts.resources.subscription = None;
    }
    let mut column = Column::behind(server.name, way, revision, gate);
    let (client, mut hearing) = client();
    let session = match behind.gateway.connect(&client.mode(mode)).await {
        Ok(session) => session,
        Err(why) => {
            column.add("open", Err(Fault::Failed(why)));
            return column;
        }
    };
    let family = behind.family.clone();
    let mut visit = Visit { session: &session, facts: &facts, family: &family, revision, hearing: &mut hearing };
    features(&mut column, &mut visit).await;
    column
        .tries("equal", async { equal(expected, &transcript::transcript(&session, &facts, &behind.sandbox).await?) })
        .await;
    let visit = Visit { session: &session, facts: &facts, family: &family, revision, hearing: &mut hearing };
    column.tries("killed", visit.killed_behind()).await;
    column
        .tries("close", async {
            is(session.close(patience()).await, CloseReason::Requested)?;
            behind.gateway.stop();
            family.gone().await;
            behind.gateway.family.gone().await;
            Ok(())
        })
        .await;
    column
}

async fn features(column: &mut Column, visit: &mut Visit<'_>) {
    column.tries("open", visit.open()).await;
    column.tries("ping", visit.ping()).await;
    column.tries("tools", visit.tools()).await;
    column.tries("call", visit.calls()).await;
    column.tries("structured", visit.structured()).await;
    column.tries("failure", visit.failure()).await;
    column.tries("progress", visit.progress()).await;
    column.tries("task", visit.task()).await;
    column.tries("logging", visit.logging()).await;
    column.tries("resources", visit.resources()).await;
    column.tries("templates", visit.templates()).await;
    column.tries("subscription", visit.subscription()).await;
    column.tries("prompts", visit.prompts()).await;
    column.tries("completion", visit.completion()).await;
    column.tries("sampling", visit.says(visit.facts.questions.sampling.as_ref())).await;
    column.tries("elicitation", visit.says(visit.facts.questions.elicitation.as_ref())).await;
    column.tries("roots", visit.says(visit.facts.questions.roots.as_ref())).await;
    // The server may still ask about a call that was given up. Behind the gateway it is refused then, if its session is one
    // of several clients.
    column.tries("cancellation", visit.cancellation()).await;
    column.tries("deadline", visit.deadline()).await;
}

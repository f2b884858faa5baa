//! The client of this project uses published servers: each feature that they offer, over each transport that they have,
//! in the revision that the client finds out by itself. The results are in SERVERS.md.

#[path = "real_servers/facts.rs"]
mod facts;
#[path = "real_servers/family.rs"]
mod family;
#[path = "real_servers/hearing.rs"]
mod hearing;
#[path = "real_servers/place.rs"]
mod place;
#[path = "real_servers/report.rs"]
mod report;
#[path = "real_servers/servers.rs"]
mod servers;
#[path = "real_servers/visit.rs"]
mod visit;

use std::fs;
use std::path::Path;

use protomcp_client::CloseReason;
use protomcp_conformance::{Sandbox, patience};

use crate::hearing::client;
use crate::place::{Place, Way};
use crate::report::{Column, introduction, table};
use crate::servers::{NODE, PYTHON, Server};
use crate::visit::{Fault, Visit, is};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_uses_real_servers_and_the_tables_are_current() {
    let servers: Vec<&'static Server> = NODE.iter().chain(PYTHON).collect();
    let visits = servers.iter().flat_map(|server| {
        let visit = |way: &Way| tokio::spawn(column(server, *way));
        server.ways.iter().map(visit).collect::<Vec<_>>()
    });
    let mut columns = Vec::new();
    for visit in visits.collect::<Vec<_>>() {
        columns.push(visit.await.expect("a visit does not panic"));
    }
    let faults: Vec<_> = columns.iter().flat_map(Column::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));

    let mut text = introduction();
    for server in servers {
        text += &table(server, &columns);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("SERVERS.md");
    if std::env::var_os("UPDATE_SERVERS").is_some() {
        fs::write(&path, &text).expect("the tables can be written");
    }
    let present = fs::read_to_string(&path).unwrap_or_default();
    assert!(present == text, "SERVERS.md is out of date: run this test with UPDATE_SERVERS=1");
}

/// Visits a server twice: until the client closes the session, and until the server is killed.
async fn column(server: &'static Server, way: Way) -> Column {
    let sandbox = Sandbox::new();
    let program = (server.program)(&sandbox, way);
    let facts = (server.facts)(&sandbox, way);
    let place = Place::new(program, way, &sandbox);
    let mut column = Column::new(server.name, way, facts.revision);
    let (client, mut hearing) = client();
    let session = match place.connect(&client).await {
        Ok(session) => session,
        Err(why) => {
            column.add("open", Err(Fault::Failed(why)));
            return column;
        }
    };
    let mut visit = Visit { session: &session, facts: &facts, place: &place, hearing: &mut hearing };
    features(&mut column, &mut visit).await;
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
            let visit = Visit { session: &session, facts: &facts, place: &place, hearing: &mut hearing };
            column.tries("killed", visit.killed()).await;
        }
        Err(why) => column.add("killed", Err(Fault::Failed(why))),
    }
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
    column.tries("cancellation", visit.cancellation()).await;
    column.tries("deadline", visit.deadline()).await;
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
}

//! Features of clients that the official suite does not cover: results with a schema, links, cancelled calls, pages to
//! open, and lists that change on demand.

use std::sync::Arc;

use protomcp_server::{AskError, Audience, Context};
use protomcp_typed::{Builder, DefinitionError, Json, JsonSchema, Registry, Tool};
use protomcp_types::{ContentBlock, Elicit, ElicitResult, Progress, Resource};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use protomcp_testing::patience;

/// The resource that a tool of [`add_triggers`] reports as changed.
const WATCHED: &str = "test://watched-resource";

pub(crate) fn add(builder: Builder) -> Builder {
    let given_up = Arc::new(Semaphore::new(0));
    let told = Arc::new(Semaphore::new(0));
    builder
        .tool(Tool::new("test_structured", "Adds, and says so in a structure").handler(sum))
        .tool(
            Tool::new("test_resource_link", "Returns a link to a resource")
                .handler(async || ContentBlock::link(&Resource::new("test://static-text", "Static Text Resource"))),
        )
        .tool(Tool::new("test_wait", "Reports progress once, then waits until it is given up").handler({
            let given_up = Arc::clone(&given_up);
            move |context: Context| wait(context, Arc::clone(&given_up))
        }))
        .tool(
            Tool::new("test_given_up", "Waits until a call of test_wait was given up")
                .handler(move || once(Arc::clone(&given_up), "given up")),
        )
        .tool(Tool::new("test_elicitation_url", "Asks the host's user to open a page").handler(page))
        .tool(
            Tool::new("test_roots_changed", "Waits until a host has said that its roots are others")
                .handler({
                    let told = Arc::clone(&told);
                    move || once(Arc::clone(&told), "other roots")
                })
                .timeout(patience()),
        )
        .on_roots_changed(move |_| told.add_permits(1))
}

/// Tools that change what they belong to.
pub(crate) fn add_triggers(registry: &Registry) -> Result<(), DefinitionError> {
    let sessions = registry.sessions().clone();
    registry.tools().insert(Tool::new("test_touch_resource", "Says that a resource has changed").handler(
        move || {
            sessions.resource_updated(WATCHED);
            std::future::ready("told")
        },
    ))?;
    let sessions = registry.sessions().clone();
    let resources = Tool::new("test_trigger_resource_change", "Says that the resources have changed");
    registry.tools().insert(resources.handler(move || {
        sessions.resources_changed(Audience::Everyone);
        std::future::ready("told")
    }))?;
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
struct Terms {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

async fn sum(terms: Terms) -> Json<Sum> {
    Json(Sum { sum: terms.a + terms.b })
}

/// Releases a waiting tool when it is dropped, which is how a cancelled call ends.
struct Dropped(Arc<Semaphore>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

async fn wait(context: Context, given_up: Arc<Semaphore>) -> &'static str {
    let _dropped = Dropped(given_up);
    context.progress(&Progress::new(1));
    context.cancelled().await;
    "this is discarded"
}

/// Waits for an event, and consumes it.
async fn once(happened: Arc<Semaphore>, what: &'static str) -> &'static str {
    if let Ok(permit) = happened.acquire().await {
        permit.forget();
    }
    what
}

async fn page(context: Context) -> Result<String, AskError> {
    let question = Elicit::url("Please sign in", "https://example.com/sign-in", "sign-in-1");
    let ElicitResult { action, .. } = context.ask::<Elicit>(&question).await?;
    Ok(format!("The user chose {action:?}"))
}

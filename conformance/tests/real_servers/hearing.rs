//! The client of all visits: its answers to servers, and the notifications that it gets.

use protomcp_client::{Client, ClientLimits};
use protomcp_conformance::patience;
use protomcp_types::{
    ContentBlock, CreateMessageResult, ElicitAction, ElicitResult, ErrorObject, Level, RawJson, Role,
};
use serde_json::json;
use tokio::sync::mpsc;

/// The notifications of servers, in order.
pub(crate) struct Hearing {
    pub(crate) logs: mpsc::UnboundedReceiver<String>,
    /// The URIs of resources that have changed.
    pub(crate) updates: mpsc::UnboundedReceiver<String>,
}

/// The answer of the model.
pub(crate) const ANSWER: &str = "a model's answer";

/// The answer of the user.
pub(crate) const NAME: &str = "Ada";

/// The root of the client.
pub(crate) const ROOT: &str = "file:///project";

/// A client with a handler for everything that servers ask.
pub(crate) fn client() -> (Client, Hearing) {
    let (log, logs) = mpsc::unbounded_channel();
    let (update, updates) = mpsc::unbounded_channel();
    // Interpreters and their packages start slowly on a busy machine. A visit expects the era that the server answers with.
    let limits = ClientLimits { open_timeout: patience(), discover_timeout: patience(), ..ClientLimits::default() };
    let client = Client::new("real-servers", "1.0")
        .limits(limits)
        .log_level(Level::Debug)
        .with_roots([ROOT])
        .on_sample(|_, _| async {
            Ok(CreateMessageResult {
                role: Role::Assistant,
                content: ContentBlock::text(ANSWER).to_raw(),
                model: "none".to_owned(),
                stop_reason: Some("endTurn".to_owned()),
                meta: None,
            })
        })
        .on_elicit_with_urls(|_, _| async {
            let content = RawJson::of(&json!({"name": NAME})).map_err(|why| ErrorObject::internal(why.to_string()))?;
            Ok(ElicitResult { action: ElicitAction::Accept, content: Some(content), meta: None })
        })
        .on_log(move |message, _| {
            // The visit may be over.
            let _ = log.send(message.data.to_string());
            async {}
        })
        .on_resource_updated(move |uri, _| {
            // The visit may be over.
            let _ = update.send(uri);
            async {}
        });
    (client, Hearing { logs, updates })
}

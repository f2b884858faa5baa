//! The answers of the host, and the notifications that it has received.

use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ResourceUpdatedNotificationParam, Root,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The host's side of a connection.
pub struct Host {
    info: ClientConfig,
    told: mpsc::UnboundedSender<(&'static str, Value)>,
}

/// The notifications to the host, in order of arrival.
pub struct Told(mpsc::UnboundedReceiver<(&'static str, Value)>);

impl Told {
    /// Waits for something, and takes it and all before it out.
    pub async fn until(&mut self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            match self.0.recv().await {
                Some((seen, value)) if seen == kind && wanted(&value) => return value,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// All of a kind that is there.
    pub fn rest(&mut self, kind: &str) -> Vec<Value> {
        let mut found = Vec::new();
        while let Ok((seen, value)) = self.0.try_recv() {
            if seen == kind {
                found.push(value);
            }
        }
        found
    }
}

impl Host {
    pub fn new(info: ClientConfig) -> (Self, Told) {
        let (told, receiver) = mpsc::unbounded_channel();
        (Self { info, told }, Told(receiver))
    }

    fn tell(&self, kind: &'static str, value: Value) {
        // No receiver is left once the visit has ended.
        let _ = self.told.send((kind, value));
    }
}

fn value(of: impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        self.info.clone()
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let asked = value(&params);
        let last = asked["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let text = last["content"]["text"].as_str().unwrap_or_default();
        let answer = json!({
            "role": "assistant",
            "content": {"type": "text", "text": format!("a model's answer to {text}")},
            "model": "a-model",
        });
        serde_json::from_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///work")]))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = value(&request);
        if asked["mode"] == "url" {
            let known = asked["url"] == "https://example.com/sign-in";
            let action = if known { ElicitationAction::Accept } else { ElicitationAction::Decline };
            return Ok(ElicitResult::new(action));
        }
        let names = asked["requestedSchema"]["required"].as_array().cloned().unwrap_or_default();
        let names = names.iter().filter_map(Value::as_str);
        let filled: serde_json::Map<_, _> =
            names.map(|name| (name.to_owned(), Value::from(format!("my {name}")))).collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::from(filled)))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.tell("progress", value(params));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.tell("log", value(params));
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.tell("updated", value(params));
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell("resources changed", Value::Null);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell("tools changed", Value::Null);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell("prompts changed", Value::Null);
    }
}

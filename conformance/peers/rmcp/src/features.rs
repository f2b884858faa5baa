//! One connection, feature by feature.

use std::collections::BTreeSet;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, LoggingLevel, PaginatedRequestParams,
    PingRequest, RequestMetaObject, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{PeerRequestOptions, RoleClient, RunningService, ServiceError, Subscription};
use serde_json::{Value, json};

use crate::host::{Host, Told};
use crate::report::{Attempt, Fault, Place, has, is};
use crate::tasks;

const NEWEST: &str = "2026-07-28";
const WATCHED: &str = "test://watched-resource";

struct Visit<'a> {
    running: &'a RunningService<RoleClient, Host>,
    told: Told,
    place: &'a Place,
}

/// Tries features in their order; what comes first must not need what comes later.
pub async fn visit(running: &RunningService<RoleClient, Host>, told: Told, place: &Place) {
    let mut visit = Visit { running, told, place };
    let v = &mut visit;
    place.tries("open", v.open()).await;
    place.tries("ping", v.ping()).await;
    place.tries("tools", v.tools()).await;
    place.tries("call", v.says("test_simple_text", json!({}), "This is a simple text response for testing.")).await;
    place.tries("content", v.content()).await;
    place.tries("structured", v.structured()).await;
    place.tries("failure", v.failure()).await;
    place.tries("refusal", v.refusal()).await;
    place.tries("progress", v.progress()).await;
    place.tries("cancellation", v.cancellation()).await;
    place.tries("logging", v.logging()).await;
    place.tries("resources", v.resources()).await;
    place.tries("templates", v.templates()).await;
    place.tries("subscription", v.subscription()).await;
    place.tries("prompts", v.prompts()).await;
    place.tries("prompt content", v.prompt_content()).await;
    place.tries("completion", v.completion()).await;
    place.tries("sampling", v.says("test_sampling", json!({"prompt": "hello"}), "a model's answer to hello")).await;
    place.tries("form", v.form()).await;
    place.tries("page", v.says("test_elicitation_url", json!({}), "The user chose Accept")).await;
    place.tries("roots", v.says("test_input_required_result_list_roots", json!({}), "file:///work")).await;
    place.tries("several", v.says("test_input_required_result_multiple_inputs", json!({}), "Accept")).await;
    place.tries("roots changed", v.roots_changed()).await;
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    place.tries("tools changed", v.change("test_trigger_tool_change", "tools changed", filter)).await;
    let filter = SubscriptionFilter::builder().prompts_list_changed().build();
    place.tries("prompts changed", v.change("test_trigger_prompt_change", "prompts changed", filter)).await;
    let filter = SubscriptionFilter::builder().resources_list_changed().build();
    place.tries("resources changed", v.change("test_trigger_resource_change", "resources changed", filter)).await;
    place.tries("listen", v.listen()).await;
    place.tries("tasks", v.tasks()).await;
    place.tries("resumption", v.resumption()).await;
    place.tries("headers", v.headers()).await;
}

pub fn params(name: &str, arguments: Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(name.to_owned()).with_arguments(arguments)
}

/// The kind of a subscription's notification, in the words of [`Told`].
fn kind(event: &ServerNotification) -> &'static str {
    match event {
        ServerNotification::ToolListChangedNotification(_) => "tools changed",
        ServerNotification::PromptListChangedNotification(_) => "prompts changed",
        ServerNotification::ResourceListChangedNotification(_) => "resources changed",
        ServerNotification::ResourceUpdatedNotification(_) => "updated",
        _ => "something else",
    }
}

async fn next(subscription: &mut Subscription, expected: &str) -> Attempt {
    let event = subscription.next().await?;
    is(event.as_ref().map(kind), Some(expected))
}

impl Visit<'_> {
    fn is_newest(&self) -> bool {
        self.place.revision == NEWEST
    }

    async fn tasks(&self) -> Attempt {
        if self.is_newest() {
            tasks::visit(self.running).await
        } else {
            Err(Fault::Lacks("it has the tasks of 2026-07-28 alone"))
        }
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Value, Fault> {
        Ok(serde_json::to_value(self.running.call_tool(params(name, arguments)).await?)?)
    }

    async fn text(&self, name: &str, arguments: Value) -> Result<String, Fault> {
        let result = self.call(name, arguments).await?;
        if result["isError"] == true {
            return Err(Fault::Failed(result.to_string()));
        }
        Ok(result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
    }

    async fn says(&self, name: &str, arguments: Value, part: &str) -> Attempt {
        has(&self.text(name, arguments).await?, part)
    }

    async fn open(&self) -> Attempt {
        let server = self.running.peer_info().ok_or(Fault::Failed("no server".to_owned()))?;
        is(server.protocol_version.to_string(), self.place.revision.as_str())?;
        is(server.server_info.as_ref().map(|info| info.name.as_str()), Some(self.place.server.as_str()))?;
        is(server.capabilities.tools.as_ref().and_then(|tools| tools.list_changed), Some(true))
    }

    async fn ping(&self) -> Attempt {
        let answer = self.running.send_request(ClientRequest::PingRequest(PingRequest::default())).await;
        match answer {
            Err(ServiceError::McpError(error)) if self.is_newest() && error.code == ErrorCode::METHOD_NOT_FOUND => {
                Err(Fault::Lacks("the revision has no ping"))
            }
            Ok(_) if self.is_newest() => Err(Fault::Failed("a ping was answered".to_owned())),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn tools(&self) -> Attempt {
        let first = self.running.list_tools(Some(PaginatedRequestParams::default())).await?;
        is(first.next_cursor.is_some(), self.place.pages)?;
        let names: Vec<String> =
            self.running.list_all_tools().await?.into_iter().map(|tool| tool.name.into_owned()).collect();
        is(names.iter().any(|name| name == "test_structured"), true)?;
        let sorted: BTreeSet<String> = names.iter().cloned().collect();
        is(names, sorted.into_iter().collect::<Vec<_>>())
    }

    async fn content(&self) -> Attempt {
        let expected = [
            ("test_image_content", json!(["image"])),
            ("test_audio_content", json!(["audio"])),
            ("test_embedded_resource", json!(["resource"])),
            ("test_multiple_content_types", json!(["text", "image", "resource"])),
            ("test_resource_link", json!(["resource_link"])),
        ];
        for (tool, kinds) in expected {
            let result = self.call(tool, json!({})).await?;
            let blocks = result["content"].as_array().cloned().unwrap_or_default();
            is(blocks.iter().map(|block| block["type"].clone()).collect::<Value>(), kinds)?;
        }
        Ok(())
    }

    async fn structured(&self) -> Attempt {
        let result = self.call("test_structured", json!({"a": 2, "b": 3})).await?;
        is(&result["structuredContent"], &json!({"sum": 5}))
    }

    async fn failure(&self) -> Attempt {
        let result = self.call("test_error_handling", json!({})).await?;
        is(&result["isError"], true)?;
        is(&result["content"][0]["text"], "This tool intentionally returns an error for testing")?;
        is(&self.call("test_structured", json!({"a": "two", "b": 3})).await?["isError"], true)
    }

    async fn refusal(&self) -> Attempt {
        let codes = [
            self.running.call_tool(params("no_such_tool", json!({}))).await.err(),
            self.running.get_prompt(serde_json::from_value(json!({"name": "no_such_prompt"}))?).await.err(),
        ];
        for error in codes {
            match error {
                Some(ServiceError::McpError(error)) => is(error.code, ErrorCode::INVALID_PARAMS)?,
                other => return Err(Fault::Failed(format!("{other:?}"))),
            }
        }
        Ok(())
    }

    async fn progress(&mut self) -> Attempt {
        self.text("test_tool_with_progress", json!({})).await?;
        // Each report has its own task in this client, so they come in any order.
        let mut seen = Vec::new();
        for _ in 0..3 {
            let report = self.told.until("progress", |_| true).await;
            seen.push((report["progress"].as_f64().unwrap_or_default(), report["message"].clone()));
        }
        seen.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        // The oldest revision knows no messages there.
        let message = |step: u8| match self.place.revision.as_str() {
            "2024-11-05" => Value::Null,
            _ => json!(format!("Completed step {step} of 100")),
        };
        is(seen, [0, 50, 100].map(|step| (f64::from(step), message(step))).to_vec())
    }

    async fn cancellation(&mut self) -> Attempt {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("test_wait", json!({}))));
        let handle = self.running.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        self.told.until("progress", |_| true).await;
        handle.cancel(Some("enough".to_owned())).await?;
        self.says("test_given_up", json!({}), "given up").await
    }

    async fn logging(&mut self) -> Attempt {
        if self.is_newest() {
            let mut meta = RequestMetaObject::default();
            meta.set_log_level(LoggingLevel::Info);
            let mut call = params("test_tool_with_logging", json!({}));
            call.meta = Some(meta);
            self.running.call_tool(call).await?;
        } else {
            for level in ["error", "info"] {
                self.running.set_level(serde_json::from_value(json!({"level": level}))?).await?;
                self.text("test_tool_with_logging", json!({})).await?;
            }
        }
        let mut heard = BTreeSet::new();
        for _ in 0..3 {
            heard.insert(self.told.until("log", |_| true).await["data"].to_string());
        }
        is((heard.len(), self.told.rest("log").len()), (3, 0))
    }

    async fn read(&self, uri: &str) -> Result<Value, ServiceError> {
        let wanted = serde_json::from_value(json!({"uri": uri})).map_err(|_| ServiceError::UnexpectedResponse)?;
        let read = self.running.read_resource(wanted).await?;
        Ok(serde_json::to_value(read).unwrap_or_default()["contents"][0].take())
    }

    async fn resources(&self) -> Attempt {
        let found = self.running.list_all_resources().await?;
        is(found.iter().any(|resource| resource.uri == WATCHED), true)?;
        let text = self.read("test://static-text").await?;
        is(&text["text"], "This is the content of the static text resource.")?;
        let blob = self.read("test://static-binary").await?;
        has(blob["blob"].as_str().unwrap_or_default(), "iVBORw0KGgo")?;
        let code = if self.is_newest() { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
        match self.read("test://nothing").await {
            Err(ServiceError::McpError(error)) => is(error.code, code),
            other => Err(Fault::Failed(format!("{other:?}"))),
        }
    }

    async fn templates(&self) -> Attempt {
        let found = self.running.list_all_resource_templates().await?;
        let found: Vec<_> = found.iter().map(|template| template.uri_template.as_str()).collect();
        is(found, ["test://template/{id}/data"])?;
        has(self.read("test://template/7/data").await?["text"].as_str().unwrap_or_default(), r#""id":"7""#)
    }

    async fn subscription(&mut self) -> Attempt {
        if self.is_newest() {
            let filter = SubscriptionFilter::builder().resource_subscriptions([WATCHED]).build();
            return self.change("test_touch_resource", "updated", filter).await;
        }
        self.running.subscribe(serde_json::from_value(json!({"uri": WATCHED}))?).await?;
        self.text("test_touch_resource", json!({})).await?;
        is(&self.told.until("updated", |_| true).await["uri"], WATCHED)?;
        self.running.unsubscribe(serde_json::from_value(json!({"uri": WATCHED}))?).await?;
        self.text("test_touch_resource", json!({})).await?;
        self.running.send_request(ClientRequest::PingRequest(PingRequest::default())).await?;
        is(self.told.rest("updated").len(), 0)
    }

    async fn prompts(&self) -> Attempt {
        let found = self.running.list_all_prompts().await?;
        is(found.iter().any(|prompt| prompt.name == "test_prompt_with_arguments"), true)?;
        self.prompt("test_prompt_with_arguments", json!({"arg1": "a", "arg2": "b"}), "text").await
    }

    async fn prompt(&self, name: &str, arguments: Value, kind: &str) -> Attempt {
        let wanted = serde_json::from_value(json!({"name": name, "arguments": arguments}))?;
        let given = serde_json::to_value(self.running.get_prompt(wanted).await?)?;
        is(&given["messages"][0]["content"]["type"], kind)
    }

    async fn prompt_content(&self) -> Attempt {
        self.prompt("test_prompt_with_image", json!({}), "image").await?;
        let resource = json!({"resourceUri": "test://static-text"});
        self.prompt("test_prompt_with_embedded_resource", resource, "resource").await
    }

    async fn completion(&self) -> Attempt {
        let values = self.running.complete_prompt_simple("test_prompt_with_arguments", "arg1", "par").await?;
        is(values, ["paris", "park", "party"])
    }

    async fn form(&self) -> Attempt {
        let said = self.text("test_elicitation", json!({"message": "Who are you?"})).await?;
        has(&said, "action=Accept")?;
        has(&said, "my username")
    }

    async fn roots_changed(&self) -> Attempt {
        if self.is_newest() {
            return Err(Fault::Lacks("the revision has no such message"));
        }
        self.running.notify_roots_list_changed().await?;
        self.says("test_roots_changed", json!({}), "other roots").await
    }

    /// Lets something change and waits until that is told.
    async fn change(&mut self, tool: &str, expected: &str, filter: SubscriptionFilter) -> Attempt {
        if self.is_newest() {
            let mut subscription = self.running.listen(filter).await?;
            self.text(tool, json!({})).await?;
            next(&mut subscription, expected).await?;
            return Ok(subscription.cancel().await?);
        }
        self.text(tool, json!({})).await?;
        self.told.until(expected, |_| true).await;
        Ok(())
    }

    async fn listen(&mut self) -> Attempt {
        let filter = SubscriptionFilter::builder().tools_list_changed().resource_subscriptions([WATCHED]).build();
        if !self.is_newest() {
            return match self.running.listen(filter).await {
                Err(_) => Err(Fault::Lacks("only 2026-07-28 has it")),
                Ok(_) => Err(Fault::Failed("the subscription was accepted".to_owned())),
            };
        }
        let mut first = self.running.listen(filter.clone()).await?;
        is(first.acknowledged(), &filter)?;
        // Calls go on concurrently, and a second one does not disturb the first.
        let others = SubscriptionFilter::builder().prompts_list_changed().build();
        self.change("test_trigger_prompt_change", "prompts changed", others).await?;
        self.text("test_trigger_tool_change", json!({})).await?;
        next(&mut first, "tools changed").await?;
        Ok(first.cancel().await?)
    }

    async fn resumption(&self) -> Attempt {
        if self.place.transport != "http" {
            return Err(Fault::Lacks("only streams of Streamable HTTP are resumed"));
        }
        if self.is_newest() {
            return Err(Fault::Lacks("the revision has no resumption"));
        }
        self.says("test_reconnection", json!({}), "Reconnection test completed successfully").await
    }

    async fn headers(&self) -> Attempt {
        if !self.is_newest() || self.place.transport == "stdio" {
            return Err(Fault::Lacks("only HTTP of 2026-07-28 repeats arguments in headers"));
        }
        self.says("test_custom_header", json!({"value": "grün & blau"}), "Got grün & blau").await
    }
}

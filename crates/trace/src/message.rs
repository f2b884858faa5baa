//! The parts of a JSON-RPC message.

use serde_json::Value;

/// The method and the id of a request.
pub(crate) fn request(message: &Value) -> Option<(&str, &Value)> {
    Some((message.get("method")?.as_str()?, message.get("id")?))
}

/// The method of a notification.
pub(crate) fn notification(message: &Value) -> Option<&str> {
    if message.get("id").is_some() { None } else { message.get("method")?.as_str() }
}

/// The id of an answer.
pub(crate) fn answer(message: &Value) -> Option<&Value> {
    if message.get("method").is_some() { None } else { message.get("id") }
}

/// The request in words: its method, and the tool, prompt or resource that it names.
pub(crate) fn title(message: &Value) -> String {
    let method = message["method"].as_str().unwrap_or("answer");
    let params = &message["params"];
    match params["name"].as_str().or_else(|| params["uri"].as_str()) {
        Some(name) => format!("{method} {name}"),
        None => method.to_owned(),
    }
}

//! A server whose one long call sends everything that a call can: progress, a question, progress again, and an answer.

use std::convert::Infallible;

use http::{Method, StatusCode, Uri};
use protomcp_http::{Config, Listener, Readiness, Routes, StreamableHttp};
use protomcp_server::Context;
use protomcp_typed::{Registry, Tool, ToolError};
use protomcp_types::{Elicit, Progress, RawJson};

/// The server: `talk` reports, asks the user for a name, reports again and greets; `brief` only answers.
///
/// # Panics
///
/// If its definitions are wrong.
pub fn talker() -> Registry {
    Registry::builder("talker", "1.0")
        .tool(Tool::new("talk", "Talks to its client").handler(talk))
        .tool(Tool::new("brief", "Only answers").handler(async || "brief"))
        .build()
        .expect("the definitions are right")
}

/// Serves the server over HTTP: at `/mcp`, and at `/sse` as a server does that speaks the transport of 2024-11-05 alone.
///
/// # Errors
///
/// If the sockets fail.
pub async fn serve_talker(listener: Listener) -> std::io::Result<()> {
    let routes = Routes::new(StreamableHttp::new(talker().server(), Config::default().with_legacy_sse()))
        // For a reply that is not a message.
        .with_health(Readiness::default());
    let service = tower::service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
        let routes = routes.clone();
        async move {
            // The POSTs of the old transport name their session in the query.
            let is_unknown = request.method() == Method::POST && request.uri() == "/sse";
            if is_unknown {
                *request.uri_mut() = Uri::from_static("/healthz");
            }
            let mut response = routes.handle(request).await;
            if is_unknown {
                *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            }
            Ok::<_, Infallible>(response)
        }
    });
    listener.serve(service).await
}

async fn talk(context: Context) -> Result<String, ToolError> {
    context.progress(&Progress::new(1).of(2));
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;
    let form = Elicit::form("Who are you?", RawJson::parse(schema).expect("it is JSON"));
    let answer = context.ask::<Elicit>(&form).await?;
    context.progress(&Progress::new(2).of(2));
    Ok(format!("hello {}", answer.content.unwrap_or(RawJson::EMPTY_OBJECT)))
}

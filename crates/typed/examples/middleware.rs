//! Middleware over stdio: a layer around all requests, one around outgoing messages, and one around one tool.
//!
//! Try it with `npx @modelcontextprotocol/inspector cargo run -p protomcp-typed --example middleware`: each request is
//! logged with its duration, and the tool `never` times out after 100 ms.

#![expect(clippy::print_stderr, reason = "an example talks to its user")]

use std::time::{Duration, Instant};

use protomcp_server::layer::timeout::TimeoutLayer;
use protomcp_server::{Context, Layer, OutgoingLayer, ServerRequest, ServerResult, Service, SessionId};
use protomcp_transport::stdio;
use protomcp_typed::{Registry, Tool};
use protomcp_types::{ErrorObject, Level, Notification, RawJson};

/// Logs every request and its duration.
struct Clock;

struct Clocked<S>(S);

impl<S: Service> Layer<S> for Clock {
    type Service = Clocked<S>;

    fn layer(&self, inner: S) -> Clocked<S> {
        Clocked(inner)
    }
}

impl<S: Service> Service for Clocked<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let (method, start) = (request.method().to_owned(), Instant::now());
        let outcome = self.0.call(request, context).await;
        eprintln!("{method}: {} after {:?}", if outcome.is_ok() { "ok" } else { "error" }, start.elapsed());
        outcome
    }
}

/// Logs every notification.
struct Sent;

impl OutgoingLayer for Sent {
    fn notification(&self, _: SessionId, notification: Notification) -> Option<Notification> {
        eprintln!("sent {}", notification.method);
        Some(notification)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let greet = async |context: Context| {
        context.log(Level::Info, Some("greeter"), &RawJson::text("a client is greeted"));
        "hi"
    };
    let never = async || std::future::pending::<()>().await;
    let registry = Registry::builder("layered", "1.0")
        .tool(Tool::new("greet", "Say hi").handler(greet))
        .tool(Tool::new("never", "Never ends").handler(never).layer(TimeoutLayer::new(Duration::from_millis(100))))
        .on_roots_changed(|session| eprintln!("the roots of session {session} have changed"))
        .build()?;
    registry.server().layer(Clock).outgoing_layer(Sent).serve(stdio()?).await?;
    Ok(())
}

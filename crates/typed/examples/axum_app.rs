//! A server inside an axum application, together with its other routes.
//!
//! `cargo run -p protomcp-typed --example axum_app` prints the address of the application; the server is at `/mcp`.

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use axum::Router;
use axum::routing::get;
use protomcp_http::{Config, StreamableHttp};
use protomcp_typed::{Registry, Tool};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry =
        Registry::builder("greeter", "1.0").tool(Tool::new("greet", "Say hi").handler(async || "hi")).build()?;
    let mcp = StreamableHttp::new(registry.server(), Config::default());
    let app = Router::new().route("/", get(async || "hello from the application")).route_service("/mcp", mcp);
    let socket = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", socket.local_addr()?);
    axum::serve(socket, app).await?;
    Ok(())
}

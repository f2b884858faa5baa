//! A transport of your own: JSON texts over two channels, with a client at the other end that prints the messages.
//!
//! `cargo run -p protomcp-typed --example custom_transport` prints the answers to `initialize` and `tools/call`.

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use protomcp_transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_typed::{Registry, Tool};
use protomcp_types::{Incoming, Message, RequestId};
use tokio::sync::mpsc;

struct Texts {
    from_host: mpsc::UnboundedReceiver<String>,
    to_host: mpsc::UnboundedSender<String>,
}

struct FromHost(mpsc::UnboundedReceiver<String>);

struct ToHost(mpsc::UnboundedSender<String>);

impl Transport for Texts {
    type Source = FromHost;
    type Sink = ToHost;

    fn split(self) -> (FromHost, ToHost) {
        (FromHost(self.from_host), ToHost(self.to_host))
    }
}

impl Source for FromHost {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        Ok(self.0.recv().await.map(|text| Incoming::parse(&text.into())))
    }
}

impl Sink for ToHost {
    fn send(&mut self, message: Message, _: Option<&RequestId>) -> Result<(), TransportError> {
        self.0.send(message.to_text()).map_err(|_| TransportError::Closed)
    }

    /// Does not wait: a channel takes everything immediately.
    async fn flush(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    fn unwritten(&self) -> usize {
        0
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry =
        Registry::builder("greeter", "1.0").tool(Tool::new("greet", "Say hi").handler(async || "hi")).build()?;
    let (to_server, from_host) = mpsc::unbounded_channel();
    let (to_host, mut from_server) = mpsc::unbounded_channel();
    let session = registry.connect(Texts { from_host, to_host });
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"channel","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet"}}"#,
    ] {
        to_server.send(text.to_owned())?;
    }
    drop(to_server);
    while let Some(text) = from_server.recv().await {
        println!("{text}");
    }
    println!("the session has ended: {:?}", session.closed().await);
    Ok(())
}

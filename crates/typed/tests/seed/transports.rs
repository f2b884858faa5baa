//! Transports by users, and transports chosen at run time.

use protomcp_testing::run_paused;
use protomcp_transport::boxed::Boxed;
use protomcp_transport::{Received, Sink, Source, Transport, TransportError, memory};
use protomcp_typed::{Registry, Tool};
use protomcp_types::{Incoming, Message, RequestId};
use tokio::sync::mpsc;

// A custom transport begins here: texts over two channels.
struct Texts(mpsc::UnboundedReceiver<String>, mpsc::UnboundedSender<String>);
struct From(mpsc::UnboundedReceiver<String>);
struct To(mpsc::UnboundedSender<String>);

impl Transport for Texts {
    type Source = From;
    type Sink = To;

    fn split(self) -> (From, To) {
        (From(self.0), To(self.1))
    }
}

impl Source for From {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        Ok(self.0.recv().await.map(|text| Incoming::parse(&text.into())))
    }
}

impl Sink for To {
    fn send(&mut self, message: Message, _: Option<&RequestId>) -> Result<(), TransportError> {
        self.0.send(message.to_text()).map_err(|_| TransportError::Closed)
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    fn unwritten(&self) -> usize {
        0
    }
}
// The custom transport ends here.

fn greeter() -> Registry {
    Registry::builder("greeter", "1").tool(Tool::new("greet", "d").handler(async || "hi")).build().unwrap()
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet"}}"#;

#[test]
fn a_custom_transport_takes_less_than_sixty_lines() {
    let source = include_str!("transports.rs");
    let own = source.split("begins here").nth(1).unwrap().split("ends here").next().unwrap();
    assert!(own.lines().count() < 60);
    run_paused(async {
        let ((to_server, from_host), (to_host, mut from_server)) =
            (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let serving = tokio::spawn(async move { greeter().serve(Texts(from_host, to_host)).await });
        for line in [HELLO, "{", CALL] {
            to_server.send(line.to_owned()).unwrap();
        }
        assert!(from_server.recv().await.unwrap().contains("\"serverInfo\""));
        assert!(from_server.recv().await.unwrap().contains("-32700"), "text that is not a message is answered as well");
        assert!(from_server.recv().await.unwrap().contains("\"hi\""));
        drop(to_server);
        serving.await.unwrap().unwrap();
    });
}

#[test]
fn the_kind_of_transport_is_chosen_at_run_time() {
    run_paused(async {
        for in_memory in [true, false] {
            let (to_server, from_host) = mpsc::unbounded_channel();
            let (to_host, mut from_server) = mpsc::unbounded_channel();
            let (ours, theirs) = memory::pair();
            let transport = if in_memory { Boxed::new(theirs) } else { Boxed::new(Texts(from_host, to_host)) };
            let serving = tokio::spawn(async move { greeter().serve(transport).await });
            let (mut source, mut sink) = ours.split();
            for line in [HELLO, CALL] {
                if in_memory {
                    let Ok(Incoming::One(message)) = Incoming::parse(&line.into()) else { panic!() };
                    sink.send(message, None).unwrap();
                    sink.flush().await.unwrap();
                    assert!(source.next().await.unwrap().is_some());
                } else {
                    to_server.send(line.to_owned()).unwrap();
                    assert!(from_server.recv().await.is_some());
                }
            }
            drop((to_server, sink));
            serving.await.unwrap().unwrap();
        }
    });
}

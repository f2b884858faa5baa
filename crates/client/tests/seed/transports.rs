//! Transports by users, and transports chosen at run time.

use protomcp_client::{Client, ClientSession, Mode};
use protomcp_http::{Config, StreamableHttp};
use protomcp_http_client::HttpTransport;
use protomcp_listener::Listener;
use protomcp_testing::run_paused;
use protomcp_transport::boxed::Boxed;
use protomcp_transport::{Received, Sink, Source, Transport, TransportError, memory};
use protomcp_types::{Incoming, Message, RequestId};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{greeter, text};

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

/// A server whose every message is written by the test.
pub(crate) struct Peer {
    from_client: mpsc::UnboundedReceiver<String>,
    to_client: mpsc::UnboundedSender<String>,
}

impl Peer {
    /// A session with a handshake, and its server.
    pub(crate) async fn open(client: Client) -> (ClientSession, Self) {
        let (to_server, from_client) = mpsc::unbounded_channel();
        let (to_client, from_server) = mpsc::unbounded_channel();
        let mut peer = Self { from_client, to_client };
        let texts = Texts(from_server, to_server);
        let connecting = tokio::spawn(async move { client.mode(Mode::Stateful).connect(texts).await });
        let info = json!({"name": "s", "version": "1"});
        let welcome = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info});
        peer.answer("initialize", welcome).await;
        assert_eq!(peer.next().await["method"], "notifications/initialized");
        (connecting.await.unwrap().unwrap(), peer)
    }

    /// The next message of the client.
    pub(crate) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.from_client.recv().await.unwrap()).unwrap()
    }

    pub(crate) fn say(&self, message: &Value) {
        self.to_client.send(message.to_string()).unwrap();
    }

    /// Answers the next message of the client, which is a request of this method.
    pub(crate) async fn answer(&mut self, method: &str, result: Value) {
        let request = self.next().await;
        assert_eq!(request["method"], method);
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }
}

/// `Transport`, `Stream`: "it must be possible for users to define their own custom transports"
#[test]
fn a_custom_transport_takes_less_than_sixty_lines() {
    let source = include_str!("transports.rs");
    let own = source.split("begins here").nth(1).unwrap().split("ends here").next().unwrap();
    assert!(own.lines().count() < 60);
    run_paused(async {
        let (session, mut peer) = Peer::open(Client::new("h", "1")).await;
        let call = tokio::spawn(session.call_tool("greet", &json!({"name": "you"})).into_future());
        peer.to_client.send("{".to_owned()).unwrap();
        peer.answer("tools/call", json!({"content": [{"type": "text", "text": "hi"}]})).await;
        assert_eq!(text(&call.await.unwrap().unwrap()), "hi", "text that is not a message harms nothing");
        drop(session);
        assert_eq!(peer.from_client.recv().await, None, "the end of the session is the end of the transport");
    });
}

#[tokio::test]
async fn the_kind_of_transport_is_chosen_at_run_time() {
    for kind in ["memory", "http", "command"] {
        for mode in [Mode::Auto, Mode::Stateful] {
            let Some(transport) = choose(kind).await else { continue };
            let session = Client::new("h", "1").mode(mode).connect(transport).await.unwrap();
            let result = session.call_tool("greet", &json!({"name": kind})).await.unwrap();
            assert_eq!(text(&result), format!("Hi {kind}"));
        }
    }
}

/// A connection to a server; `None` if this program cannot have one of this kind.
async fn choose(kind: &str) -> Option<Boxed> {
    match kind {
        "memory" => {
            let (ours, theirs) = memory::pair();
            tokio::spawn(async move { greeter().serve(theirs).await });
            Some(Boxed::new(ours))
        }
        "http" => {
            let listener = Listener::bind(("127.0.0.1", 0)).await.unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            let service = StreamableHttp::new(greeter().server(), Config::default());
            tokio::spawn(listener.serve(service).into_future());
            Some(Boxed::new(HttpTransport::new(&url).unwrap()))
        }
        #[cfg(all(target_os = "linux", feature = "command"))]
        "command" => {
            use protomcp_client::{Command, CommandTransport, Guardian};
            let server = CommandTransport::new(Command::new(super::sample::my_server()).guardian(Guardian::None));
            Some(Boxed::new(server.spawn().await.unwrap()))
        }
        _ => None,
    }
}

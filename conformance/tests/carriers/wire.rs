//! A server behind one carrier, and connections to it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use prost::Message;
use protomcp_bufmcp::message::{ClientCapabilities, InitializeRequest, McpMessage, Payload};
use protomcp_conformance::{Host, Sandbox, peers};

/// The tools and the resources of all scenarios.
const TOOLS: &str = include_str!("../../hosts/carriers.py");

/// A way between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    Stdio,
    Tcp,
    WebSocket,
    BareWebSocket,
    Grpc,
}

/// A server.
pub(crate) struct Scene {
    pub(crate) carrier: Carrier,
    pub(crate) sandbox: Sandbox,
    /// With its address; `None`: each connection starts one.
    server: Option<(Host, String)>,
}

impl Scene {
    pub(crate) fn open(carrier: Carrier, flags: &[&str]) -> Self {
        Self::open_with(carrier, flags, &[("SECRET", "t0k")])
    }

    /// With these variables.
    pub(crate) fn open_with(carrier: Carrier, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::open_file(carrier, "carriers.py", flags, variables)
    }

    /// With another file.
    pub(crate) fn open_file(carrier: Carrier, file: &str, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("carriers.py", TOOLS);
        let transport = match carrier {
            Carrier::Stdio => return Self { carrier, sandbox, server: None },
            Carrier::Tcp => "tcp",
            Carrier::WebSocket | Carrier::BareWebSocket | Carrier::Grpc => "http",
        };
        let words = [&["run", file, "--port", "0", "--transport", transport], flags].concat();
        let launch = sandbox.pmcp(&words);
        let host = variables.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).start();
        let log = host.stderr_with("serving");
        let (_, url) = log.split_once("listening on ").expect("it says where it listens");
        let address = url.split_whitespace().next().unwrap();
        let (_, address) = address.split_once("://").unwrap();
        let address = address.trim_end_matches("/mcp").to_owned();
        Self { carrier, sandbox, server: Some((host, address)) }
    }

    pub(crate) fn address(&self) -> &str {
        &self.server.as_ref().expect("there is a port").1
    }

    /// The log of the server.
    pub(crate) fn log(&self) -> String {
        self.server.as_ref().expect("there is a port").0.stderr()
    }

    /// A connection after its first exchange.
    pub(crate) fn connect(&self) -> Wire {
        let wire = self.connect_as(None);
        match wire.ask(initialize(None)) {
            Payload::InitializeResponse(response) => assert_eq!(response.protocol_version, "1.0.0"),
            other => panic!("{other:?}"),
        }
        wire
    }

    /// A connection that has sent nothing. The token is a header where there are headers.
    pub(crate) fn connect_as(&self, token: Option<&str>) -> Wire {
        let mut command = match self.carrier {
            Carrier::Stdio => self.sandbox.pmcp(&["run", "carriers.py"]).command(),
            Carrier::Tcp => {
                let stream = TcpStream::connect(self.address()).unwrap();
                return Wire::new(stream.try_clone().unwrap(), stream.try_clone().unwrap(), End::Tcp(stream));
            }
            Carrier::WebSocket => {
                self.relay("mcp", "ws_relay.py", &[&format!("ws://{}/mcp", self.address()), "prefixed"])
            }
            Carrier::BareWebSocket => {
                self.relay("mcp", "ws_relay.py", &[&format!("ws://{}/mcp", self.address()), "bare"])
            }
            Carrier::Grpc => self.relay("grpc", "grpc_relay.py", &[self.address()]),
        };
        if let Some(token) = token {
            command.env("RELAY_AUTHORIZATION", format!("Bearer {token}"));
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (writer, reader) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Wire::new(writer, reader, End::Child(child))
    }

    fn relay(&self, part: &str, script: &str, words: &[&str]) -> Command {
        let mut command = Command::new(peers().join(part).join("bin/python"));
        let script = format!("{}/hosts/{script}", env!("CARGO_MANIFEST_DIR"));
        command.arg(script).args(words).current_dir(self.sandbox.path(""));
        command
    }

    /// True if a client with this token may list tools.
    pub(crate) fn answers_to(&self, token: Option<&str>) -> bool {
        let wire = self.connect_as(token);
        // Over TCP the token is in the first message.
        let first = token.filter(|_| self.carrier == Carrier::Tcp);
        let opened = wire.send(initialize(first)).and_then(|id| wire.receive(id));
        let listed = || wire.send(Payload::ListToolsRequest(Default::default())).and_then(|id| wire.receive(id));
        matches!(opened, Some(Payload::InitializeResponse(_)))
            && matches!(listed(), Some(Payload::ListToolsResponse(_)))
    }
}

pub(crate) fn initialize(token: Option<&str>) -> Payload {
    initialize_with(token, &[])
}

/// The extension that is not in `experimental`.
pub(crate) const STREAMING: &str = "supports_streaming";

/// The first message of a client that declares these extensions.
pub(crate) fn initialize_with(token: Option<&str>, extensions: &[&str]) -> Payload {
    let capabilities = ClientCapabilities {
        supports_streaming: extensions.contains(&STREAMING),
        encodings: vec!["protobuf".to_owned()],
        experimental: extensions
            .iter()
            .filter(|name| **name != STREAMING)
            .map(|name| ((*name).to_owned(), true))
            .collect(),
        ..ClientCapabilities::default()
    };
    let metadata = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))).into_iter().collect();
    Payload::InitializeRequest(InitializeRequest {
        protocol_version: "1.0.0".to_owned(),
        capabilities: Some(capabilities),
        metadata,
    })
}

/// The end of a connection.
enum End {
    Tcp(TcpStream),
    Child(Child),
}

/// A connection: messages behind their lengths.
pub(crate) struct Wire {
    writer: RefCell<Option<Box<dyn Write>>>,
    reader: RefCell<Box<dyn Read>>,
    last: Cell<u64>,
    /// Answers that came before they were waited for.
    early: RefCell<HashMap<u64, Payload>>,
    end: RefCell<End>,
}

impl Wire {
    fn new(writer: impl Write + 'static, reader: impl Read + 'static, end: End) -> Self {
        Self {
            writer: RefCell::new(Some(Box::new(writer))),
            reader: RefCell::new(Box::new(reader)),
            last: Cell::new(0),
            early: RefCell::default(),
            end: RefCell::new(end),
        }
    }

    /// Sends a request, and returns its id; `None` if the connection is over.
    pub(crate) fn send(&self, payload: Payload) -> Option<u64> {
        let id = self.last.get() + 1;
        self.last.set(id);
        self.send_bytes(&McpMessage { id, payload: Some(payload) }.encode_to_vec()).then_some(id)
    }

    /// Sends any bytes as one message. False if the connection is over.
    pub(crate) fn send_bytes(&self, body: &[u8]) -> bool {
        let frame = [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], body].concat();
        let mut writer = self.writer.borrow_mut();
        writer.as_mut().is_some_and(|writer| writer.write_all(&frame).and_then(|()| writer.flush()).is_ok())
    }

    /// The next message; `None` at the end.
    pub(crate) fn next(&self) -> Option<McpMessage> {
        let mut reader = self.reader.borrow_mut();
        let mut prefix = [0; 4];
        reader.read_exact(&mut prefix).ok()?;
        let mut body = vec![0; usize::try_from(u32::from_be_bytes(prefix)).unwrap()];
        reader.read_exact(&mut body).ok()?;
        Some(McpMessage::decode(&body[..]).unwrap())
    }

    /// The answer with this id.
    pub(crate) fn receive(&self, id: u64) -> Option<Payload> {
        if let Some(payload) = self.early.borrow_mut().remove(&id) {
            return Some(payload);
        }
        loop {
            let message = self.next()?;
            let payload = message.payload.expect("a message has a payload");
            if message.id == id {
                return Some(payload);
            }
            self.early.borrow_mut().insert(message.id, payload);
        }
    }

    /// A request and its answer.
    #[track_caller]
    pub(crate) fn ask(&self, payload: Payload) -> Payload {
        let id = self.send(payload).expect("the connection is open");
        self.receive(id).expect("an answer")
    }

    /// Breaks the connection.
    pub(crate) fn cut(self) {
        drop(self.writer.take());
        if let End::Child(child) = &mut *self.end.borrow_mut() {
            child.kill().unwrap();
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // The end of the input ends a relay, and a server on standard input and output.
        drop(self.writer.take());
        match &mut *self.end.borrow_mut() {
            End::Tcp(stream) => drop(stream.shutdown(std::net::Shutdown::Both)),
            End::Child(child) => drop(child.wait()),
        }
    }
}

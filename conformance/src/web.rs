//! `pmcp` as an HTTP server, and requests to it written by hand: tests check statuses, header fields and events, and
//! send requests that no client would send.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::host::Host;
use crate::launch::Launch;
use crate::sandbox::Sandbox;
use protomcp_testing::patience;

/// A `pmcp` on its own port, and the headers of every request to it.
#[derive(Debug)]
pub struct Web {
    host: Host,
    port: u16,
    headers: Vec<(String, String)>,
    sandbox: Sandbox,
}

/// A stream of events that is read line by line.
#[derive(Debug)]
pub struct Listening(BufReader<TcpStream>);

impl Listening {
    /// Waits for a line that contains this text. `None`: the stream has ended without one.
    ///
    /// # Panics
    ///
    /// If nothing arrives in time.
    pub fn line_with(&mut self, text: &str) -> Option<String> {
        let end = Instant::now() + patience();
        loop {
            // Lines that keep the connection alive come for ever.
            assert!(Instant::now() < end, "no line with {text} has come");
            let mut line = String::new();
            match self.0.read_line(&mut line).expect("the stream is silent") {
                0 => return None,
                _ if line.contains(text) => return Some(line),
                _ => {}
            }
        }
    }
}

/// The response to a request.
#[derive(Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The headers, in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as far as it was received.
    pub body: String,
}

impl Web {
    /// Starts `pmcp run` with a tool file of the fixtures on any free port, and waits until it serves.
    ///
    /// # Panics
    ///
    /// If it does not announce its address.
    pub fn start(fixture: &str, flags: &[&str]) -> Self {
        Self::start_with(fixture, flags, &[])
    }

    /// Like [`Web::start`], with environment variables.
    ///
    /// # Panics
    ///
    /// If it does not announce its address.
    pub fn start_with(fixture: &str, flags: &[&str], env: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        let file = sandbox.copy(fixture);
        let name = file.file_name().expect("a fixture is a file").to_string_lossy().into_owned();
        Self::run(sandbox, &name, flags, env)
    }

    /// Like [`Web::start_with`], with a program in place of a tool file.
    ///
    /// # Panics
    ///
    /// If it does not announce its address.
    pub fn start_program(program: &Path, flags: &[&str], env: &[(&str, &str)]) -> Self {
        Self::run(Sandbox::new(), &program.to_string_lossy(), flags, env)
    }

    fn run(sandbox: Sandbox, file: &str, flags: &[&str], env: &[(&str, &str)]) -> Self {
        let launch = sandbox.pmcp(&[&["run", file, "--port", "0"], flags].concat());
        let launch = env.iter().fold(launch, |launch, (name, value)| launch.env(*name, *value));
        Self::launch(sandbox, launch)
    }

    /// Starts a launch that was prepared in a sandbox, and waits until it serves.
    ///
    /// # Panics
    ///
    /// If it does not announce its address.
    pub fn launch(sandbox: Sandbox, launch: Launch) -> Self {
        Self::launch_until(sandbox, launch, "over HTTP")
    }

    /// Like [`Web::launch`], for a server that serves when its log has this text.
    ///
    /// # Panics
    ///
    /// If it does not announce its address.
    pub fn launch_until(sandbox: Sandbox, launch: Launch, ready: &str) -> Self {
        let host = launch.start();
        let text = host.stderr_with(ready);
        let line = text.lines().find(|line| line.contains("listening on ")).expect("it says where it listens");
        let port = line.rsplit(':').next().and_then(|rest| rest.split('/').next()).and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no port in {line}"));
        Self { host, port, headers: Vec::new(), sandbox }
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process.
    pub fn process(&self) -> &Host {
        &self.host
    }

    /// The path of its tool file.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Adds this header to all further requests.
    pub fn carry(&mut self, name: &str, value: &str) {
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// Leaves this header out of all further requests.
    pub fn forget(&mut self, name: &str) {
        self.headers.retain(|(known, _)| known != name);
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Panics
    ///
    /// If the connection fails.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        Reply::read(self.begin(method, path, headers, body))
    }

    /// The same program at another port.
    pub fn at_port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// Opens the stream of its session.
    ///
    /// # Panics
    ///
    /// If the connection fails.
    pub fn listen(&self, headers: &[(&str, &str)]) -> Listening {
        self.stream("GET", "/mcp", headers, "")
    }

    /// Sends a request whose response is a stream of events.
    pub fn stream(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Listening {
        Listening(self.begin(method, path, headers, body))
    }

    fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> BufReader<TcpStream> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut all: Vec<(&str, &str)> = own.chain(headers.iter().copied()).collect();
        let address = format!("localhost:{}", self.port);
        let length = body.len().to_string();
        let usual = [
            ("host", address.as_str()),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("content-length", &length),
        ];
        for (name, value) in usual {
            if !all.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                all.push((name, value));
            }
        }
        for (name, value) in all {
            text += &format!("{name}: {value}\r\n");
        }
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("pmcp listens");
        stream.set_read_timeout(Some(patience())).expect("a socket has timeouts");
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).expect("pmcp reads");
        BufReader::new(stream)
    }

    /// Posts a message.
    pub fn post(&self, message: &Value) -> Reply {
        self.send("POST", "/mcp", &[], &message.to_string())
    }

    /// Opens a session and sends its id from here on.
    ///
    /// # Panics
    ///
    /// If no session is opened.
    pub fn initialize(&mut self) -> Value {
        let reply = self.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}
        }}));
        let session = reply.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {reply:?}")).to_owned();
        self.carry("mcp-session-id", &session);
        let told = self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!((told.status, told.body.as_str()), (202, ""));
        reply.json()["result"].take()
    }

    /// Calls a tool and returns the reply.
    pub fn call(&self, name: &str, arguments: &Value) -> Reply {
        let params = json!({"name": name, "arguments": arguments});
        self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    }
}

impl Reply {
    fn read(mut stream: BufReader<TcpStream>) -> Self {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).expect("an answer");
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status = lines.first().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
        let header = |line: &String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let headers = lines.iter().filter_map(header).collect();
        let mut body = Vec::new();
        // The connection ends with the response.
        stream.read_to_end(&mut body).expect("a body");
        let body = String::from_utf8_lossy(&body).into_owned();
        Self { status: status.unwrap_or_else(|| panic!("no status in {lines:?}")), headers, body }
    }

    /// One header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON. Of a stream of events, which the response to a request becomes after a second without an answer,
    /// the last one with data.
    ///
    /// # Panics
    ///
    /// If it is not JSON.
    pub fn json(&self) -> Value {
        let is_stream = self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let mut data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let last = if is_stream { data.rfind(|data| !data.is_empty()) } else { None };
        serde_json::from_str(last.unwrap_or(&self.body)).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }
}

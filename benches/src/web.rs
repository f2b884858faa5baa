//! HTTP servers, and a cheap client for them: a blocking socket and requests from a template.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The text of calls.
pub const TEXT: &str =
    "some words that make this call about as long as calls usually are, a few hundred bytes with what is around it";

/// A server that has announced its address.
#[derive(Debug)]
pub struct WebServer {
    child: Child,
    port: u16,
}

impl WebServer {
    /// Starts it and waits for `listening on http://name:port/…`, or the same with `proto`, on its standard error.
    ///
    /// # Errors
    ///
    /// If it cannot be started or ends before that.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut log = BufReader::new(child.stderr.take().ok_or_else(|| io::Error::other("stderr is piped"))?);
        let mut line = String::new();
        let port = loop {
            line.clear();
            if log.read_line(&mut line)? == 0 {
                return Err(io::Error::other("the server ended before it listened"));
            }
            let place = ["http", "proto"]
                .iter()
                .find_map(|kind| line.split_once(&format!("listening on {kind}://")).map(|(_, place)| place));
            let Some(place) = place else { continue };
            let port = place.split('/').next().and_then(|place| place.rsplit(':').next()?.trim().parse().ok());
            break port.ok_or_else(|| io::Error::other(format!("no port in {line}")))?;
        };
        // The rest is discarded, but must be read so that the pipe does not fill up.
        std::thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        Ok(Self { child, port })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its port on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The members that each request without a session has.
const STATELESS_META: &str = concat!(
    r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

/// One connection, and the session of its requests, if it has one.
#[derive(Debug)]
pub struct WebClient {
    stream: TcpStream,
    port: u16,
    session: String,
    /// True if calls are requests of MCP 2026-07-28, which need no session.
    is_stateless: bool,
    /// The address for which a proxy would send the requests.
    forwarded: Option<String>,
    request: String,
    buffer: Vec<u8>,
    /// The size of the last response in the buffer, in bytes.
    filled: usize,
}

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status code.
    pub status: u16,
    /// The id of the session that was opened.
    pub session: Option<String>,
    /// The size of the whole response in bytes.
    pub size: usize,
}

impl WebClient {
    /// Connects, and sends nothing.
    ///
    /// # Errors
    ///
    /// If the port is not listening.
    pub fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self {
            stream,
            port,
            session: String::new(),
            is_stateless: false,
            forwarded: None,
            request: String::new(),
            buffer: vec![0; 64 << 10],
            filled: 0,
        })
    }

    /// Connects, for calls without a session (MCP 2026-07-28).
    ///
    /// # Errors
    ///
    /// If the port is not listening.
    pub fn stateless(port: u16) -> io::Result<Self> {
        Ok(Self { is_stateless: true, ..Self::connect(port)? })
    }

    /// Connects and opens a session.
    ///
    /// # Errors
    ///
    /// If the port is not listening, or the server does not open a session.
    pub fn open(port: u16) -> io::Result<Self> {
        let mut client = Self::connect(port)?;
        client.initialize()?;
        client.initialized()?;
        Ok(client)
    }

    /// Says that the session is ready for calls.
    ///
    /// # Errors
    ///
    /// If the server refuses that.
    pub fn initialized(&mut self) -> io::Result<()> {
        let told = self.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        if told.status == 202 { Ok(()) } else { Err(unexpected(&told)) }
    }

    /// Opens a session and uses it for further requests. The previous session is left open.
    ///
    /// # Errors
    ///
    /// If the server does not open a session.
    pub fn initialize(&mut self) -> io::Result<&str> {
        self.session.clear();
        let reply = self.post(concat!(
            r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","#,
            r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#
        ))?;
        self.session = reply.session.clone().ok_or_else(|| unexpected(&reply))?;
        Ok(&self.session)
    }

    /// The session of further requests.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Uses a session that was opened before.
    pub fn resume(&mut self, session: &str) {
        session.clone_into(&mut self.session);
    }

    /// Sends further requests as a proxy does for this address.
    pub fn forward_for(&mut self, address: String) {
        self.forwarded = Some(address);
    }

    /// Calls `echo` with this text; returns the duration.
    ///
    /// # Errors
    ///
    /// If the answer is not the expected one.
    pub fn call(&mut self, text: &str) -> io::Result<Duration> {
        let start = Instant::now();
        let meta = if self.is_stateless { STATELESS_META } else { "" };
        let reply = self.post(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}{meta}}}}}"#
        ))?;
        let took = start.elapsed();
        if reply.status == 200 && reply.size > text.len() { Ok(took) } else { Err(unexpected(&reply)) }
    }

    /// Posts a message and reads the whole response.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    pub fn post(&mut self, message: &str) -> io::Result<Reply> {
        self.send("POST", message)?;
        self.reply()
    }

    /// Sends a request without waiting.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    pub fn send(&mut self, method: &str, message: &str) -> io::Result<()> {
        self.send_part(method, message, message.len())
    }

    /// Sends the head of a request and the first `size` bytes of the announced body.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    pub fn send_part(&mut self, method: &str, message: &str, size: usize) -> io::Result<()> {
        self.request.clear();
        // Writing to a string cannot fail.
        let _ = write!(
            self.request,
            "{method} /mcp HTTP/1.1\r\nhost: localhost:{}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n",
            self.port,
            message.len()
        );
        if !self.session.is_empty() {
            let _ = write!(self.request, "mcp-session-id: {}\r\nmcp-protocol-version: 2025-06-18\r\n", self.session);
        }
        if let Some(address) = &self.forwarded {
            let _ = write!(self.request, "x-forwarded-for: {address}\r\n");
        }
        if self.is_stateless {
            self.request.push_str("mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n");
        }
        self.request.push_str("\r\n");
        self.request.push_str(&message[..size]);
        self.stream.write_all(self.request.as_bytes())
    }

    /// Reads the response to the last request.
    ///
    /// # Errors
    ///
    /// If the connection fails or the response cannot be read.
    pub fn reply(&mut self) -> io::Result<Reply> {
        let (mut seen, mut head) = (0, None);
        loop {
            if seen == self.buffer.len() {
                self.buffer.resize(2 * seen, 0);
            }
            let count = self.stream.read(&mut self.buffer[seen..])?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            seen += count;
            let bytes = &self.buffer[..seen];
            if head.is_none() {
                head = Head::parse(bytes)?;
            }
            let Some(head) = &head else { continue };
            let is_whole = match head.length {
                Some(length) => seen >= head.size + length,
                None => bytes[head.size..].ends_with(b"0\r\n\r\n"),
            };
            if is_whole {
                self.filled = seen;
                return Ok(Reply { status: head.status, session: head.session.clone(), size: seen });
            }
        }
    }

    /// True if the last response has this text.
    pub fn response_contains(&self, text: &str) -> bool {
        self.buffer[..self.filled].windows(text.len()).any(|window| window == text.as_bytes())
    }
}

/// The head of a response.
struct Head {
    size: usize,
    status: u16,
    /// The size of the body in bytes; `None` if it is chunked.
    length: Option<usize>,
    session: Option<String>,
}

impl Head {
    /// `None` if it is incomplete.
    fn parse(bytes: &[u8]) -> io::Result<Option<Self>> {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
        let text = std::str::from_utf8(&bytes[..end]).map_err(io::Error::other)?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status in {text}")))?;
        let (mut length, mut session, mut chunked) = (None, None, false);
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok(),
                "transfer-encoding" => chunked = true,
                "mcp-session-id" => session = Some(value.to_owned()),
                _ => {}
            }
        }
        let length = if chunked { None } else { Some(length.unwrap_or_default()) };
        Ok(Some(Self { size: end + 4, status, length, session }))
    }
}

fn unexpected(reply: &Reply) -> io::Error {
    io::Error::other(format!("an unexpected answer: {reply:?}"))
}

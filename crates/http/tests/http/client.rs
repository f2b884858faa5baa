//! A client by hand: one connection for each request, so that each can break by itself. Tests check statuses, header
//! fields and events, which `protomcp-http-client` does not tell.

use std::collections::HashMap;
use std::net::SocketAddr;

use protomcp_testing::in_time;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// One client.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    /// Headers that every request carries.
    pub(crate) headers: Vec<(String, String)>,
}

/// A response; the rest of its body may arrive later.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    stream: BufReader<TcpStream>,
    left: Vec<u8>,
}

/// One server-sent event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

impl Host {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, path: "/mcp".to_owned(), headers: Vec::new() }
    }

    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut host = self.clone();
        host.headers.push((name.to_owned(), value.to_owned()));
        host
    }

    pub(crate) fn at(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    /// Sends a request as it is. A header that is named here replaces the default; an empty value removes it.
    pub(crate) async fn send(&self, method: &str, body: &str) -> Answer {
        let mut headers = HashMap::from([
            ("host".to_owned(), self.address.to_string()),
            ("connection".to_owned(), "close".to_owned()),
        ]);
        match method {
            "POST" => {
                headers.insert("content-type".to_owned(), "application/json".to_owned());
                headers.insert("accept".to_owned(), "application/json, text/event-stream".to_owned());
                headers.insert("content-length".to_owned(), body.len().to_string());
            }
            "GET" => drop(headers.insert("accept".to_owned(), "text/event-stream".to_owned())),
            _ => {}
        }
        headers.extend(self.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
        let mut text = format!("{method} {} HTTP/1.1\r\n", self.path);
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let answer = async {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
            Answer::read(BufReader::new(stream)).await
        };
        in_time(answer).await.expect("no answer")
    }

    pub(crate) async fn post(&self, body: &str) -> Answer {
        self.send("POST", &full(body)).await
    }

    pub(crate) async fn get(&self) -> Answer {
        self.send("GET", "").await
    }

    /// Posts a message and returns status and body.
    pub(crate) async fn say(&self, body: &str) -> (u16, String) {
        let answer = self.post(body).await;
        (answer.status, answer.text().await)
    }

    /// Completes the handshake; the client it returns has a session.
    pub(crate) async fn hello(&self, version: &str) -> Self {
        self.hello_with(version, "{}").await
    }

    pub(crate) async fn hello_with(&self, version: &str, capabilities: &str) -> Self {
        let answer = self.post(&initialize(version, capabilities)).await;
        assert_eq!(answer.status, 200);
        let session = answer.headers["mcp-session-id"].clone();
        let text = answer.text().await;
        assert!(text.contains(&format!("\"protocolVersion\":\"{version}\"")), "{text}");
        let mut host = self.with("mcp-session-id", &session);
        if version >= "2025-06-18" {
            host = host.with("mcp-protocol-version", version);
        }
        assert_eq!(host.say(r#"{"method":"notifications/initialized"}"#).await, (202, String::new()));
        host
    }
}

impl Answer {
    async fn read(mut stream: BufReader<TcpStream>) -> Self {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {line:?}")).parse().unwrap();
        let mut headers = HashMap::new();
        loop {
            line.clear();
            stream.read_line(&mut line).await.unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        Self { status, headers, stream, left: Vec::new() }
    }

    pub(crate) fn kind(&self) -> &str {
        self.headers.get("content-type").map_or("", String::as_str)
    }

    /// The whole body.
    pub(crate) async fn text(mut self) -> String {
        let body = async {
            let mut body = Vec::new();
            if let Some(length) = self.headers.get("content-length") {
                body.resize(length.parse().unwrap(), 0);
                self.stream.read_exact(&mut body).await.unwrap();
            } else {
                while let Some(chunk) = self.chunk().await {
                    body.extend(chunk);
                }
            }
            body
        };
        String::from_utf8(in_time(body).await.expect("no body")).unwrap()
    }

    async fn chunk(&mut self) -> Option<Vec<u8>> {
        if let Some(length) = self.headers.get("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            self.headers.insert("content-length".to_owned(), "0".to_owned());
            self.stream.read_exact(&mut body).await.ok()?;
            return (!body.is_empty()).then_some(body);
        }
        let mut line = String::new();
        self.stream.read_line(&mut line).await.ok()?;
        let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).await.ok()?;
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// The next event; `None` at the end of the stream. Comments are skipped.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        // Comments that keep the stream alive do not keep a test alive.
        in_time(self.next_event()).await.expect("the stream is silent")
    }

    async fn next_event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.left.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.left.drain(..end + 2).collect();
                if let Some(event) = Event::parse(&String::from_utf8(block).unwrap()) {
                    return Some(event);
                }
                continue;
            }
            let chunk = self.chunk().await?;
            self.left.extend(chunk);
        }
    }

    /// The next chunk as it is.
    pub(crate) async fn raw(&mut self) -> Option<String> {
        let chunk = in_time(self.chunk()).await.expect("the stream is silent")?;
        Some(String::from_utf8(chunk).unwrap())
    }

    /// All events until the end.
    pub(crate) async fn events(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }
}

impl Event {
    pub(crate) fn parse(block: &str) -> Option<Self> {
        let mut event = Self::default();
        let mut is_event = false;
        for line in block.lines().filter(|line| !line.is_empty() && !line.starts_with(':')) {
            is_event = true;
            let (field, value) = line.split_once(": ").unwrap();
            match field {
                "id" => event.id = Some(value.to_owned()),
                "retry" => event.retry = Some(value.to_owned()),
                "event" => event.name = Some(value.to_owned()),
                "data" => event.data.push_str(value),
                other => panic!("unknown field {other}"),
            }
        }
        is_event.then_some(event)
    }
}

/// Adds the version to a message without one.
pub(crate) fn full(text: &str) -> String {
    if text.starts_with(r#"{"id""#) || text.starts_with(r#"{"method""#) {
        text.replacen('{', r#"{"jsonrpc":"2.0","#, 1)
    } else {
        text.to_owned()
    }
}

pub(crate) fn initialize(version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"id":"hello","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"host","version":"1"}}}}}}"#
    )
}

/// A call of a tool.
pub(crate) fn call(id: u64, tool: &str) -> String {
    format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
}

/// A call of a tool that wants progress.
pub(crate) fn call_with_progress(id: u64, tool: &str) -> String {
    format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"progressToken":"t{id}"}}}}}}"#)
}

/// The answer of a tool.
pub(crate) fn done(id: u64, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

//! Calls over HTTP, one connection and one at a time.

use std::net::SocketAddr;

use bytes::BytesMut;
use protomcp_http::{Config, Listener, StreamableHttp};
use protomcp_layers::on_one_thread;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::echo::{CALL, INITIALIZE, INITIALIZED, server};

/// The members that each request without a session has.
const STATELESS_META: &str = concat!(
    r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

pub(crate) fn call_in_session(count: u32) {
    on_one_thread(async move {
        let mut client = Client::connect().await;
        let head = client.post("", INITIALIZE).await;
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = session.expect("a session has an id");
        let fields = format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-06-18\r\n");
        client.post(&fields, INITIALIZED).await;
        let request = client.request(&fields, &format!("{CALL}}}}}"));
        client.repeat(&request, count).await;
    });
}

pub(crate) fn call_stateless(count: u32) {
    on_one_thread(async move {
        let mut client = Client::connect().await;
        let fields = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n";
        let request = client.request(fields, &format!("{CALL}{STATELESS_META}}}}}"));
        client.repeat(&request, count).await;
    });
}

struct Client {
    stream: TcpStream,
    address: SocketAddr,
    buffer: BytesMut,
}

impl Client {
    /// Starts a server and connects to it.
    async fn connect() -> Self {
        let listener = Listener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let service = StreamableHttp::new(server(), Config::default());
        tokio::spawn(async move { protomcp_http::serve(listener, service).await });
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("an option of every TCP socket");
        Self { stream, address, buffer: BytesMut::with_capacity(8 << 10) }
    }

    fn request(&self, fields: &str, body: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost:{}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n{fields}\r\n{body}",
            self.address.port(),
            body.len()
        )
    }

    /// Posts a message; returns the head of the response.
    async fn post(&mut self, fields: &str, body: &str) -> String {
        let request = self.request(fields, body);
        self.stream.write_all(request.as_bytes()).await.expect("the server reads");
        self.buffer.clear();
        let end = loop {
            self.read().await;
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().expect("a length is a number"));
        while self.buffer.len() < end + 4 + length {
            self.read().await;
        }
        head
    }

    /// Sends a request again and again. Each response has the size of the first, so nothing is parsed.
    async fn repeat(&mut self, request: &str, count: u32) {
        let mut size = 0;
        for _ in 0..count {
            self.stream.write_all(request.as_bytes()).await.expect("the server reads");
            self.buffer.clear();
            while self.buffer.is_empty() || self.buffer.len() < size {
                self.read().await;
            }
            assert!(self.buffer.starts_with(b"HTTP/1.1 200"), "refused: {:?}", self.buffer);
            size = self.buffer.len();
        }
    }

    async fn read(&mut self) {
        let count = self.stream.read_buf(&mut self.buffer).await.expect("the server answers");
        assert!(count > 0, "the server ended");
    }
}

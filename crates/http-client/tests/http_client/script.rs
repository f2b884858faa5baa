//! A server that does as it is told: each request gets the bytes that the test has made for it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_testing::in_time;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
    /// The number of requests before.
    pub(crate) index: usize,
}

/// A part of a response.
#[derive(Clone)]
pub(crate) enum Part {
    /// Bytes.
    Text(String),
    /// These bytes without end, with this pause between them.
    Endless(String, Duration),
    /// Waits for the test.
    Wait(Arc<Notify>),
    /// Waits until the client has closed the connection.
    UntilClosed,
    /// Closes the connection.
    Close,
}

impl Request {
    /// The id of its message.
    pub(crate) fn id(&self) -> i64 {
        self.body.split("\"id\":").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
    }
}

type Reply = dyn Fn(&Request) -> Vec<Part> + Send + Sync;

pub(crate) struct Script {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Log>>,
    changed: Arc<Notify>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Log {
    requests: Vec<Request>,
    connections: usize,
    /// Connections that the client has closed while they were waiting for that.
    closed: usize,
    /// Endless parts that were written.
    endless: usize,
}

/// A response with this head and body.
pub(crate) fn response(status: u16, fields: &str, body: &str) -> Vec<Part> {
    let text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{fields}\r\n{body}", body.len());
    vec![Part::Text(text)]
}

pub(crate) fn json(body: &str) -> Vec<Part> {
    response(200, "content-type: application/json\r\n", body)
}

/// The result of a request.
pub(crate) fn result(id: i64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The head of a stream of events, which ends with the connection.
pub(crate) fn stream() -> Part {
    Part::Text("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned())
}

pub(crate) fn event(id: &str, data: &str) -> Part {
    Part::Text(format!("id: {id}\ndata: {data}\n\n"))
}

pub(crate) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

/// The answer to a handshake, with a session.
pub(crate) fn welcome(version: &str) -> Vec<Part> {
    welcome_to(0, version)
}

fn welcome_to(id: i64, version: &str) -> Vec<Part> {
    let server = r#"{"name":"script","version":"1"}"#;
    let result = format!(r#"{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{server}}}"#);
    let result = self::result(id, &result);
    response(200, "content-type: application/json\r\nmcp-session-id: s1\r\n", &result)
}

/// The replies of a server with a session; the others come from `reply`.
pub(crate) fn in_session(
    reply: impl Fn(&Request) -> Vec<Part> + Send + Sync + 'static,
) -> impl Fn(&Request) -> Vec<Part> {
    move |request| match request.method.as_str() {
        "POST" if request.body.contains(r#""initialize""#) => welcome_to(request.id(), "2025-11-25"),
        "POST" if request.body.contains("notifications/initialized") => response(202, "", ""),
        "GET" if !request.headers.contains_key("last-event-id") => response(405, "", ""),
        _ => reply(request),
    }
}

impl Script {
    pub(crate) async fn new(reply: impl Fn(&Request) -> Vec<Part> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (log, changed): (Arc<Mutex<Log>>, Arc<Notify>) = Default::default();
        let reply: Arc<Reply> = Arc::new(reply);
        let (logging, notifying) = (Arc::clone(&log), Arc::clone(&changed));
        let serving = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                logging.lock().unwrap().connections += 1;
                connections.spawn(serve(stream, Arc::clone(&reply), Arc::clone(&logging), Arc::clone(&notifying)));
            }
        });
        Self { address, log, changed, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.log.lock().unwrap().requests.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.log.lock().unwrap().connections
    }

    /// Waits until the client has taken some endless parts, and takes no more.
    pub(crate) async fn is_held_up(&self) {
        let written = || self.log.lock().unwrap().endless;
        let (mut before, mut still) = (0, 0);
        for _ in 0..2400 {
            // On another thread, because the clock may stand still.
            tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(50))).await.unwrap();
            let now = written();
            still = if now > 0 && now == before { still + 1 } else { 0 };
            before = now;
            if still == 5 {
                return;
            }
        }
        panic!("the client has taken {before} parts, and goes on");
    }

    /// Waits until this many requests have come.
    pub(crate) async fn seen(&self, count: usize) -> Vec<Request> {
        self.until(|log| log.requests.len() >= count).await;
        self.requests()
    }

    /// Waits until the client has closed this many connections.
    pub(crate) async fn closed(&self, count: usize) {
        self.until(|log| log.closed >= count).await;
    }

    async fn until(&self, done: impl Fn(&Log) -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if done(&self.log.lock().unwrap()) {
                    return;
                }
                changed.await;
            }
        };
        in_time(waiting).await.expect("the client does not do it");
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(stream: TcpStream, reply: Arc<Reply>, log: Arc<Mutex<Log>>, changed: Arc<Notify>) {
    let mut stream = BufReader::new(stream);
    while let Some(mut request) = read(&mut stream).await {
        {
            let mut log = log.lock().unwrap();
            request.index = log.requests.len();
            log.requests.push(request.clone());
        }
        changed.notify_waiters();
        for part in reply(&request) {
            let is_open = match part {
                Part::Text(text) => stream.write_all(text.as_bytes()).await.is_ok(),
                Part::Endless(text, pause) => {
                    while stream.write_all(text.as_bytes()).await.is_ok() {
                        log.lock().unwrap().endless += 1;
                        // The shortest sleep is a millisecond, which does not pass while a clock stands still.
                        if pause.is_zero() { tokio::task::yield_now().await } else { tokio::time::sleep(pause).await }
                    }
                    false
                }
                Part::Wait(go) => {
                    go.notified().await;
                    true
                }
                Part::UntilClosed => {
                    let _ = stream.read(&mut [0; 1]).await;
                    false
                }
                Part::Close => return,
            };
            if !is_open {
                log.lock().unwrap().closed += 1;
                return changed.notify_waiters();
            }
        }
        if stream.get_ref().local_addr().is_err() {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|length| *length > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let field = headers.entry(name.to_ascii_lowercase());
        // RFC 9110, section 5.3: fields of one name are one list.
        field
            .and_modify(|known: &mut String| *known += &format!(", {}", value.trim()))
            .or_insert(value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { method, path, headers, body: String::from_utf8(body).unwrap(), index: 0 })
}

/// A server that forwards to another one, and refuses POSTs to `/sse` without a query.
pub(crate) async fn forwarding(target: &str) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let target = target.to_owned();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let target = target.clone();
            tokio::spawn(async move {
                let mut start = [0; 10];
                client.peek(&mut start).await.unwrap();
                if start == *b"POST /sse " {
                    let _ = client.write_all(b"HTTP/1.1 405 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
                    return;
                }
                let mut server = TcpStream::connect(target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
}

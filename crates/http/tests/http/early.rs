//! Responses that come before the body of their request.

use std::io;
use std::time::Duration;

use protomcp_http::{ListenerConfig, Routes};
use protomcp_testing::in_time;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::sleep;

use super::handler::Stage;
use super::oauth;

/// The body of each request.
const BODY: &str = "{\"jsonrpc\":\"2.0\"}";

/// The status of a response, and true if it announces the end of the connection.
async fn response(reader: &mut BufReader<OwnedReadHalf>) -> io::Result<(u16, bool)> {
    let (mut status, mut closes, mut length) = (None, false, 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        match line.split_once(": ") {
            _ if status.is_none() => status = line.split(' ').nth(1).and_then(|code| code.parse().ok()),
            Some(("connection", value)) => closes = value == "close",
            Some(("content-length", value)) => length = value.parse().unwrap(),
            None if line.is_empty() => break,
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).await?;
    Ok((status.expect("a status"), closes))
}

/// Sends a head, and the body a moment later. The response to it, and to the next request if the first one does not
/// announce the end of the connection.
async fn ask_twice(stage: &Stage, head: &str) -> io::Result<(u16, Option<u16>)> {
    let (reader, mut writer) = TcpStream::connect(stage.host.address).await?.into_split();
    let mut reader = BufReader::new(reader);
    let sending = async {
        writer.write_all(head.as_bytes()).await?;
        sleep(Duration::from_millis(50)).await;
        // A connection whose end was announced may have ended.
        drop(writer.write_all(BODY.as_bytes()).await);
        Ok::<_, io::Error>(())
    };
    let ((), (status, closes)) = tokio::try_join!(sending, response(&mut reader))?;
    if closes {
        return Ok((status, None));
    }
    let next = async {
        writer.write_all(b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
        response(&mut reader).await
    };
    let (next, _) = next.await.expect("the next request is lost on a connection that seemed to stay open");
    Ok((status, Some(next)))
}

#[tokio::test]
async fn a_connection_that_does_not_say_close_stays_open() {
    let routes = |service, readiness| Routes::new(service).with_health(readiness);
    let stage = Stage::with_routes(oauth::config(), ListenerConfig::default(), routes).await;
    let fields = "accept: */*\r\ncontent-type: application/json\r\n";
    let length = format!("content-length: {}\r\n", BODY.len());
    for (start, host, status) in [
        ("POST /mcp", "localhost", 401),
        ("POST /mcp", "evil.example.com", 403),
        ("PUT /mcp", "localhost", 405),
        ("GET /mcp", "localhost", 401),
        ("POST /nowhere", "localhost", 404),
        ("POST /healthz", "localhost", 200),
    ] {
        let head = format!("{start} HTTP/1.1\r\nhost: {host}\r\n{fields}{length}\r\n");
        // On a very slow machine the server may have given up, and the response is lost with the late body.
        let asking = async {
            loop {
                if let Ok(answers) = ask_twice(&stage, &head).await {
                    return answers;
                }
            }
        };
        let (first, next) = in_time(asking).await.expect("no response");
        assert_eq!(first, status, "{start} of {host}");
        assert!(next.is_none_or(|next| next == 404), "{start} of {host}: {next:?}");
    }
}

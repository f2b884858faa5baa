//! Receives the redirect of a browser on this machine (RFC 8252, section 7.3).

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::form::{MAX_QUERY, decode_pairs};

/// The path of the redirect URI.
const PATH: &str = "/callback";

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = MAX_QUERY + 16 * 1024;

/// The time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The most connections at a time: browsers open some ahead of need.
const MAX_CONNECTIONS: usize = 16;

/// Listens on 127.0.0.1 for one redirect, and shows a page that says to return to the program. Requests without the right
/// `state`, by other programs or web pages, change nothing.
#[derive(Debug)]
pub struct RedirectListener {
    listener: TcpListener,
    port: u16,
    redirect_uri: String,
}

impl RedirectListener {
    /// Listens on this port of 127.0.0.1, or on any free one if it is 0.
    ///
    /// # Errors
    /// If the port is in use.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port, redirect_uri: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URI to register and to send to the authorization server.
    #[must_use]
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits for the redirect with this state, and returns its query. Needs a time limit.
    ///
    /// # Errors
    /// If the socket fails.
    pub async fn receive(self, state: &str) -> io::Result<String> {
        let state: Arc<str> = state.into();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted?;
                    let state = Arc::clone(&state);
                    connections.spawn(async move {
                        timeout(REQUEST_TIMEOUT, answer(stream, &state)).await.ok()?.ok()?
                    });
                }
                Some(query) = connections.join_next() => {
                    if let Ok(Some(query)) = query {
                        return Ok(query);
                    }
                }
            }
        }
    }
}

/// Answers one request. Returns its query if it is the redirect.
async fn answer(mut stream: TcpStream, state: &str) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD || stream.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let query = query(&head).filter(|query| is_redirect(query, state)).map(str::to_owned);
    let (status, text) = match &query {
        Some(query) if query.split('&').any(|pair| pair.starts_with("error=")) => {
            ("200 OK", "Access was not granted. You can close this page and return to the program.")
        }
        Some(_) => ("200 OK", "You are signed in. You can close this page and return to the program."),
        None => ("404 Not Found", "This is not the page of a sign-in that is under way."),
    };
    stream.write_all(page(status, text).as_bytes()).await?;
    stream.shutdown().await?;
    Ok(query)
}

/// The query of a GET of the redirect URI.
fn query(head: &[u8]) -> Option<&str> {
    let end = head.iter().position(|byte| *byte == b'\r')?;
    let line = std::str::from_utf8(&head[..end]).ok()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    target.strip_prefix(PATH)?.strip_prefix('?')
}

fn is_redirect(query: &str, state: &str) -> bool {
    decode_pairs(query).is_some_and(|pairs| pairs.iter().any(|(name, value)| name == "state" && value == state))
}

/// A page without anything that the request has brought.
fn page(status: &str, text: &str) -> String {
    let body = format!("<!doctype html><meta charset=utf-8><title>Sign-in</title><p>{text}\n");
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: \
         no-store\r\nreferrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'\r\nconnection: \
         close\r\n\r\n{body}",
        body.len()
    )
}

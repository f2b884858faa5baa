//! Receives the redirect of a browser on this machine (RFC 8252, section 7.3).

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::form::{MAX_QUERY, decode_pairs};

/// The path of the redirect URI.
const PATH: &str = "/callback";

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = MAX_QUERY + 16 * 1024;

/// The time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for a page, which fits into the buffers of the system.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// The time after a failure to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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
    pub async fn receive(self, state: &str) -> String {
        let state: Arc<str> = state.into();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    // A connection that was broken off, or too many open files: the next one may succeed.
                    let Ok((stream, _)) = accepted else {
                        sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    let state = Arc::clone(&state);
                    connections.spawn(async move { answer(stream, &state).await });
                }
                Some(query) = connections.join_next() => {
                    if let Ok(Some(query)) = query {
                        return query;
                    }
                }
            }
        }
    }
}

/// Answers one request. Returns its query if it is the redirect, also if the page cannot be sent.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: &str) -> Option<String> {
    let head = timeout(REQUEST_TIMEOUT, head(&mut stream)).await.ok()??;
    let query = query(&head).filter(|query| is_redirect(query, state)).map(str::to_owned);
    // The code has still to be exchanged, so no page says that the sign-in has succeeded.
    let (status, text) = match &query {
        Some(query) if query.split('&').any(|pair| pair.starts_with("error=")) => {
            ("200 OK", "Access was not granted. You can close this page and return to the program.")
        }
        Some(_) => ("200 OK", "You can close this page and return to the program, which completes the sign-in."),
        None => ("404 Not Found", "This is not the page of a sign-in that is under way."),
    };
    let page = page(status, text);
    let shown = timeout(PAGE_TIMEOUT, async {
        stream.write_all(page.as_bytes()).await?;
        stream.shutdown().await
    });
    if !matches!(shown.await, Ok(Ok(()))) {
        tracing::debug!("the page for the user was not sent");
    }
    query
}

/// The head of a request, and the beginning of its body; none if it is too long or incomplete.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    const END: &[u8] = b"\r\n\r\n";
    let mut head = Vec::new();
    loop {
        let known = head.len();
        if known > MAX_HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
        // The end may have begun in the piece before.
        let start = known.saturating_sub(END.len() - 1);
        if head[start..].windows(END.len()).any(|end| end == END) {
            return Some(head);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_redirect_counts_without_its_page() {
        let (mut browser, stream) = tokio::io::duplex(1024);
        browser.write_all(b"GET /callback?code=c&state=s HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        drop(browser);
        assert_eq!(answer(stream, "s").await.as_deref(), Some("code=c&state=s"));
    }

    #[tokio::test]
    async fn a_head_ends_between_two_pieces() {
        for length in 1..8 {
            let (mut browser, stream) = tokio::io::duplex(length);
            let sending = tokio::spawn(async move {
                browser.write_all(b"GET /callback?state=s HTTP/1.1\r\n\r\n").await.unwrap();
                let mut page = String::new();
                browser.read_to_string(&mut page).await.unwrap();
                page
            });
            assert_eq!(answer(stream, "s").await.as_deref(), Some("state=s"));
            let page = sending.await.unwrap();
            assert!(page.contains("return to the program") && !page.contains("signed in"), "{page}");
        }
        let long = vec![b'x'; MAX_HEAD + 1];
        assert_eq!(answer(tokio::io::join(long.as_slice(), tokio::io::sink()), "s").await, None);
    }
}

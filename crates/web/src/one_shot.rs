//! Single requests.

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::chain::chain;
use crate::connector::Connector;

/// The longest head of a response, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// Sends requests, each over its own connection and without following redirects. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct OneShot {
    client: Client<Connector, Full<Bytes>>,
    connector: Connector,
}

/// The reason for which a request has no response. The server is named by the caller: its text goes in front of this one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no connection, or the certificate names another server.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke, or the response is not HTTP.
    #[error("does not answer properly: {0}")]
    Broken(String),
    /// The response did not arrive in time.
    #[error("does not answer within {0:?}")]
    TimedOut(Duration),
}

impl OneShot {
    /// Sends requests over connections of this connector.
    #[must_use]
    pub fn new(connector: Connector) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .http1_max_buf_size(MAX_HEAD)
            .http2_max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
            .build(connector.clone());
        Self { client, connector }
    }

    /// Sends a request to the server of its absolute URI, and returns the response of any status within `timeout`. Its body ends
    /// after `limit` bytes; if it is longer, it has one byte more. A head of more than 64 KiB is an error.
    ///
    /// # Errors
    /// If there is no response in time.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time enabled.
    pub async fn send(
        &self,
        request: Request<Bytes>,
        timeout: Duration,
        limit: usize,
    ) -> Result<Response<Bytes>, SendError> {
        tokio::time::timeout(timeout, self.exchange(request, limit)).await.unwrap_or(Err(SendError::TimedOut(timeout)))
    }

    async fn exchange(&self, mut request: Request<Bytes>, limit: usize) -> Result<Response<Bytes>, SendError> {
        let proxy = self.connector.proxy_authorization(request.uri());
        request.headers_mut().extend(proxy.map(|value| (PROXY_AUTHORIZATION, value)));
        let response = self.client.request(request.map(Full::new)).await;
        let (head, body) = response
            .map_err(|error| {
                // The error of the pool itself says no more than the variant.
                let why = error.source().map_or_else(|| error.to_string(), chain);
                if error.is_connect() { SendError::Unreachable(why) } else { SendError::Broken(why) }
            })?
            .into_parts();
        let body = beginning(body, limit).await.map_err(|error| SendError::Broken(chain(&error)))?;
        Ok(Response::from_parts(head, body.into()))
    }
}

/// At most `limit` bytes of a body, and one more if it is longer.
async fn beginning<B: Body<Data = Bytes>>(body: B, limit: usize) -> Result<Vec<u8>, B::Error> {
    let (mut body, mut read) = (pin!(body), Vec::new());
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(mut data) = frame?.into_data() else { continue };
        let rest = limit.saturating_add(1) - read.len();
        read.extend_from_slice(&data.copy_to_bytes(data.remaining().min(rest)));
        if read.len() > limit {
            break;
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::proxies::Proxies;

    const SECOND: Duration = Duration::from_secs(1);

    /// The outcome of a request to a server that sends this to each connection, and then waits; at most 4 bytes of the body.
    async fn answered(response: &'static str) -> Result<(u16, Bytes), String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 1024];
            let _read = stream.read(&mut request).await.unwrap();
            stream.write_all(response.as_bytes()).await.unwrap();
            // Until the client is gone.
            let _ended = stream.read(&mut request).await;
        });
        let client = OneShot::new(Connector::new(Arc::new(Proxies::off()), 60 * SECOND));
        let request = Request::get(uri).body(Bytes::new()).unwrap();
        let outcome = client.send(request, 60 * SECOND, 4).await;
        server.abort();
        outcome.map(|response| (response.status().as_u16(), response.into_body())).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_body_ends_behind_the_limit() {
        let all = answered("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd").await;
        assert_eq!(all, Ok((200, Bytes::from_static(b"abcd"))));
        let more = answered("HTTP/1.1 404 Not Found\r\ncontent-length: 1000000\r\n\r\nabcdefgh").await;
        assert_eq!(more, Ok((404, Bytes::from_static(b"abcde"))));
        let redirected = answered("HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(redirected, Ok((302, Bytes::new())));
    }

    #[tokio::test]
    async fn the_reasons_for_no_response_are_told_apart() {
        let broken = answered("SSH-2.0-nothing\r\n\r\n").await.unwrap_err();
        assert!(broken.starts_with("does not answer properly: "), "{broken}");
        let client = OneShot::new(Connector::new(Arc::new(Proxies::off()), 60 * SECOND));
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", silent.local_addr().unwrap());
        let request = || Request::get(&uri).body(Bytes::new()).unwrap();
        let late = client.send(request(), Duration::from_millis(1), 4).await.unwrap_err().to_string();
        assert_eq!(late, "does not answer within 1ms");
        drop(silent);
        let unreachable = client.send(request(), 60 * SECOND, 4).await.unwrap_err().to_string();
        assert!(unreachable.starts_with("cannot be reached: "), "{unreachable}");
    }
}

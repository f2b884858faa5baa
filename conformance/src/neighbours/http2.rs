//! A connection over HTTP/2, with as many concurrent requests as the server allows.

use std::io;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::neighbours::user::User;

/// One connection. Cloning is cheap, and clones share it.
#[derive(Debug, Clone)]
pub struct Http2 {
    user: User,
    sender: SendRequest<String>,
}

impl Http2 {
    /// Connects.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn open(user: &User) -> io::Result<Self> {
        let stream = user.socket().await?;
        let (sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self { user: user.clone(), sender })
    }

    /// Sends a request as soon as the server accepts one more, and waits for the head of its response.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> hyper::Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://localhost:{}{target}", self.user.port))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(token) = &self.user.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.sender.ready().await?;
        self.sender.send_request(request.body(body).expect("the headers are good")).await
    }
}

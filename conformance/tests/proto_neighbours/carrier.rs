//! The ways to carry frames of proto-mcp over a network, as a user takes them.

use std::io;
use std::pin::Pin;
use std::time::{Duration, Instant};

use axum::body::Body;
use futures_util::stream;
use http::Request;
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use protomcp_bufmcp::{BinaryClient, BinaryClientConfig, Connect};
use protomcp_conformance::neighbours::User;
use protomcp_conformance::tier;
use protomcp_grpc::GrpcServer;
use protomcp_websocket::WebSocketServer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex, split};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

/// A way to carry frames of proto-mcp over a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Frames over TCP.
    Tcp,
    /// Each frame is a message of WebSocket, which begins as soon as the length of the frame is known.
    WebSocket,
    /// Each frame is a call of gRPC, once it is complete; see [`Door::raw_stream`].
    Grpc,
}

pub(crate) type Reader = Pin<Box<dyn AsyncRead + Send>>;
pub(crate) type Writer = Pin<Box<dyn AsyncWrite + Send>>;

impl Carrier {
    pub(crate) const ALL: [Self; 3] = [Self::Tcp, Self::WebSocket, Self::Grpc];

    /// The value of `--transport`.
    pub(crate) fn transport(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::WebSocket => "ws",
            Self::Grpc => "grpc",
        }
    }

    /// The text of the log when the server listens, before the port.
    pub(crate) fn listening(self) -> &'static str {
        match self {
            Self::Tcp => "listening on proto://",
            Self::WebSocket => "listening on ws://",
            Self::Grpc => "listening on grpc://",
        }
    }
}

/// The sockets of a user.
struct Sockets {
    user: User,
    are_narrow: bool,
}

impl Connect for Sockets {
    type Reader = OwnedReadHalf;
    type Writer = OwnedWriteHalf;

    async fn connect(&self) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
        let socket = if self.are_narrow { self.user.narrow_socket().await? } else { self.user.socket().await? };
        Ok(socket.into_split())
    }
}

/// The way of a user to the server.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) carrier: Carrier,
    pub(crate) user: User,
    /// The rounds of alice.
    pub(crate) rounds: watch::Receiver<usize>,
}

impl Door {
    /// A stream of frames.
    pub(crate) async fn stream(&self) -> io::Result<(Reader, Writer)> {
        self.over(false).await
    }

    /// A stream whose bytes leave as they are written: the client of gRPC waits for whole frames.
    pub(crate) async fn raw_stream(&self) -> io::Result<(Reader, Writer)> {
        if self.carrier == Carrier::Grpc { self.body_of_call().await } else { self.stream().await }
    }

    /// The body of a call of gRPC. Behind its first byte, which says that it is not compressed, a frame is a message.
    async fn body_of_call(&self) -> io::Result<(Reader, Writer)> {
        let socket = TokioIo::new(self.user.socket().await?);
        let (mut sender, connection) = handshake(TokioExecutor::new(), socket).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        let (near, far) = duplex(PIECE);
        let pieces = stream::unfold(far, |mut far| async move {
            let mut piece = vec![0; PIECE];
            let length = far.read(&mut piece).await.ok().filter(|length| *length > 0)?;
            piece.truncate(length);
            Some((io::Result::Ok(piece), far))
        });
        let request = Request::post(format!("http://localhost:{}/buf.mcp.v1.MCPService/CallTool", self.user.port))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Body::from_stream(pieces))
            .map_err(io::Error::other)?;
        // A call that is answered before its end is over, and so is the stream.
        tokio::spawn(async move { sender.send_request(request).await.map(drop) });
        let (reader, mut writer) = split(near);
        writer.write_all(&[0]).await?;
        Ok((Box::pin(reader), Box::pin(writer)))
    }

    /// A stream that the server soon has to wait for, when it is not read.
    pub(crate) async fn narrow_stream(&self) -> io::Result<(Reader, Writer)> {
        self.over(true).await
    }

    async fn over(&self, are_narrow: bool) -> io::Result<(Reader, Writer)> {
        let (sockets, port) = (Sockets { user: self.user.clone(), are_narrow }, self.user.port);
        match self.carrier {
            Carrier::Tcp => open(&sockets).await,
            Carrier::WebSocket => {
                let url = format!("ws://localhost:{port}/mcp");
                open(&WebSocketServer::new(sockets, &url).map_err(io::Error::other)?).await
            }
            Carrier::Grpc => {
                let url = format!("grpc://localhost:{port}");
                open(&GrpcServer::new(sockets, &url).map_err(io::Error::other)?).await
            }
        }
    }

    /// A conversation.
    pub(crate) async fn client(&self) -> Result<BinaryClient, String> {
        let (reader, writer) = self.stream().await.map_err(|error| error.to_string())?;
        let config = BinaryClientConfig::new("neighbour", "1");
        BinaryClient::connect(reader, writer, config).await.map_err(|reason| reason.to_string())
    }

    /// The rest of an attack from now on.
    pub(crate) fn hold(&self) -> Hold {
        let until = *self.rounds.borrow() + ROUNDS;
        Hold { rounds: self.rounds.clone(), until, start: Instant::now() }
    }
}

async fn open(server: &impl Connect) -> io::Result<(Reader, Writer)> {
    let (reader, writer) = server.connect().await?;
    Ok((Box::pin(reader), Box::pin(writer)))
}

/// An attack goes on for some time, and until alice has been served during it or is not served: so a slow machine makes
/// the attack longer, and a server that lets her wait for its end never sees it.
pub(crate) struct Hold {
    rounds: watch::Receiver<usize>,
    until: usize,
    start: Instant,
}

impl Hold {
    /// True while the attack should go on.
    pub(crate) fn goes_on(&self) -> bool {
        // Her end of the channel is gone when she has stopped.
        let is_waited_for = *self.rounds.borrow() < self.until && self.rounds.has_changed().is_ok();
        is_waited_for || self.start.elapsed() < time()
    }

    /// Waits until the attack should end.
    pub(crate) async fn over(mut self) {
        let until = self.until;
        drop(self.rounds.wait_for(|rounds| *rounds >= until).await);
        tokio::time::sleep(time().saturating_sub(self.start.elapsed())).await;
    }
}

/// The least time of an attack.
fn time() -> Duration {
    tier(Duration::from_secs(1), Duration::from_secs(20))
}

/// The bytes that a call takes in one piece.
const PIECE: usize = 64 << 10;

/// The rounds of alice during an attack.
const ROUNDS: usize = 8;

//! The users that send requests: their addresses and tokens.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;

use crate::neighbours::connection::Connection;

/// A user of a server on this machine.
#[derive(Debug, Clone)]
pub struct User {
    /// The port of the server.
    pub port: u16,
    /// The source address of its connections.
    pub address: IpAddr,
    /// The token that its requests carry.
    pub token: Option<String>,
    /// Tokens for clients that are opened later, one for each while the supply lasts.
    pub fresh: Arc<Mutex<Vec<String>>>,
    /// The TLS configuration that verifies the server.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl User {
    /// A user with this last number in its address, which is a loopback address.
    pub fn new(port: u16, number: u8) -> Self {
        Self { port, address: Ipv4Addr::new(127, 0, 0, number).into(), token: None, fresh: Arc::default(), tls: None }
    }

    /// The same with a token.
    #[must_use]
    pub fn with_token(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }
    }

    /// The same with a fresh token, if one is left.
    #[must_use]
    pub fn refreshed(&self) -> Self {
        let fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Self { token: fresh.or_else(|| self.token.clone()), ..self.clone() }
    }

    /// Connects.
    ///
    /// # Errors
    /// If the connection is refused.
    pub async fn connect(&self) -> io::Result<Connection> {
        let stream = self.socket().await?;
        Ok(match &self.tls {
            Some(tls) => {
                let name = ServerName::try_from("localhost").expect("a name");
                Connection::over(TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?)
            }
            None => Connection::over(stream),
        })
    }

    /// Connects, and sends nothing.
    ///
    /// # Errors
    /// If the connection is refused.
    pub async fn socket(&self) -> io::Result<TcpStream> {
        self.socket_with(|_| Ok(())).await
    }

    /// Connects with a receive buffer so small that the server soon has to wait for the reader.
    ///
    /// # Errors
    /// If the connection is refused.
    pub async fn narrow_socket(&self) -> io::Result<TcpStream> {
        self.socket_with(|socket| socket.set_recv_buffer_size(4096)).await
    }

    async fn socket_with(&self, set: impl FnOnce(&TcpSocket) -> io::Result<()>) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        set(&socket)?;
        socket.bind(SocketAddr::new(self.address, 0))?;
        let stream = socket.connect(SocketAddr::from(([127, 0, 0, 1], self.port))).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// The first message of a TLS handshake.
    ///
    /// # Panics
    /// If the server does not speak HTTPS.
    pub fn client_hello(&self) -> Vec<u8> {
        let tls = Arc::clone(self.tls.as_ref().expect("a server with a certificate"));
        let name = ServerName::try_from("localhost").expect("a name");
        let mut connection = ClientConnection::new(tls, name).expect("a handshake can begin");
        let mut hello = Vec::new();
        connection.write_tls(&mut hello).expect("a vector grows");
        hello
    }

    /// A request whose body the caller may omit or truncate.
    pub fn request(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
        let mut text = self.head(method, target, headers, body.len());
        text.push_str(body);
        text.into_bytes()
    }

    /// The head of a request that announces a body of this size.
    pub fn head(&self, method: &str, target: &str, headers: &[(&str, &str)], size: usize) -> String {
        let mut text = format!(
            "{method} {target} HTTP/1.1\r\nhost: localhost:{}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {size}\r\n",
            self.port
        );
        let own = self.token.as_ref().map(|token| ("authorization", format!("Bearer {token}")));
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text + "\r\n"
    }
}

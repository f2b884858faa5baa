//! Opens the listening sockets. This happens before anything else starts, so that an error needs no cleanup.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};

use tokio::net::TcpListener;

use crate::args::http::in_url;
use crate::exit::Failure;

/// Listening sockets. All have the same port, unless they are inherited.
pub(super) struct Listeners {
    pub(super) sockets: Vec<TcpListener>,
    /// The address of the first one.
    pub(super) address: SocketAddr,
    /// A manager of services has opened them.
    is_inherited: bool,
}

impl Listeners {
    /// The name of the host in a URL: `host`, or the address of an inherited socket.
    pub(super) fn name(&self, host: &str) -> String {
        match (self.is_inherited, self.address) {
            (true, SocketAddr::V6(address)) => format!("[{}]", address.ip()),
            (true, SocketAddr::V4(address)) => address.ip().to_string(),
            (false, _) => in_url(host),
        }
    }
}

/// Serves sockets that a manager of services has opened, if `permit` accepts their addresses. `None`: there are none. Must be
/// called within a runtime.
pub(super) fn inherited(
    sockets: Vec<StdListener>,
    permit: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Option<Listeners>, Failure> {
    let listen = || {
        let addresses = sockets.iter().map(StdListener::local_addr).collect::<io::Result<Vec<_>>>()?;
        let sockets = sockets.into_iter().map(TcpListener::from_std).collect::<io::Result<Vec<_>>>()?;
        Ok((addresses, sockets))
    };
    let (addresses, sockets) =
        listen().map_err(|error: io::Error| Failure::failed(format!("cannot listen: {error}")))?;
    let Some(address) = addresses.first().copied() else { return Ok(None) };
    permit(&addresses)?;
    Ok(Some(Listeners { sockets, address, is_inherited: true }))
}

/// Listens on all addresses of a host's name if `permit` accepts them. `flag` is the flag of the port.
pub(super) async fn open(
    flag: &str,
    host: &str,
    mut port: u16,
    permit: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Listeners, Failure> {
    let found = tokio::net::lookup_host((host, port)).await;
    let addresses: Vec<_> =
        found.map_err(|error| Failure::usage(format!("no such host \"{host}\": {error}")))?.collect();
    permit(&addresses)?;
    let mut sockets: Vec<TcpListener> = Vec::new();
    let mut failure = None;
    for mut address in addresses {
        // All addresses have the same port, also when any will do.
        address.set_port(port);
        match TcpListener::bind(address).await {
            Ok(socket) => {
                port = socket.local_addr().map_or(port, |address| address.port());
                sockets.push(socket);
            }
            Err(error) => drop(failure.get_or_insert((address, error))),
        }
    }
    match (sockets.first().map(TcpListener::local_addr), failure) {
        // A name that has two addresses may have one that this machine does not.
        (Some(Ok(address)), None) => Ok(Listeners { sockets, address, is_inherited: false }),
        (Some(Ok(address)), Some((_, error))) if error.kind() != io::ErrorKind::AddrInUse => {
            Ok(Listeners { sockets, address, is_inherited: false })
        }
        (_, Some((address, error))) if error.kind() == io::ErrorKind::AddrInUse => Err(Failure::failed(format!(
            "cannot listen on {address}: {error}; name another port with {flag}, or 0 for any that is free"
        ))),
        (_, Some((address, error))) => Err(Failure::failed(format!("cannot listen on {address}: {error}"))),
        (Some(Err(error)), None) => Err(Failure::failed(format!("cannot listen: {error}"))),
        (None, None) => Err(Failure::usage(format!("no such host \"{host}\""))),
    }
}

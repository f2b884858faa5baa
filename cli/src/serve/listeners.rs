//! Opens the listening sockets. This happens before anything else starts, so that an error needs no cleanup.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::exit::Failure;
use crate::serve::service_manager;

/// Listening sockets, all with the same port.
pub(super) struct Listeners {
    pub(super) sockets: Vec<TcpListener>,
    pub(super) address: SocketAddr,
}

/// The sockets that a manager of services has opened for this process, if `permit` accepts their addresses, and otherwise the
/// ones of [`open`].
pub(super) async fn inherited_or_open(
    flag: &str,
    host: &str,
    port: u16,
    permit: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Listeners, Failure> {
    let sockets = service_manager::sockets()?;
    let found: Result<Vec<_>, _> = sockets.iter().map(TcpListener::local_addr).collect();
    let addresses = found.map_err(|error| Failure::failed(format!("cannot listen: {error}")))?;
    let Some(address) = addresses.first().copied() else { return open(flag, host, port, permit).await };
    permit(&addresses)?;
    Ok(Listeners { sockets, address })
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
        (Some(Ok(address)), None) => Ok(Listeners { sockets, address }),
        (Some(Ok(address)), Some((_, error))) if error.kind() != io::ErrorKind::AddrInUse => {
            Ok(Listeners { sockets, address })
        }
        (_, Some((address, error))) if error.kind() == io::ErrorKind::AddrInUse => Err(Failure::failed(format!(
            "cannot listen on {address}: {error}; name another port with {flag}, or 0 for any that is free"
        ))),
        (_, Some((address, error))) => Err(Failure::failed(format!("cannot listen on {address}: {error}"))),
        (Some(Err(error)), None) => Err(Failure::failed(format!("cannot listen: {error}"))),
        (None, None) => Err(Failure::usage(format!("no such host \"{host}\""))),
    }
}

//! systemd, or another manager of services that speaks its protocols: the sockets that it has opened for this process
//! (sd_listen_fds(3)), and the states of the service that it is told (sd_notify(3)).

use std::io;
use std::net::TcpListener as StdListener;

use listenfd::ListenFd;
use rustix::io::{FdFlags, fcntl_setfd};
use sd_notify::NotifyState;
use tokio::net::TcpListener;

use crate::exit::Failure;

/// The TCP sockets that were opened for this process, in the order of their unit. None without such a manager.
pub(super) fn sockets() -> Result<Vec<TcpListener>, Failure> {
    let mut opened = ListenFd::from_env();
    (0..opened.len()).map(|index| socket(&mut opened, index)).collect()
}

fn socket(opened: &mut ListenFd, index: usize) -> Result<TcpListener, Failure> {
    let missing = || io::Error::other("it is not open");
    let taken = opened.take_tcp_listener(index).and_then(|socket| prepared(socket.ok_or_else(missing)?));
    taken.map_err(|error| {
        Failure::failed(format!(
            "cannot use socket {index} of LISTEN_FDS: {error}; pmcp serves TCP sockets, such as ListenStream=8080"
        ))
    })
}

/// The socket for tokio. Tool processes do not inherit it.
fn prepared(socket: StdListener) -> io::Result<TcpListener> {
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}

/// Says that the service is ready, if a manager wants to know.
pub(super) fn ready() {
    tell(NotifyState::Ready);
}

/// Says that the service stops, if a manager wants to know.
pub(super) fn stopping() {
    tell(NotifyState::Stopping);
}

fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("the manager of this service is not told about its state: {error}");
    }
}

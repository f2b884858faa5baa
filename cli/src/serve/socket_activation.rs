//! The sockets that systemd, or another manager of services that speaks its protocol, has opened for this process
//! (sd_listen_fds(3)).

use std::env;
use std::io;
use std::net::TcpListener;
use std::process;

use listenfd::ListenFd;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::sockopt::socket_acceptconn;

use crate::exit::Failure;

/// The most sockets.
const MAX_SOCKETS: usize = 64;

/// The TCP sockets that were opened for this process, in the order of their unit. None without such a manager. Changes the
/// environment, so it must be called before there are threads.
pub(super) fn sockets() -> Result<Vec<TcpListener>, Failure> {
    let is_own = env::var("LISTEN_PID").is_ok_and(|pid| pid.parse() == Ok(process::id()));
    let Some(count) = env::var_os("LISTEN_FDS").filter(|_| is_own) else { return Ok(Vec::new()) };
    let count: Option<usize> = count.to_str().and_then(|count| count.parse().ok());
    if count.is_none_or(|count| count > MAX_SOCKETS) {
        return Err(Failure::failed(format!("LISTEN_FDS is not a number from 0 to {MAX_SOCKETS}")));
    }
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

/// The socket for the runtime. Tool processes do not inherit it.
fn prepared(socket: TcpListener) -> io::Result<TcpListener> {
    if !socket_acceptconn(&socket)? {
        return Err(io::Error::other("it does not listen"));
    }
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

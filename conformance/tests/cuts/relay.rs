//! A relay of TCP connections that cuts them after a number of bytes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::cuts::call::Cutter;
use crate::cuts::sweep::Direction;

/// The end of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// In order (FIN).
    Fin,
    /// Immediately (RST).
    Reset,
}

/// The part of the connections that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The connection that carries the byte; later ones are served.
    Connection,
    /// All connections, and there are no others: the server is gone.
    Server,
}

/// A cut after a number of bytes of all connections together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) direction: Direction,
    pub(crate) after: usize,
    pub(crate) how: How,
    pub(crate) scope: Scope,
}

/// A relay on its own port. Dropping it ends all connections.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

struct State {
    server: SocketAddr,
    cut: Option<Cut>,
    /// Called at the cut, before connections end.
    on_cut: Option<Cutter>,
    counts: [AtomicUsize; 2],
    /// The counts after each read.
    ends: [Mutex<Vec<usize>>; 2],
    /// The cut has come.
    is_cut: AtomicBool,
    /// The relay is gone, with this kind of end.
    gone: watch::Sender<Option<How>>,
}

/// A connection is to be cut.
struct Now;

impl Relay {
    /// A relay in this runtime to this server.
    pub(crate) fn start(runtime: &Handle, server: SocketAddr, cut: Option<Cut>, on_cut: Option<Cutter>) -> Self {
        let state = State {
            server,
            cut,
            on_cut,
            counts: <[AtomicUsize; 2]>::default(),
            ends: <[Mutex<Vec<usize>>; 2]>::default(),
            is_cut: AtomicBool::new(false),
            gone: watch::channel(None).0,
        };
        let state = Arc::new(state);
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        runtime.spawn(accept(listener, Arc::clone(&state)));
        Self { address, state }
    }

    /// The bytes in this direction, and the counts after each read.
    pub(crate) fn traffic(&self, direction: Direction) -> (usize, Vec<usize>) {
        let ends = self.state.ends[direction as usize].lock().expect("nothing panics with it").clone();
        (self.state.counts[direction as usize].load(Ordering::SeqCst), ends)
    }

    /// A function that cuts all connections.
    pub(crate) fn cutter(&self, how: How) -> Cutter {
        let state = Arc::clone(&self.state);
        Arc::new(move || state.gone.send_modify(|gone| *gone = Some(how)))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.gone.send_if_modified(|gone| gone.is_none() && gone.replace(How::Fin).is_none());
    }
}

impl State {
    /// Counts bytes. `Some`: only this many of them pass, and then comes the cut.
    fn take(&self, direction: Direction, bytes: usize) -> Option<usize> {
        let before = self.counts[direction as usize].fetch_add(bytes, Ordering::SeqCst);
        if bytes > 0 {
            self.ends[direction as usize].lock().expect("nothing panics with it").push(before + bytes);
        }
        let cut = self.cut.filter(|cut| cut.direction == direction)?;
        let is_here = (before..=before + bytes).contains(&cut.after);
        (is_here && !self.is_cut.swap(true, Ordering::SeqCst)).then(|| cut.after - before)
    }

    /// The cut has come.
    fn end(&self) {
        if let Some(on_cut) = &self.on_cut {
            on_cut();
        }
        if let Some(Cut { scope: Scope::Server, how, .. }) = self.cut {
            self.gone.send_replace(Some(how));
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut gone = state.gone.subscribe();
    loop {
        tokio::select! {
            biased;
            _ = gone.wait_for(Option::is_some) => return,
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                tokio::spawn(serve(client, Arc::clone(&state)));
            }
        }
    }
}

async fn serve(mut client: TcpStream, state: Arc<State>) {
    let mut gone = state.gone.subscribe();
    let Ok(mut server) = TcpStream::connect(state.server).await else { return };
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("a socket has this option");
    }
    let how = {
        let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
        let both = async {
            if [Direction::Up, Direction::Down].into_iter().any(|direction| state.take(direction, 0).is_some()) {
                state.end();
                return Err(Now);
            }
            let up = carry(from_client, to_server, &state, Direction::Up);
            tokio::try_join!(up, carry(from_server, to_client, &state, Direction::Down))
        };
        tokio::select! {
            // A server that is gone carries nothing.
            biased;
            how = gone.wait_for(Option::is_some) => how.ok().and_then(|how| *how),
            outcome = both => state.cut.filter(|_| outcome.is_err()).map(|cut| cut.how),
        }
    };
    for mut stream in [client, server] {
        match how {
            Some(How::Reset) => stream.set_zero_linger().expect("a socket has this option"),
            // The other end may be gone.
            Some(How::Fin) | None => drop(stream.shutdown().await),
        }
    }
}

/// Carries bytes until one end closes or the cut comes.
async fn carry(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, state: &State, direction: Direction) -> Result<(), Now> {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let room = state.take(direction, count);
        if to.write_all(&buffer[..room.unwrap_or(count)]).await.is_err() {
            break;
        }
        if room.is_some() {
            state.end();
            return Err(Now);
        }
    }
    // The other direction may still have something to carry.
    drop(to.shutdown().await);
    Ok(())
}

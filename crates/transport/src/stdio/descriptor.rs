//! Determines the kind of a descriptor, and takes it without changing it for other processes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use tokio::net::unix::pipe;

use super::port::{InPort, Kind, OutPort};
use super::thread::{ThreadReader, ThreadWriter};
use super::{Reader, StdioReader, StdioWriter, Writer};

/// A descriptor of our own for what a shared one refers to, by how it can be used.
#[derive(Debug)]
enum Way {
    /// A pipe with its own description.
    Pipe(OwnedFd),
    /// A socket whose description is shared.
    Socket(OwnedFd),
    /// A terminal with its own description.
    Terminal(OwnedFd),
    /// Anything, shared, that may block.
    Blocking(OwnedFd),
}

pub(super) fn reader(shared: BorrowedFd<'_>) -> io::Result<StdioReader> {
    Ok(StdioReader(match way(shared, OFlags::RDONLY)? {
        Way::Pipe(fd) => Reader::Pipe(pipe::Receiver::from_owned_fd(fd)?),
        Way::Socket(fd) => Reader::Port(InPort::new(fd, Kind::Socket)?),
        Way::Terminal(fd) => Reader::Port(InPort::new(fd, Kind::Own)?),
        Way::Blocking(fd) => Reader::Thread(ThreadReader::spawn(File::from(fd))?),
    }))
}

pub(super) fn writer(shared: BorrowedFd<'_>) -> io::Result<StdioWriter> {
    Ok(StdioWriter(match way(shared, OFlags::WRONLY)? {
        Way::Pipe(fd) => Writer::Pipe(pipe::Sender::from_owned_fd(fd)?),
        Way::Socket(fd) => Writer::Port(OutPort::new(fd, Kind::Socket)),
        Way::Terminal(fd) => Writer::Port(OutPort::new(fd, Kind::Own)),
        Way::Blocking(fd) => Writer::Thread(ThreadWriter::spawn(File::from(fd))?),
    }))
}

/// Descriptor 1 becomes what descriptor 2 is, descriptor 0 becomes `/dev/null`.
pub(super) fn redirect() -> io::Result<()> {
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    rustix::stdio::dup2_stdin(OpenOptions::new().read(true).open("/dev/null")?)?;
    Ok(())
}

fn way(shared: BorrowedFd<'_>, access: OFlags) -> io::Result<Way> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(shared)?.st_mode);
    let own = match kind {
        FileType::Socket => return duplicate(shared).map(Way::Socket),
        FileType::Fifo => reopen(shared, access).map(Way::Pipe),
        FileType::CharacterDevice if rustix::termios::isatty(shared) => reopen(shared, access).map(Way::Terminal),
        // A file opened anew would be read from its start, instead of being appended to.
        _ => return duplicate(shared).map(Way::Blocking),
    };
    // No /proc, or a pipe that belongs to another user.
    own.or_else(|_| duplicate(shared).map(Way::Blocking))
}

/// A new description of the same thing, not blocking and not shared.
fn reopen(shared: BorrowedFd<'_>, access: OFlags) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", shared.as_raw_fd());
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// A new descriptor for the same description, out of the way of 0, 1 and 2.
fn duplicate(shared: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(shared, 3)?)
}

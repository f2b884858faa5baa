//! The unix socket that one tool process connects to.
//!
//! Any process that connects to the socket is taken for the tool, so the socket is hard to reach: it lives in a
//! directory that only this user may enter, under a name that cannot be guessed, and it is unlinked as soon as a
//! process of this user has connected. A crash leaves nothing behind but an empty directory.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::net::sockopt;
use tokio::net::UnixListener;

use crate::socket::Socket;

/// The longest socket path, in bytes (Linux allows 107, macOS and others 103).
const PATH_MAX: usize = if cfg!(target_os = "linux") { 107 } else { 103 };
/// The kernel buffer in each direction, so that both ends can write large messages without waiting for each other.
const SOCKET_BUFFER: usize = 1 << 20;

/// The reason for which no socket could be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The path does not fit the system's socket address.
    #[error("the socket path {} has {length} bytes, the system allows {PATH_MAX}", path.display())]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// The directory of the socket belongs to another user, who could replace the socket.
    #[error("{} belongs to another user, who could replace the socket", .0.display())]
    ForeignDirectory(PathBuf),
    /// A file that is not a stale socket has the name of the socket.
    #[error("{} is in use by another file or program", .0.display())]
    InUse(PathBuf),
    /// The system gives no random numbers for a name.
    #[error("the system gives no random numbers: {0}")]
    NoRandom(#[from] getrandom::Error),
    /// The system call failed.
    #[error("cannot listen on {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// A listening socket for one connection. Dropping it removes the socket file.
#[derive(Debug)]
pub struct Endpoint {
    listener: UnixListener,
    path: PathBuf,
    /// Identifies our file; another one may have its name by the time it is removed.
    file: FileId,
}

/// Device and inode. The inode is not reused while the listener is open.
type FileId = (u64, u64);

impl Endpoint {
    /// Listens on `path`. Missing directories are created with access for this user only; a stale socket is replaced.
    ///
    /// # Errors
    /// See [`EndpointError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn bind(path: &Path) -> Result<Self, EndpointError> {
        let length = path.as_os_str().len();
        if length > PATH_MAX {
            return Err(EndpointError::PathTooLong { path: path.into(), length });
        }
        let failed = |source| EndpointError::Io { path: path.into(), source };
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            create_private(directory).map_err(failed)?;
        }
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(|source| match source.kind() {
            // Another process took the name since it was checked.
            io::ErrorKind::AddrInUse => EndpointError::InUse(path.into()),
            _ => failed(source),
        })?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let file = file_id(path).map_err(failed)?;
        Ok(Self { listener, path: path.into(), file })
    }

    /// The path of the socket, for `PROTOMCP_SOCKET`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the tool process, then removes the socket file. Connections of other users are closed. Cancel safe.
    ///
    /// # Errors
    /// If the system fails to accept connections.
    pub async fn accept(&self) -> io::Result<Socket> {
        loop {
            let (stream, _) = match self.listener.accept().await {
                // The peer connected and disconnected before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                accepted => accepted?,
            };
            if stream.peer_cred()?.uid() != own_user() {
                tracing::warn!("refused a connection of another user on {}", self.path.display());
                continue;
            }
            for set in [sockopt::set_socket_send_buffer_size, sockopt::set_socket_recv_buffer_size] {
                // A smaller buffer only costs speed.
                let _smaller = set(&stream, SOCKET_BUFFER);
            }
            self.unlink();
            return Socket::new(stream);
        }
    }

    /// Listens on `path`, in a directory that must belong to this user, and restricts it to them. For
    /// [`default_socket_path`].
    ///
    /// # Errors
    /// See [`EndpointError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn bind_private(path: &Path) -> Result<Self, EndpointError> {
        if let Some(directory) = path.parent() {
            let failed = |source| EndpointError::Io { path: path.into(), source };
            create_private(directory).map_err(failed)?;
            // The check follows the creation: in a directory open to all, another user may have been faster.
            let found = fs::symlink_metadata(directory).map_err(failed)?;
            if !found.is_dir() || found.uid() != own_user() {
                return Err(EndpointError::ForeignDirectory(directory.into()));
            }
            if found.mode() & 0o077 != 0 {
                fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).map_err(failed)?;
            }
        }
        Self::bind(path)
    }

    fn unlink(&self) {
        // The file may be removed already, or replaced by the socket of the next generation.
        if file_id(&self.path).is_ok_and(|file| file == self.file) {
            let _gone = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.unlink();
    }
}

/// `$XDG_RUNTIME_DIR/pmcp/<pid>-<random>.sock`, or the same below `pmcp-<uid>` in the system's temporary directory,
/// where the name `pmcp` alone could be taken by any user first. A relative `XDG_RUNTIME_DIR` is invalid by its
/// specification and counts as absent. Directories whose paths are too long for a socket are passed over; the last one is
/// `/tmp`.
///
/// # Errors
/// [`EndpointError::NoRandom`].
pub fn default_socket_path() -> Result<PathBuf, EndpointError> {
    socket_path(std::env::var_os("XDG_RUNTIME_DIR"), &std::env::temp_dir())
}

fn socket_path(runtime: Option<OsString>, temporary: &Path) -> Result<PathBuf, EndpointError> {
    let runtime = runtime.map(PathBuf::from).filter(|path| path.is_absolute()).map(|path| path.join("pmcp"));
    let shared = |directory: &Path| directory.join(format!("pmcp-{}", own_user()));
    let directories = [runtime, Some(shared(temporary)), Some(shared(Path::new("/tmp")))];
    let name = format!("{}-{:016x}.sock", std::process::id(), getrandom::u64()?);
    let paths: Vec<_> = directories.into_iter().flatten().map(|directory| directory.join(&name)).collect();
    let fitting = paths.iter().find(|path| path.as_os_str().len() <= PATH_MAX);
    Ok(fitting.unwrap_or(&paths[0]).clone())
}

/// Creates a directory that only this user may enter; an existing one is left as it is.
fn create_private(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Removes a socket without a listener; any other file of that name is left alone and reported.
fn remove_stale(path: &Path) -> Result<(), EndpointError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(EndpointError::Io { path: path.into(), source }),
    };
    if !found.file_type().is_socket() || !is_abandoned(path) {
        return Err(EndpointError::InUse(path.into()));
    }
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(EndpointError::Io { path: path.into(), source }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// True if no process listens on the socket.
///
/// A stream connection would tell too, but the listener, waiting for its one tool process, would accept it. Connecting
/// a datagram socket fails in both cases, with different errors, and disturbs nothing.
fn is_abandoned(path: &Path) -> bool {
    let probe = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    probe.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn file_id(path: &Path) -> io::Result<FileId> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests;

//! The unix socket that one tool process connects to.
//!
//! Whoever connects to the socket is believed to be the tool, so the socket is hard to reach: it lives in a directory
//! that only this user may enter, under a name that cannot be guessed, and it is unlinked as soon as a process of this
//! user has connected. Nothing is left to clean up after a crash but an empty directory.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// Bytes a socket path may have on every system we know (Linux has room for 107, macOS for 103).
const PATH_MAX: usize = if cfg!(target_os = "linux") { 107 } else { 103 };
/// Kernel buffers in each direction, against mutual write stalls on large results.
const SOCKET_BUFFER: usize = 1 << 20;

/// Why no socket could be offered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The path does not fit the system's socket address.
    #[error("the socket path {} has {length} bytes, the system allows {PATH_MAX}; choose a shorter one with --socket", path.display())]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// The directory of the socket belongs to someone else, who could replace the socket.
    #[error("{} belongs to another user; set XDG_RUNTIME_DIR or choose another place with --socket", .0.display())]
    ForeignDirectory(PathBuf),
    /// Something that is not a stale socket has the socket's name.
    #[error("{} is in use; choose another path with --socket", .0.display())]
    InUse(PathBuf),
    /// The system refused.
    #[error("cannot listen on {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A listening socket for one connection. Dropping it removes the socket file.
#[derive(Debug)]
pub struct Endpoint {
    listener: UnixListener,
    path: PathBuf,
}

impl Endpoint {
    /// Listens on `path`. Missing directories are created for this user alone; a stale socket is replaced.
    ///
    /// # Errors
    /// See [`EndpointError`].
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
        let listener = UnixListener::bind(path).map_err(failed)?;
        Ok(Self { listener, path: path.into() })
    }

    /// Listens on an unguessable name in the [`default_socket_path`] directory.
    ///
    /// # Errors
    /// See [`EndpointError`].
    pub fn bind_default() -> Result<Self, EndpointError> {
        let path = default_socket_path();
        if let Some(directory) = path.parent()
            && let Ok(found) = fs::symlink_metadata(directory)
            && (found.uid() != rustix::process::getuid().as_raw() || !found.is_dir())
        {
            return Err(EndpointError::ForeignDirectory(directory.into()));
        }
        Self::bind(&path)
    }

    /// Where it listens; what goes into `PROTOMCP_SOCKET`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the tool process, then removes the socket file. A connection of another user is closed and the wait
    /// goes on. Cancel safe.
    ///
    /// # Errors
    /// The system's, when accepting fails for good.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            if stream.peer_cred()?.uid() != rustix::process::getuid().as_raw() {
                tracing::warn!("refused a connection of another user on {}", self.path.display());
                continue;
            }
            for set in
                [rustix::net::sockopt::set_socket_send_buffer_size, rustix::net::sockopt::set_socket_recv_buffer_size]
            {
                // A smaller buffer only costs speed.
                let _smaller = set(&stream, SOCKET_BUFFER);
            }
            self.unlink();
            return Ok(stream);
        }
    }

    fn unlink(&self) {
        // It may be gone already: accepted, or cleaned up by the user.
        let _gone = fs::remove_file(&self.path);
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.unlink();
    }
}

/// `$XDG_RUNTIME_DIR/pmcp/<pid>-<random>.sock`, or the same below `pmcp-<uid>` in the system's temporary directory,
/// where the name `pmcp` alone could be taken by any user first.
pub fn default_socket_path() -> PathBuf {
    let directory = match std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty()) {
        Some(runtime) => PathBuf::from(runtime).join("pmcp"),
        None => std::env::temp_dir().join(format!("pmcp-{}", rustix::process::getuid().as_raw())),
    };
    // The hasher's keys come from the system's random source; the name has to be unguessable, not uniform.
    let random = RandomState::new().build_hasher().finish();
    directory.join(format!("{}-{random:016x}.sock", std::process::id()))
}

/// Creates a directory that only this user may enter; narrows nothing that exists, except our own.
fn create_private(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Removes a socket nobody listens on; anything else under that name is left alone and reported.
fn remove_stale(path: &Path) -> Result<(), EndpointError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let listened = || std::os::unix::net::UnixStream::connect(path).is_ok();
    if !found.file_type().is_socket() || listened() {
        return Err(EndpointError::InUse(path.into()));
    }
    fs::remove_file(path).map_err(|source| EndpointError::Io { path: path.into(), source })
}

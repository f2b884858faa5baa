//! Removes the socket file of a process if the bridge was killed before it could.
//!
//! The name may belong to another socket by then: the next generation's, or the socket of another program with the same
//! path. So the file is removed only if it is the original one, a socket, and has no listener.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// The time in which the kernel must close the files of a killed bridge, one after the other.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A socket file as it was when the process started.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    file: (u64, u64),
}

impl SocketFile {
    /// The socket with this path, if there is one.
    pub(super) fn at(path: PathBuf) -> Option<Self> {
        let file = identity(&path)?;
        Some(Self { path, file })
    }

    /// Removes the file if it was left behind. While its owner is `gone` and it still seems to have a listener, the
    /// check repeats; a live owner removes it itself.
    pub(super) fn remove(&self, gone: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if identity(&self.path) != Some(self.file) {
                return;
            }
            if is_abandoned(&self.path) {
                let _gone = fs::remove_file(&self.path);
                return;
            }
            if !gone() {
                return;
            }
            thread::sleep(BETWEEN_LOOKS);
        }
    }
}

/// The identity of the file, if it is a socket.
fn identity(path: &PathBuf) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    found.file_type().is_socket().then(|| (found.dev(), found.ino()))
}

/// True if the socket has no listener. A stream would be accepted as a connection; a datagram is refused in both cases,
/// with different errors.
fn is_abandoned(path: &PathBuf) -> bool {
    let probe = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    probe.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_whose_owner_is_just_ending_is_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let listener = std::cell::RefCell::new(Some(UnixListener::bind(&path).unwrap()));
        let file = SocketFile { path: path.clone(), file: identity(&path).unwrap() };
        let looks = std::cell::Cell::new(0);
        // The owner is gone, and the kernel closes its socket after the third check.
        file.remove(|| {
            looks.set(looks.get() + 1);
            if looks.get() == 3 {
                listener.take();
            }
            true
        });
        assert_eq!((looks.get(), path.exists()), (3, false));

        // A socket that is never closed is left after half a second.
        let _listener = UnixListener::bind(&path).unwrap();
        let file = SocketFile { path: path.clone(), file: identity(&path).unwrap() };
        looks.set(0);
        file.remove(|| {
            looks.set(looks.get() + 1);
            true
        });
        assert_eq!((looks.get(), path.exists()), (LOOKS, true));
    }

    #[test]
    fn only_the_abandoned_socket_that_was_there_at_first_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let file = || SocketFile { path: path.clone(), file: identity(&path).unwrap() };

        let listener = UnixListener::bind(&path).unwrap();
        let ours = file();
        ours.remove(|| false);
        assert!(path.exists(), "its owner lives");
        // Kept open, so that the inode is not reused.
        let aside = folder.path().join("b.sock");
        fs::rename(&path, &aside).unwrap();
        drop(UnixListener::bind(&path).unwrap());
        ours.remove(|| true);
        assert!(path.exists(), "it is another socket");
        file().remove(|| false);
        assert!(!path.exists(), "it has no listener");

        fs::write(&path, "").unwrap();
        assert_eq!(identity(&path), None, "it is not a socket");
        drop(listener);
    }
}

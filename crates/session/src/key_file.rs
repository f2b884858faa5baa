//! The file of a secret that several processes share.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The shortest secret, in bytes.
const MIN_SECRET: usize = 32;

/// The longest one.
const MAX_SECRET: usize = 64 * 1024;

/// The reason why a file gives no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file is not there, or must not be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason of the system.
        source: io::Error,
    },
    /// A directory, a pipe or a device.
    #[error("{} is not a regular file: a key is read from one", .0.display())]
    NotRegular(PathBuf),
    /// Other users of the machine may read or change the file, or its group may change it.
    #[error("other users can read or change {}: protect it with chmod 600", .0.display())]
    Exposed(PathBuf),
    /// The file has fewer than 32 bytes.
    #[error("{} has {bytes} bytes, and a key has 32 at least: head -c 32 /dev/urandom writes one", path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// All bytes of the file are zero, as in one that was made and never written.
    #[error("{} has zero bytes only, and a key is random: head -c 32 /dev/urandom writes one", .0.display())]
    Zero(PathBuf),
    /// The file has more than 65,536 bytes.
    #[error("{} has more than 65,536 bytes, the most for a key", .0.display())]
    TooLong(PathBuf),
}

/// The bytes of a file that other users cannot read.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, KeyFileError> {
    let unreadable = |source| KeyFileError::Unreadable { path: path.into(), source };
    // Before it is opened, which waits at a pipe.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(KeyFileError::NotRegular(path.into()));
    }
    let file = File::open(path).map_err(unreadable)?;
    if is_exposed(&file.metadata().map_err(unreadable)?) {
        return Err(KeyFileError::Exposed(path.into()));
    }
    let mut secret = Vec::new();
    // One byte more shows that it is too long.
    file.take(MAX_SECRET as u64 + 1).read_to_end(&mut secret).map_err(unreadable)?;
    match secret.len() {
        bytes if bytes < MIN_SECRET => Err(KeyFileError::TooShort { path: path.into(), bytes }),
        bytes if bytes > MAX_SECRET => Err(KeyFileError::TooLong(path.into())),
        _ if secret.iter().all(|byte| *byte == 0) => Err(KeyFileError::Zero(path.into())),
        _ => Ok(secret),
    }
}

/// True if others may read or write the file. Its group may read it: service managers give secrets to a group.
#[cfg(unix)]
fn is_exposed(file: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.mode() & 0o026 != 0
}

#[cfg(not(unix))]
fn is_exposed(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Writes a file with these permissions.
    pub(crate) fn write(path: &Path, secret: &[u8], mode: u32) {
        fs::write(path, secret).expect("the folder is writable");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the file is its owner's");
    }

    #[test]
    fn a_file_gives_a_key_if_others_cannot_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        for (length, mode, refusal) in [
            (32, 0o600, None),
            (32, 0o400, None),
            (32, 0o640, None),
            (MAX_SECRET, 0o600, None),
            (31, 0o600, Some(" has 31 bytes, and a key has 32 at least: head -c 32 /dev/urandom writes one")),
            (0, 0o600, Some(" has 0 bytes, and a key has 32 at least: head -c 32 /dev/urandom writes one")),
            (MAX_SECRET + 1, 0o600, Some(" has more than 65,536 bytes, the most for a key")),
            (32, 0o644, Some(": protect it with chmod 600")),
            (32, 0o602, Some(": protect it with chmod 600")),
            (32, 0o620, Some(": protect it with chmod 600")),
        ] {
            // A file that cannot be written is replaced.
            let _absent = fs::remove_file(&path);
            write(&path, &vec![7; length], mode);
            match (read(&path), refusal) {
                (Ok(secret), None) => assert_eq!(secret, vec![7; length]),
                (Err(error), Some(refusal)) => {
                    let error = error.to_string();
                    assert!(error.ends_with(refusal) && error.contains("key"), "{length} {mode:o}: {error}");
                }
                (outcome, _) => panic!("{length} {mode:o}: {:?}", outcome.map(|secret| secret.len())),
            }
        }
    }

    #[test]
    fn zeros_are_not_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write(&path, &[0; 64], 0o600);
        let error = read(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("key has zero bytes only, and a key is random: head -c 32 /dev/urandom writes one"),
            "{error}"
        );
        write(&path, &[&[0; 63][..], &[1]].concat(), 0o600);
        assert!(read(&path).is_ok());
    }

    #[test]
    fn a_key_is_read_from_a_regular_file_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(folder.path()), Err(KeyFileError::NotRegular(_))));
        assert!(matches!(read(Path::new("/dev/zero")), Err(KeyFileError::NotRegular(_))));
        let absent = read(&folder.path().join("absent")).unwrap_err();
        assert!(
            matches!(absent, KeyFileError::Unreadable { .. }) && absent.to_string().contains("absent cannot be read")
        );
    }
}

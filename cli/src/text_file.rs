//! Files and inputs of text.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

/// The text of a file, without a byte order mark at its beginning.
#[cfg(feature = "proto-mcp")]
pub(crate) fn read(path: &Path) -> io::Result<String> {
    read_all(fs::File::open(path)?)
}

/// The text of an input, without a byte order mark at its beginning.
pub(crate) fn read_all(mut input: impl Read) -> io::Result<String> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    Ok(without_mark(&text).to_owned())
}

/// Writes all of a file, or nothing: the file that is there stays until the new one is whole. A link to it stays one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link to a file that is not there has no canonical path.
    let target = || path.read_link().map_or_else(|_| path.to_owned(), |link| path.with_file_name(link));
    let path = path.canonicalize().unwrap_or_else(|_| target());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".pmcp-{}", std::process::id()));
    let draft = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
    let mut write = || {
        if let Ok(before) = fs::metadata(&path) {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, &path)
    };
    write().inspect_err(|_| {
        let _stays = fs::remove_file(&draft);
    })
}

/// The text of a regular file of at most this many bytes: a device has no end, and a pipe may have no beginning. `kind` names
/// such files, as in `a trace`.
pub(crate) fn read_bounded(path: &Path, limit: u64, kind: &str) -> io::Result<String> {
    let too_long = |size: u64| {
        let why = format!("{size} bytes; {kind} has {limit} at most");
        Err(io::Error::new(ErrorKind::FileTooLarge, why))
    };
    // Before it is opened, which waits at a pipe.
    let found = fs::metadata(path)?;
    if !found.is_file() {
        let why = format!("not a regular file; {kind} is read from one: write it into a file first");
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    if found.len() > limit {
        return too_long(found.len());
    }
    let mut text = String::new();
    // It may grow.
    fs::File::open(path)?.take(limit.saturating_add(1)).read_to_string(&mut text)?;
    match u64::try_from(text.len()).unwrap_or(u64::MAX) {
        size if size > limit => too_long(size),
        _ => Ok(text),
    }
}

/// A text without a byte order mark at its beginning (RFC 8259, section 8.1).
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_bounded(&path, 5, "a trace").unwrap(), "12345");
        let refused = |path: &Path| read_bounded(path, 4, "a trace").unwrap_err().to_string();
        assert_eq!(refused(&path), "5 bytes; a trace has 4 at most");
        for path in [folder.path(), Path::new("/dev/zero")] {
            assert!(refused(path).starts_with("not a regular file; a trace is read from one"), "{}", path.display());
        }
        assert_eq!(read_bounded(&folder.path().join("b"), 4, "a trace").unwrap_err().kind(), ErrorKind::NotFound);
    }
}

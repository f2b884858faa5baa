//! An open folder: names, and what they lead to, relative to its descriptor.
//!
//! Links are never followed: neither when a folder is listed, nor if one takes the place of a file afterwards.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use bytes::Bytes;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, open, openat, statat};
use rustix::io::Errno;

/// Opens without following a link, without waiting for the other end of a pipe, and without becoming the owner of a
/// terminal.
const FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::NOFOLLOW);

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// The kind of an entry of a folder.
#[derive(Debug)]
pub(crate) enum Found {
    File(FileEntry),
    Folder(Folder),
    Link,
    Special,
    /// It is gone since the folder was listed.
    Gone,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct FileEntry(File);

impl Folder {
    /// Opens a folder by a path that its user has named. Links in it are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        Ok(Self(open(path, flags, Mode::empty())?))
    }

    /// The names in it, sorted; at most `max` and one more.
    pub(crate) fn names(&self, max: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_owned());
            }
            if names.len() > max {
                break;
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// True if there is a regular file with this name.
    pub(crate) fn has_file(&self, name: &str) -> bool {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// Opens an entry. A device is not opened, because that may have an effect.
    pub(crate) fn find(&self, name: &str) -> io::Result<Found> {
        let listed = match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(Errno::NOENT) => return Ok(Found::Gone),
            Err(error) => return Err(error.into()),
        };
        match listed {
            FileType::RegularFile | FileType::Directory => {}
            FileType::Symlink => return Ok(Found::Link),
            _ => return Ok(Found::Special),
        }
        self.open_entry(name)
    }

    /// Opens an entry that was a file or a folder. A link that has taken its place is not followed.
    fn open_entry(&self, name: &str) -> io::Result<Found> {
        let opened = match openat(&self.0, name, FLAGS, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::LOOP) => return Ok(Found::Link),
            Err(Errno::NXIO) => return Ok(Found::Special),
            Err(Errno::NOENT) => return Ok(Found::Gone),
            Err(error) => return Err(error.into()),
        };
        Ok(match FileType::from_raw_mode(fstat(&opened)?.st_mode) {
            FileType::RegularFile => Found::File(FileEntry(opened.into())),
            FileType::Directory => Found::Folder(Self(opened)),
            _ => Found::Special,
        })
    }
}

impl FileEntry {
    /// The contents; `None` if they have more than `max` bytes.
    pub(crate) fn read(self, max: u64) -> io::Result<Option<Bytes>> {
        let mut contents = Vec::new();
        self.0.take(max.saturating_add(1)).read_to_end(&mut contents)?;
        Ok((contents.len() as u64 <= max).then(|| contents.into_boxed_slice().into()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_entry_is_what_it_is_and_nothing_it_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::write(path("file"), "12345").unwrap();
        fs::create_dir(path("folder")).unwrap();
        symlink("file", path("link")).unwrap();
        symlink(".", path("loop")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let folder = Folder::open(place.path()).unwrap();
        assert_eq!(folder.names(10).unwrap(), ["file", "folder", "link", "loop", "pipe"].map(str::as_bytes));
        assert_eq!(folder.names(2).unwrap().len(), 3);
        assert!(matches!(folder.find("link").unwrap(), Found::Link));
        assert!(matches!(folder.find("loop").unwrap(), Found::Link));
        assert!(matches!(folder.find("pipe").unwrap(), Found::Special));
        assert!(matches!(folder.find("folder").unwrap(), Found::Folder(_)));
        assert!(matches!(folder.find("gone").unwrap(), Found::Gone));
        assert!(folder.has_file("file") && !folder.has_file("link") && !folder.has_file("folder"));
        let read = |max| match folder.find("file").unwrap() {
            Found::File(file) => file.read(max).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!((read(5).as_deref(), read(4)), (Some(&b"12345"[..]), None));
    }

    /// Each may take the place of a file between the two calls of `find`.
    #[test]
    fn what_replaces_a_file_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::write(path("file"), "12345").unwrap();
        symlink("file", path("link")).unwrap();
        symlink(".", path("loop")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let folder = Folder::open(place.path()).unwrap();
        assert!(matches!(folder.open_entry("file").unwrap(), Found::File(_)));
        for link in ["link", "loop"] {
            assert!(matches!(folder.open_entry(link).unwrap(), Found::Link), "{link}");
        }
        for special in ["pipe", "socket"] {
            assert!(matches!(folder.open_entry(special).unwrap(), Found::Special), "{special}");
        }
        assert!(matches!(folder.open_entry("gone").unwrap(), Found::Gone));
    }

    #[test]
    fn a_folder_that_is_replaced_by_a_link_stays_the_open_one() {
        let place = tempfile::tempdir().unwrap();
        let (kept, other) = (place.path().join("kept"), place.path().join("other"));
        fs::create_dir_all(&kept).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(kept.join("file"), "old").unwrap();
        fs::write(other.join("file"), "secret").unwrap();
        let Found::Folder(folder) = Folder::open(place.path()).unwrap().find("kept").unwrap() else {
            panic!("a folder")
        };
        fs::rename(&kept, place.path().join("moved")).unwrap();
        symlink(&other, &kept).unwrap();
        let Found::File(file) = folder.find("file").unwrap() else { panic!("a file") };
        assert_eq!(file.read(10).unwrap().as_deref(), Some(&b"old"[..]));
        assert!(matches!(Folder::open(place.path()).unwrap().find("kept").unwrap(), Found::Link));
    }
}

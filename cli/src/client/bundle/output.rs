//! The files that `pmcp bundle` writes.

use std::path::{Path, PathBuf};

use crate::client::bundle::files::load;
use crate::exit::Failure;
use crate::text_file::replace;

/// A file to write. It is new, or a file of the same kind is in its place: a wrong name overwrites no work.
pub(super) struct Output {
    /// Without links, if it is there.
    path: PathBuf,
}

impl Output {
    /// The place of a bundle, an archive of ZIP.
    pub(super) fn of_bundle(path: &Path) -> Result<Self, Failure> {
        Self::at(path, |data| data.starts_with(b"PK")).map_err(|reason| {
            reason.unwrap_or_else(|| {
                Failure::usage(format!("{} is there and is not a bundle: choose another file with -o", path.display()))
            })
        })
    }

    /// The place of an entry for the registry.
    pub(super) fn of_entry(path: &Path) -> Result<Self, Failure> {
        let is_entry = |data: &[u8]| String::from_utf8_lossy(data).contains("/server.schema.json\"");
        Self::at(path, is_entry).map_err(|reason| {
            reason.unwrap_or_else(|| {
                Failure::usage(format!(
                    "{} is there and is not an entry of the registry: choose a file in another directory with -o",
                    path.display()
                ))
            })
        })
    }

    /// The error is `None` for a file of another kind.
    fn at(path: &Path, is_ours: impl Fn(&[u8]) -> bool) -> Result<Self, Option<Failure>> {
        match path.canonicalize() {
            Ok(real) if is_ours(&load(&real)?) => Ok(Self { path: real }),
            Ok(_) => Err(None),
            Err(_) => Ok(Self { path: path.to_owned() }),
        }
    }

    /// True for the place of the file, without links.
    pub(super) fn is_at(&self, real: &Path) -> bool {
        self.path == real
    }

    /// Writes all of it, or nothing.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        replace(&self.path, bytes)
            .map_err(|error| Failure::failed(format!("cannot write {}: {error}", self.path.display())))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_file_of_its_kind_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, text) in [("a.py", "print(1)"), ("b.mcpb", "PK.."), ("server.json", "{}")] {
            fs::write(path(name), text).unwrap();
        }
        fs::write(path("entry.json"), r#"{"$schema": "https://h/server.schema.json"}"#).unwrap();
        for (name, is_bundle, is_entry) in [
            ("a.py", false, false),
            ("b.mcpb", true, false),
            ("server.json", false, false),
            ("entry.json", false, true),
            ("new", true, true),
        ] {
            assert_eq!(Output::of_bundle(&path(name)).is_ok(), is_bundle, "{name}");
            assert_eq!(Output::of_entry(&path(name)).is_ok(), is_entry, "{name}");
        }
        Output::of_bundle(&path("b.mcpb")).unwrap().write(b"PK new").unwrap();
        assert_eq!(fs::read(path("b.mcpb")).unwrap(), b"PK new");
        assert!(Output::of_bundle(&path("no/where")).unwrap().write(b"PK").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "no draft stays");
    }
}

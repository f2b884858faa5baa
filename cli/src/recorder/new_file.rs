//! The file of a new trace.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// The beginning of a trace.
const BEGINNING: &[u8] = b"{\"trace\":\"mcp\"";
/// The most files of one name.
const MAX_FILES: usize = 1000;

/// Creates the file, or one with a number before its extension if it exists: a host that starts its servers again has the
/// same command line each time.
pub(crate) fn create(path: &Path) -> Result<(File, PathBuf), Failure> {
    let shown = path.display();
    let is_other = path.metadata().is_ok_and(|found| !found.is_file());
    if is_other || path.file_name().is_none() {
        return Err(Failure::usage(format!("{shown} is there already and not a file; name another path with --to")));
    }
    if !may_be_trace(path) {
        return Err(Failure::usage(format!("{shown} is there already and not a trace; name another file with --to")));
    }
    for number in 1..=MAX_FILES {
        let next = numbered(path, number);
        match create_new(&next) {
            Ok(file) => return Ok((file, next)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::usage(format!("cannot create {}: {error}", next.display()))),
        }
    }
    Err(Failure::usage(format!(
        "{shown} and {} more traces of this name are there already; name another file with --to, or remove them",
        MAX_FILES - 1
    )))
}

/// False for a file that another program has made. One without text was created by a start that has not written it yet.
fn may_be_trace(path: &Path) -> bool {
    let mut found = Vec::new();
    let length = u64::try_from(BEGINNING.len()).unwrap_or_default();
    match File::open(path).and_then(|file| file.take(length).read_to_end(&mut found)) {
        Ok(_) => found.is_empty() || found == BEGINNING,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// The path with this number, which the first one does without.
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_has_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let names = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap();
        for (given, expected) in
            [("a.b.jsonl", ["a.b.jsonl", "a.b-2.jsonl", "a.b-3.jsonl"]), ("bug", ["bug", "bug-2", "bug-3"])]
        {
            let made: Vec<String> =
                (0..3).map(|_| names(&create(&folder.path().join(given)).map_err(drop).unwrap().1)).collect();
            assert_eq!(made, expected);
        }
    }

    #[test]
    fn what_is_not_a_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), Path::new("/dev/null"), Path::new("..")] {
            let refused = create(path).map(drop).unwrap_err();
            assert!(refused.is_usage() && refused.to_string().contains("not a file"), "{refused}");
        }
        std::fs::write(folder.path().join("tools.py"), "def add(a, b): return a + b").unwrap();
        let refused = create(&folder.path().join("tools.py")).map(drop).unwrap_err();
        assert!(refused.is_usage() && refused.to_string().contains("not a trace"), "{refused}");
        let refused = create(&folder.path().join("none/a.jsonl")).map(drop).unwrap_err();
        assert!(refused.to_string().contains("cannot create"), "{refused}");
    }
}

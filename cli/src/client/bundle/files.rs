//! The files of a bundle: all of them lie in the folder of the tool file, behind links as well.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;
use protomcp_install::ArchiveFile;

use crate::client::bundle::output::Output;
use crate::client::bundle::secrets::Secrets;
use crate::exit::Failure;

/// The directory of the tool file in a bundle.
pub(super) const TOOLS: &str = "server/tools";
/// The most files of a bundle, and the most bytes of them: a tool file in a home directory has all of it next to it.
const MAX_FILES: usize = 20_000;
const MAX_BYTES: usize = 1 << 30;
/// The most files and directories that are looked at: links lead to the same directory by many ways. One that leads back to
/// a directory above it is an error of the walk.
const MAX_SEEN: usize = 1_000_000;
/// The most files with secrets that a refusal names.
const MAX_NAMED: usize = 20;

/// The folder of a tool file.
pub(super) struct Folder {
    /// The path on the command line.
    pub(super) path: PathBuf,
    /// Without links.
    real: PathBuf,
}

impl Folder {
    pub(super) fn of(file: &Path) -> Result<Self, Failure> {
        let path = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        let real = real(&path)?;
        Ok(Self { path, real })
    }

    /// The path by way of the folder, if it is below it.
    pub(super) fn below(&self, path: &Path) -> Option<PathBuf> {
        self.below_root(&std::path::absolute(&self.path).ok()?, &std::path::absolute(path).ok()?)
    }

    /// The same for a path that begins with the folder without links.
    pub(super) fn below_real(&self, path: &Path) -> Option<PathBuf> {
        self.below_root(&self.real, path)
    }

    fn below_root(&self, root: &Path, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix(root).ok()?;
        inside.components().all(|part| matches!(part, Component::Normal(_))).then(|| self.path.join(inside))
    }

    /// The place in the folder that a path leads to. A bundle is for others: they get no file that only a link names.
    fn inside(&self, path: &Path) -> Result<PathBuf, Failure> {
        let target = real(path)?;
        let inside = target.strip_prefix(&self.real).map(Path::to_owned);
        inside.map_err(|_| {
            let (path, target, folder) = (path.display(), target.display(), self.real.display());
            Failure::usage(format!(
                "{path} leads to {target}, outside of {folder}: put a copy in the place of the link, or remove the link"
            ))
        })
    }

    /// The place of a file in a bundle. Two names that are not UTF-8 could become one.
    fn place(&self, path: &Path) -> Result<String, Failure> {
        let inside = path.strip_prefix(&self.path).unwrap_or(path);
        let parts = inside.components().map(Component::as_os_str).filter(|part| *part != ".");
        let parts: Option<Vec<_>> = parts.map(OsStr::to_str).collect();
        match parts {
            Some(parts) => Ok(format!("{TOOLS}/{}", parts.join("/"))),
            None => {
                Err(Failure::usage(format!("the name of {} is not UTF-8: rename it, or leave it out", path.display())))
            }
        }
    }
}

/// The files of a bundle, by their places in it.
#[derive(Default)]
pub(super) struct Files<'a> {
    pub(super) all: BTreeMap<String, ArchiveFile>,
    bytes: usize,
    seen: usize,
    secrets: Secrets,
    /// The files to write, which belong to no bundle.
    outputs: Vec<&'a Output>,
    /// The files that are secrets, each with its reason.
    refused: BTreeSet<String>,
}

impl<'a> Files<'a> {
    pub(super) fn new(secrets: Secrets, outputs: Vec<&'a Output>) -> Self {
        Self { secrets, outputs, ..Self::default() }
    }

    pub(super) fn add(&mut self, path: String, data: Vec<u8>, is_executable: bool) -> Result<(), Failure> {
        self.bytes += data.len();
        self.all.insert(path.clone(), ArchiveFile { path, data, is_executable });
        if self.all.len() > MAX_FILES || self.bytes > MAX_BYTES { Err(too_large()) } else { Ok(()) }
    }

    /// Reads a file of the folder, or the one that a link to a file of the folder leads to.
    pub(super) fn read(&mut self, folder: &Folder, path: &Path, is_executable: bool) -> Result<(), Failure> {
        let inside = folder.inside(path)?;
        let real = folder.real.join(&inside);
        if self.outputs.iter().any(|output| output.is_at(&real)) {
            return Ok(());
        }
        let data = load(&real)?;
        if let Err(reason) = self.secrets.check(path, &inside, &data) {
            self.refused.insert(reason);
        }
        self.add(folder.place(path)?, data, is_executable)
    }

    /// All files of a walk that are chosen. Returns their number.
    pub(super) fn read_tree(
        &mut self,
        walk: &mut WalkBuilder,
        folder: &Folder,
        chosen: impl Fn(&Path) -> bool,
    ) -> Result<usize, Failure> {
        let mut read = 0;
        for entry in walk.follow_links(true).build() {
            let entry = entry.map_err(|error| unreadable(&error))?;
            self.seen += 1;
            if self.seen > MAX_SEEN {
                return Err(too_large());
            }
            let path = entry.path();
            if entry.file_type().is_some_and(|kind| kind.is_file()) && chosen(path) {
                self.read(folder, path, is_program(path))?;
                read += 1;
            } else if entry.path_is_symlink() && entry.file_type().is_some_and(|kind| kind.is_dir()) {
                folder.inside(path)?;
            }
        }
        Ok(read)
    }

    /// An error that names the files with secrets, if there are any.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.refused.is_empty() {
            return Ok(());
        }
        let mut text: Vec<_> = self.refused.iter().take(MAX_NAMED).cloned().collect();
        if let Some(more) = self.refused.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            text.push(format!("and {more} more files with secrets"));
        }
        Err(Failure::usage(text.join("\n")))
    }
}

fn too_large() -> Failure {
    Failure::failed(format!(
        "more than {MAX_FILES} files, or 1 GiB, belong to the tool file; put it into its own directory"
    ))
}

/// The error of a walk.
fn unreadable(error: &ignore::Error) -> Failure {
    match error {
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithPath { err, .. } => unreadable(err),
        ignore::Error::Loop { ancestor, child } => Failure::usage(format!(
            "{} is a link to {}, which it lies in, so that the files have no end: remove the link",
            child.display(),
            ancestor.display()
        )),
        other => Failure::usage(format!("cannot read files: {other}")),
    }
}

/// The contents of a regular file that a bundle may hold: a device has no end, and a pipe may have no beginning.
pub(super) fn load(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| Failure::usage(format!("cannot read {}: {error}", path.display()));
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(failed(io::Error::new(ErrorKind::InvalidInput, "not a regular file")));
    }
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
    if found.len() > limit {
        return Err(too_large());
    }
    let mut data = Vec::new();
    // It may grow.
    fs::File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut data)).map_err(failed)?;
    Ok(data)
}

fn real(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(_: &Path) -> bool {
    false
}

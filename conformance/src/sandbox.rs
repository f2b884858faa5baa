//! A fresh place for one test: a working directory, a runtime directory, and a mark on every process started there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::programs::{peers, root};

/// A fresh folder with two parts: `work`, the working directory of `pmcp`, and `run`, its `XDG_RUNTIME_DIR`.
///
/// It is deleted when the last clone is dropped; every [`Host`](crate::Host) holds one.
#[derive(Debug, Clone)]
pub struct Sandbox {
    folder: Arc<TempDir>,
    marker: String,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// Makes the folders.
    ///
    /// # Panics
    ///
    /// If the system's temporary folder is not writable.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::Builder::new().prefix("pmcp-").tempdir().expect("a temporary folder can be made");
        for part in ["work", "run"] {
            fs::create_dir(folder.path().join(part)).expect("a fresh folder takes a new one");
        }
        let marker = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { folder: Arc::new(folder), marker }
    }

    /// A path in the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    /// The runtime directory of `pmcp`, where its sockets belong.
    pub fn runtime(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// Writes a file in the working directory, by rename as editors do, and returns its path.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        let draft = self.path(&format!(".{name}.draft"));
        fs::write(&draft, text).expect("the sandbox can be written");
        fs::rename(&draft, &path).expect("a file in the sandbox can be replaced");
        path
    }

    /// Copies a fixture such as `py/basics.py`, or a folder of them, into the working directory.
    pub fn copy(&self, fixture: &str) -> PathBuf {
        let from = root().join("conformance/fixtures").join(fixture);
        let files: Vec<PathBuf> = if from.is_dir() {
            fs::read_dir(&from)
                .expect("the fixtures can be read")
                .map(|entry| entry.expect("an entry").path())
                .collect()
        } else {
            vec![from]
        };
        let mut path = PathBuf::new();
        for file in files.into_iter().filter(|file| file.is_file()) {
            path = self.path(&name(&file));
            fs::copy(&file, &path).unwrap_or_else(|error| panic!("{} cannot be copied: {error}", file.display()));
        }
        path
    }

    /// Makes the Node packages of `scripts/setup` visible from the working directory, for `npx tsx`.
    pub fn with_node(&self) -> &Self {
        let packages = peers().join("node/node_modules");
        symlink(packages, self.path("node_modules")).expect("a link can be made in the sandbox");
        self
    }

    /// The environment variable value of every process that this sandbox's `pmcp` starts.
    pub fn marker(&self) -> &str {
        &self.marker
    }

    /// All files below the runtime directory: sockets that were left behind.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.runtime()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found
    }
}

fn name(path: &Path) -> String {
    path.file_name().expect("a fixture has a name").to_string_lossy().into_owned()
}

//! Credentials in files that only their user can read.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest;
use tokio::time::{Instant, sleep};

use crate::authorizer::BoxFuture;
use crate::credentials::Credentials;
use crate::driver::token_store::{StoreError, StoreGuard, TokenStore};
use crate::signing::random_text;

/// The longest file that is read, in bytes.
const MAX_FILE: u64 = 256 * 1024;

/// The time for which another program may hold the lock: as long as a refresh may take.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The age from which a draft belongs to a killed program.
const OLD_DRAFT: Duration = Duration::from_secs(60);

/// The time between two attempts to get the lock.
const RETRY: Duration = Duration::from_millis(50);

/// Keeps credentials in a directory: one file for each issuer and MCP server, with mode 0600, in a directory with mode
/// 0700 (on Windows, with the permissions of the directory). A directory that belongs to another user, or that others may
/// write to, is an error. Files are replaced in one step, so that a crash leaves the old one or the new one; what a killed
/// program was writing is removed a minute later, at the next look into the directory. Programs that share the directory
/// refresh a token once.
#[derive(Debug, Clone)]
pub struct FileTokenStore {
    directory: PathBuf,
}

impl FileTokenStore {
    /// A store in this directory, which is created when it is needed.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The beginning of the names of all files for this MCP server.
    fn stem(resource: &str) -> String {
        hash(resource)
    }

    fn file_name(credentials: &Credentials) -> String {
        format!("{}.{}.json", Self::stem(credentials.resource()), hash(credentials.issuer()))
    }

    /// Runs `work` where it may block.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let directory = self.directory.clone();
        Box::pin(async move {
            let shown = directory.display().to_string();
            let outcome = tokio::task::spawn_blocking(move || work(&directory)).await.map_err(io::Error::other);
            outcome.flatten().map_err(|error| StoreError(format!("{shown}: {error}")))
        })
    }
}

impl TokenStore for FileTokenStore {
    fn list<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Vec<Credentials>, StoreError>> {
        let resource = resource.to_owned();
        self.run(move |directory| list(directory, &resource))
    }

    fn store<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        let (name, text) = (Self::file_name(credentials), serde_json::to_vec(credentials));
        self.run(move |directory| {
            create_directory(directory)?;
            replace(directory, &directory.join(name), &text?)
        })
    }

    fn remove<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        let name = Self::file_name(credentials);
        self.run(move |directory| {
            match check_directory(directory).and_then(|()| fs::remove_file(directory.join(name))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        })
    }

    fn lock<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<StoreGuard, StoreError>> {
        let name = format!("{}.lock", Self::stem(resource));
        Box::pin(async move {
            let path = self.directory.join(name);
            let shown = path.display().to_string();
            let file = self.run(move |directory| {
                create_directory(directory)?;
                regular(private().read(true).write(true).create(true).truncate(false).open(path)?)
            });
            let file = file.await?;
            let deadline = Instant::now() + MAX_WAIT;
            loop {
                match file.try_lock() {
                    // Closing the file releases the lock, also when the program is killed.
                    Ok(()) => return Ok(StoreGuard::new(file)),
                    Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(RETRY).await,
                    Err(TryLockError::WouldBlock) => {
                        return Err(StoreError(format!("{shown}: another program holds the lock")));
                    }
                    Err(TryLockError::Error(error)) => return Err(StoreError(format!("{shown}: {error}"))),
                }
            }
        })
    }
}

fn list(directory: &Path, resource: &str) -> io::Result<Vec<Credentials>> {
    let entries = match check_directory(directory).and_then(|()| fs::read_dir(directory)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let stem = FileTokenStore::stem(resource);
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if is_draft(name) {
            remove_old(&path);
        }
        if !name.starts_with(&stem) || !name.ends_with(".json") {
            continue;
        }
        match read(&path) {
            Ok(credentials)
                if credentials.resource() == resource && FileTokenStore::file_name(&credentials) == name =>
            {
                found.push(credentials);
            }
            Ok(_) => {
                tracing::warn!(file = %path.display(), "other credentials than the file name says; ignored");
            }
            // The user signs in again, and the file is replaced.
            Err(error) => tracing::warn!(file = %path.display(), %error, "the credentials cannot be read; ignored"),
        }
    }
    found.sort_by_key(|credentials| std::cmp::Reverse(credentials.received()));
    Ok(found)
}

fn read(path: &Path) -> io::Result<Credentials> {
    let mut text = Vec::new();
    regular(private().read(true).open(path)?)?.take(MAX_FILE).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Writes another file and renames it, so that there is a complete file at any time.
fn replace(directory: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = directory.join(format!(".{}.tmp", random_text()));
    let written = private().write(true).create_new(true).open(&draft).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&draft, path));
    if renamed.is_err() {
        // The first error is the one to report.
        drop(fs::remove_file(&draft));
    }
    renamed
}

/// True for the name of a file that [`replace`] writes first.
fn is_draft(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// Removes a draft, which has tokens, of a program that was killed while it wrote it.
fn remove_old(draft: &Path) {
    let Ok(found) = fs::symlink_metadata(draft) else { return };
    let age = found.modified().ok().and_then(|modified| modified.elapsed().ok());
    if found.is_file() && is_own(&found) && age.is_some_and(|age| age >= OLD_DRAFT) {
        match fs::remove_file(draft) {
            Ok(()) => tracing::info!(file = %draft.display(), "removed what a killed program has left"),
            Err(error) => {
                tracing::warn!(file = %draft.display(), %error, "cannot remove what a killed program has left");
            }
        }
    }
}

/// True for a file of this user.
#[cfg(unix)]
fn is_own(found: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &fs::Metadata) -> bool {
    true
}

/// Options for a file that only its user can read. A link is not followed, and a pipe not waited for.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

fn create_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)?;
    check_directory(directory)
}

/// Checks that no other user can put files into the directory: credentials of an issuer of theirs would be used.
#[cfg(unix)]
fn check_directory(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(directory)?;
    if !found.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    if !is_own(&found) {
        return Err(io::Error::other("the directory belongs to another user"));
    }
    if found.mode() & 0o022 != 0 {
        return Err(io::Error::other("other users may write to the directory; protect it with chmod 700"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_directory(directory: &Path) -> io::Result<()> {
    fs::metadata(directory).map(drop)
}

pub(crate) fn hash(text: &str) -> String {
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    hash.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

//! The two files that a certificate and its key are in.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use rustls::sign::CertifiedKey;

use super::error::TlsError;
use super::freshness::Freshness;
use super::pair;
use super::shown::Shown;

#[derive(Debug)]
pub(super) struct Files {
    certificate: PathBuf,
    key: PathBuf,
    shown: Arc<Shown>,
    freshness: Mutex<Freshness<[Option<State>; 2]>>,
}

/// What tells that a file is another one, or was written.
#[derive(Debug, PartialEq, Eq)]
struct State {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

impl Files {
    pub(super) fn open(certificate: PathBuf, key: PathBuf) -> Result<Self, TlsError> {
        // What is written between the two is seen at the first look.
        let state = states(&certificate, &key);
        let pair = read(&certificate, &key)?;
        let (shown, freshness) = (Arc::new(Shown::new(pair)), Mutex::new(Freshness::new(state)));
        Ok(Self { certificate, key, shown, freshness })
    }

    pub(super) fn shown(&self) -> &Arc<Shown> {
        &self.shown
    }

    /// Shows what is in the files now, if they have changed and it is any good.
    pub(super) fn look(&self) {
        let state = states(&self.certificate, &self.key);
        let is_due = self.freshness.lock().unwrap_or_else(PoisonError::into_inner).look(Instant::now(), state);
        if !is_due {
            return;
        }
        match read(&self.certificate, &self.key) {
            Ok(pair) => {
                self.shown.replace(pair);
                tracing::info!("{} has changed: it is shown from now on", self.certificate.display());
            }
            Err(error) => tracing::error!("the certificate has changed and is not used: {error}; the one before stays"),
        }
    }
}

fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let text = |file: &Path| fs::read(file).map_err(|error| TlsError::Unreadable { file: file.to_owned(), error });
    let (first, second) = (text(certificate)?, text(key)?);
    pair::read(&first, &second, &certificate.display().to_string(), &key.display().to_string())
}

fn states(certificate: &Path, key: &Path) -> [Option<State>; 2] {
    [certificate, key].map(|file| fs::metadata(file).ok().map(|metadata| State::of(&metadata)))
}

impl State {
    fn of(metadata: &Metadata) -> Self {
        Self { modified: metadata.modified().ok(), length: metadata.len(), number: number(metadata) }
    }
}

/// A file that takes the place of another may have its time and its length.
#[cfg(unix)]
fn number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

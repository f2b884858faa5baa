//! The files of a certificate and its key.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use rustls::sign::CertifiedKey;

use super::current::CurrentCertificate;
use super::error::TlsError;
use super::freshness::Freshness;
use super::pair;

/// Reloads a certificate from its files.
#[derive(Debug)]
pub(super) struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
    current: Arc<CurrentCertificate>,
    freshness: Mutex<Freshness<[Option<FileState>; 2]>>,
}

/// Differs when a file was written or replaced.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl CertificateFiles {
    pub(super) fn open(certificate: PathBuf, key: PathBuf) -> Result<Self, TlsError> {
        // Read before the content, so that a write in between is seen at the first check.
        let state = states(&certificate, &key);
        let pair = read(&certificate, &key)?;
        let (current, freshness) = (Arc::new(CurrentCertificate::new(pair)), Mutex::new(Freshness::new(state)));
        Ok(Self { certificate, key, current, freshness })
    }

    pub(super) fn current(&self) -> &Arc<CurrentCertificate> {
        &self.current
    }

    /// Replaces the certificate if the files have changed and hold a usable pair.
    pub(super) fn reload(&self) {
        let state = states(&self.certificate, &self.key);
        let is_due = self.freshness.lock().unwrap_or_else(PoisonError::into_inner).check(Instant::now(), state);
        if !is_due {
            return;
        }
        match read(&self.certificate, &self.key) {
            Ok(pair) => {
                self.current.replace(pair);
                tracing::info!("certificate reloaded from {}", self.certificate.display());
            }
            Err(error) => tracing::error!("cannot use the changed certificate, keeping the previous one: {error}"),
        }
    }
}

fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let text = |file: &Path| fs::read(file).map_err(|error| TlsError::Unreadable { file: file.to_owned(), error });
    let (first, second) = (text(certificate)?, text(key)?);
    pair::read(&first, &second, &certificate.display().to_string(), &key.display().to_string())
}

fn states(certificate: &Path, key: &Path) -> [Option<FileState>; 2] {
    [certificate, key].map(|file| fs::metadata(file).ok().map(|metadata| FileState::of(&metadata)))
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        Self { modified: metadata.modified().ok(), length: metadata.len(), inode: inode(metadata) }
    }
}

/// Distinguishes a file from its replacement with the same time and length.
#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

//! `--store`: the sessions that several servers share.

use std::path::PathBuf;
use std::time::Duration;

use protomcp_redis::{SealingKeys, StoreOptions, StoreUrl};

use crate::exit::Failure;

/// The time for which the store keeps a session after its last use, beyond the time after which servers close it.
const MARGIN: Duration = Duration::from_secs(300);

/// A store, and the keys that seal what is in it.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) url: StoreUrl,
    pub(crate) keys: SealingKeys,
    pub(crate) options: StoreOptions,
}

impl Store {
    /// The store at this URL. No error shows it, because it may have a password.
    pub(super) fn new(url: &str, key_files: &[PathBuf], session_idle: Duration) -> Result<Self, Failure> {
        let url = url.parse().map_err(|error| Failure::usage(format!("invalid --store: {error}")))?;
        let keys: Result<Vec<_>, _> = key_files.iter().map(|path| SealingKeys::from_file(path)).collect();
        let keys = keys.map_err(|error| Failure::usage(format!("invalid --sealing-key-file: {error}")))?;
        let Some(keys) = keys.into_iter().reduce(SealingKeys::and) else {
            let how = "head -c 32 /dev/urandom > FILE, and chmod 600 FILE";
            return Err(Failure::usage(format!(
                "--store needs --sealing-key-file FILE with one key for all servers, which seals what is in the store: {how}"
            )));
        };
        Ok(Self { url, keys, options: StoreOptions::default().with_keep(session_idle.saturating_add(MARGIN)) })
    }
}

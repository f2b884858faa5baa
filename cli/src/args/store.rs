//! `--store`: the sessions that several servers share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use protomcp_http::{HopKeys, Replicas};
use protomcp_redis::{SealingKeys, StoreOptions, StoreUrl};
use protomcp_server::KeyFileError;

use crate::exit::Failure;

/// The time for which the store keeps a session after its last use, beyond the time after which servers close it.
const MARGIN: Duration = Duration::from_secs(300);

/// A store, and the keys that seal what is in it.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) url: StoreUrl,
    pub(crate) keys: SealingKeys,
    pub(crate) options: StoreOptions,
    /// The name of this server for people.
    pub(crate) name: Option<String>,
    pub(crate) replica: Option<Replica>,
}

/// A server that the other ones reach.
#[derive(Debug)]
pub(crate) struct Replica {
    /// With port 0 in place of the one on which the server listens.
    pub(crate) url: Uri,
    pub(crate) keys: HopKeys,
}

impl Store {
    /// The store at this URL, and the URL and the name of the server itself. No error shows the first, because it may have a password.
    pub(super) fn new(
        url: &str,
        key_files: &[PathBuf],
        session_idle: Duration,
        replica: Option<&str>,
        name: Option<&str>,
    ) -> Result<Self, Failure> {
        let url = url.parse().map_err(|error| Failure::usage(format!("invalid --store: {error}")))?;
        let Some(keys) = keys(key_files, SealingKeys::from_file, SealingKeys::and)? else {
            let how = "head -c 32 /dev/urandom > FILE, and chmod 600 FILE";
            return Err(Failure::usage(format!(
                "--store needs --sealing-key-file FILE with one key for all servers, which seals what is in the store: {how}"
            )));
        };
        let hop_keys = keys_of_hops(key_files)?;
        let replica = replica.map(uri).transpose()?.zip(hop_keys).map(|(url, keys)| Replica { url, keys });
        let options = StoreOptions::default().with_keep(session_idle.saturating_add(MARGIN));
        Ok(Self { url, keys, options, name: name.map(str::to_owned), replica })
    }

    /// The most open files that it needs in addition to the ones of other servers.
    pub(crate) fn open_files(&self) -> u64 {
        self.replica.as_ref().map_or(0, |_| Replicas::OPEN_FILES)
    }
}

fn keys_of_hops(files: &[PathBuf]) -> Result<Option<HopKeys>, Failure> {
    keys(files, HopKeys::from_file, HopKeys::and)
}

/// The keys of the files, the first one first.
fn keys<K>(
    files: &[PathBuf],
    read: impl Fn(&Path) -> Result<K, KeyFileError>,
    and: impl Fn(K, K) -> K,
) -> Result<Option<K>, Failure> {
    let keys: Result<Vec<_>, _> = files.iter().map(|path| read(path)).collect();
    let keys = keys.map_err(|error| Failure::usage(format!("invalid --sealing-key-file: {error}")))?;
    Ok(keys.into_iter().reduce(and))
}

/// The URL of a server, without a query.
fn uri(url: &str) -> Result<Uri, Failure> {
    let uri = url.parse::<Uri>().ok().filter(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.query().is_none()
            && uri.path() != "/mcp"
            && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
    });
    uri.ok_or_else(|| {
        Failure::usage(format!("invalid --replica-url \"{url}\": expected a URL such as http://10.0.0.7:8080"))
    })
}

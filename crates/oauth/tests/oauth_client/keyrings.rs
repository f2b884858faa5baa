//! Credentials in a keyring, and in files where it does not work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_oauth::{BoxFuture, Credentials, FileTokenStore, Keyring, KeyringTokenStore, StoreError, TokenStore};
use tempfile::TempDir;

use super::stores::{A, B, check, credentials, received};

const ISSUER: &str = "https://login.example.com";

/// A keyring in memory, which can fail.
#[derive(Clone, Default)]
struct Secrets {
    secrets: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    fault: Arc<Mutex<Fault>>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Fault {
    #[default]
    None,
    /// There is none.
    Absent,
    /// A user does not unlock it.
    Silent,
    /// It takes no secret, because it is too long for example.
    Full,
}

impl Secrets {
    fn fail(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn count(&self) -> usize {
        self.secrets.lock().unwrap().len()
    }

    fn answer<T: Send + 'static>(
        &self,
        is_write: bool,
        work: impl FnOnce(&mut HashMap<String, Vec<u8>>) -> T,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let fails = |why: &str| Err(StoreError(why.to_owned()));
        let answer = match *self.fault.lock().unwrap() {
            Fault::Silent => return Box::pin(std::future::pending()),
            Fault::Absent => fails("no keyring"),
            Fault::Full if is_write => fails("too long"),
            Fault::Full | Fault::None => Ok(work(&mut self.secrets.lock().unwrap())),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Keyring for Secrets {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        self.answer(false, |secrets| secrets.get(name).cloned())
    }

    fn set<'a>(&'a self, name: &'a str, secret: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.answer(true, |secrets| drop(secrets.insert(name.to_owned(), secret.to_vec())))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.answer(true, |secrets| drop(secrets.remove(name)))
    }
}

/// A store, its keyring, and the directory of its files.
struct Stage {
    store: KeyringTokenStore,
    secrets: Secrets,
    directory: TempDir,
}

impl Stage {
    fn new() -> Self {
        Self::with(Secrets::default(), tempfile::tempdir().unwrap())
    }

    fn with(secrets: Secrets, directory: TempDir) -> Self {
        let files = FileTokenStore::new(directory.path().join("tokens"));
        Self { store: KeyringTokenStore::new(secrets.clone(), files), secrets, directory }
    }

    /// The same keyring and files for the next start of the program.
    fn restart(self) -> Self {
        Self::with(self.secrets, self.directory)
    }

    fn files(&self) -> usize {
        let files = std::fs::read_dir(self.directory.path().join("tokens"));
        let is_json = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".json");
        files.map_or(0, |files| files.filter(|file| is_json(&file.as_ref().unwrap().file_name())).count())
    }
}

#[tokio::test]
async fn a_keyring_keeps_credentials_as_files_do() {
    let stage = Stage::new();
    check(&stage.store).await;
    assert_eq!((stage.secrets.count(), stage.files()), (2, 0), "a secret for each server, and no file");
    let stage = stage.restart();
    assert_eq!((received(&stage.store, A).await, received(&stage.store, B).await), (vec![2], vec![3]));
    for (resource, issuer) in [(A, "https://login.example.com/"), (B, ISSUER)] {
        stage.store.remove(&credentials(issuer, resource, 0)).await.unwrap();
    }
    assert_eq!(stage.secrets.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_a_keyring_there_are_files() {
    for fault in [Fault::Absent, Fault::Silent, Fault::Full] {
        let stage = Stage::new();
        stage.secrets.fail(fault);
        check(&stage.store).await;
        assert_eq!((stage.secrets.count(), stage.files()), (0, 2));
        // It is asked no further, also when it would take long.
        let start = tokio::time::Instant::now();
        received(&stage.store, A).await;
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}

#[tokio::test]
async fn the_newest_credentials_count_wherever_they_are() {
    let stage = Stage::new();
    stage.store.store(&credentials(ISSUER, A, 1)).await.unwrap();
    stage.secrets.fail(Fault::Full);
    stage.store.store(&credentials(ISSUER, A, 2)).await.unwrap();
    assert_eq!((stage.secrets.count(), stage.files()), (1, 1));
    let stage = stage.restart();
    assert_eq!(received(&stage.store, A).await, [2], "the file is newer");
    stage.secrets.fail(Fault::None);
    stage.store.store(&credentials(ISSUER, A, 3)).await.unwrap();
    assert_eq!((received(&stage.store, A).await, stage.files()), (vec![3], 0), "the file is of no more use");
    // Credentials that stay in the keyring are not reported as removed.
    stage.secrets.fail(Fault::Full);
    stage.store.remove(&credentials(ISSUER, A, 3)).await.unwrap_err();
}

#[tokio::test]
async fn what_others_put_into_a_keyring_is_not_believed() {
    let of_b = serde_json::to_vec(&[credentials(ISSUER, B, 1)]).unwrap();
    for secret in [&b"no JSON"[..], b"{}", b"[5]", b"", &of_b, &[b'x'; 1_000_000]] {
        let stage = Stage::new();
        stage.store.store(&credentials(ISSUER, A, 1)).await.unwrap();
        stage.secrets.secrets.lock().unwrap().values_mut().for_each(|known| *known = secret.to_vec());
        assert_eq!(received(&stage.store, A).await, [0; 0]);
        stage.store.store(&credentials(ISSUER, A, 2)).await.unwrap();
        assert_eq!((received(&stage.store, A).await, stage.files()), (vec![2], 0));
    }
}

#[tokio::test]
async fn the_issuers_of_a_server_are_bounded() {
    let stage = Stage::new();
    for number in 1..=20 {
        stage.store.store(&credentials(&format!("https://{number}.example.com"), A, number)).await.unwrap();
    }
    let known = stage.store.list(A).await.unwrap();
    assert_eq!(known.iter().map(Credentials::received).collect::<Vec<_>>(), (13..=20).rev().collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn programs_with_one_keyring_take_turns() {
    let stage = Stage::new();
    let guard = stage.store.lock(A).await.unwrap();
    let other = FileTokenStore::new(stage.directory.path().join("tokens"));
    other.lock(A).await.unwrap_err();
    drop(guard);
    other.lock(A).await.unwrap();
}

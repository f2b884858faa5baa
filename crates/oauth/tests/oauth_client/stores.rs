//! Credentials in memory and in files.

use std::fs;
use std::time::{Duration, SystemTime};

use protomcp_oauth::{
    ClientSecret, ConfiguredClient, Credentials, FileTokenStore, LoopbackUserAgent, MemoryTokenStore, OAuthClient,
    OAuthConfig, TokenStore, Url,
};
use protomcp_testing::in_time;
use serde_json::json;

use super::servers::World;

pub(crate) const A: &str = "https://a.example.com/mcp";
pub(crate) const B: &str = "https://b.example.com/mcp";

pub(crate) fn credentials(issuer: &str, resource: &str, received: u64) -> Credentials {
    serde_json::from_value(json!({
        "issuer": issuer,
        "resource": resource,
        "client": {"id": "c", "source": "registered", "auth_method": "none"},
        "token_endpoint": "https://login.example.com/token",
        "token": {"access_token": format!("t{received}"), "kind": "bearer", "received": received},
    }))
    .unwrap()
}

pub(crate) async fn received(store: &impl TokenStore, resource: &str) -> Vec<u64> {
    store.list(resource).await.unwrap().iter().map(Credentials::received).collect()
}

pub(crate) async fn check(store: &impl TokenStore) {
    let slash = "https://login.example.com/";
    for known in [
        credentials("https://login.example.com", A, 1),
        credentials(slash, A, 2),
        credentials("https://login.example.com", B, 3),
        credentials("https://login.example.com", A, 4),
    ] {
        store.store(&known).await.unwrap();
    }
    assert_eq!(received(store, A).await, [4, 2], "issuers are compared as texts");
    assert_eq!(received(store, B).await, [3]);
    assert_eq!(received(store, "https://a.example.com/").await, [0; 0]);
    for _ in 0..2 {
        store.remove(&credentials("https://login.example.com", A, 9)).await.unwrap();
    }
    assert_eq!(received(store, A).await, [2]);
    assert_eq!(received(store, B).await, [3]);
}

#[tokio::test]
async fn stores_keep_one_token_for_each_issuer_and_server() {
    check(&MemoryTokenStore::default()).await;
    let directory = tempfile::tempdir().unwrap();
    check(&FileTokenStore::new(directory.path().join("not/yet/there"))).await;
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_readable_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("tokens");
    let store = FileTokenStore::new(&directory);
    for received in 0..3 {
        store.store(&credentials("https://login.example.com", A, received)).await.unwrap();
    }
    let _guard = store.lock(A).await.unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    let files: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "the token and the lock, and no draft: {files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn what_a_killed_program_was_writing_is_removed_later() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileTokenStore::new(directory.path());
    store.store(&credentials("https://login.example.com", A, 1)).await.unwrap();
    let draft = |name: &str, age: u64| {
        let path = directory.path().join(name);
        let written = SystemTime::now() - Duration::from_secs(age);
        fs::File::create(&path).and_then(|file| file.set_modified(written)).unwrap();
        path
    };
    let (old, new) = (draft(".abc.tmp", 61), draft(".def.tmp", 10));
    let (other, future) = (draft("mine.tmp", 3600), draft(".ghi.tmp", 0));
    fs::File::options()
        .write(true)
        .open(&future)
        .unwrap()
        .set_modified(SystemTime::now() + Duration::from_secs(99))
        .unwrap();
    assert_eq!(received(&store, A).await, [1]);
    assert_eq!([old, new, other, future].map(|path| path.exists()), [false, true, true, true]);
}

/// A user who may write to the directory can put credentials of another issuer there.
#[cfg(unix)]
#[tokio::test]
async fn a_directory_that_others_may_write_to_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let store = FileTokenStore::new(directory.path());
    let known = credentials("https://login.example.com", A, 1);
    store.store(&known).await.unwrap();
    for (mode, is_private) in [(0o700, true), (0o755, true), (0o770, false), (0o702, false), (0o1777, false)] {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(store.list(A).await.is_ok(), is_private, "{mode:o}");
        assert_eq!(store.store(&known).await.is_ok(), is_private, "{mode:o}");
        assert_eq!(store.lock(A).await.is_ok(), is_private, "{mode:o}");
        assert_eq!(store.remove(&credentials("https://other.example.com", A, 1)).await.is_ok(), is_private, "{mode:o}");
    }
    let error = store.list(A).await.unwrap_err().to_string();
    assert!(error.contains("chmod"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_regular_files_of_the_store_are_opened() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileTokenStore::new(directory.path());
    store.store(&credentials("https://login.example.com", A, 1)).await.unwrap();
    let file = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("target");
    fs::rename(&file, &target).unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    assert_eq!(received(&store, A).await, [0; 0]);
    fs::remove_file(&file).unwrap();
    // The opening of a pipe would wait for a writer.
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    assert_eq!(in_time(received(&store, A)).await.unwrap(), [0; 0]);
    drop(store.lock(A).await.unwrap());
    let lock = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let lock = lock.into_iter().find(|path| path.extension().is_some_and(|end| end == "lock")).unwrap();
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("new"), &lock).unwrap();
    assert!(store.lock(A).await.is_err());
    assert!(!elsewhere.path().join("new").exists());
}

#[tokio::test]
async fn a_file_holds_the_credentials_that_its_name_says() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileTokenStore::new(directory.path());
    let file = || fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    store.store(&credentials("https://login.example.com", A, 1)).await.unwrap();
    let (first, text) = (file(), fs::read(file()).unwrap());
    store.remove(&credentials("https://login.example.com", A, 1)).await.unwrap();
    store.store(&credentials("https://other.example.com", A, 2)).await.unwrap();
    fs::write(file(), text).unwrap();
    assert!(!first.exists());
    assert_eq!(received(&store, A).await, [0; 0]);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileTokenStore::new(directory.path());
    store.store(&credentials("https://login.example.com", A, 1)).await.unwrap();
    let file = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    for bad in ["", "{}", "{\"issuer\":"] {
        fs::write(&file, bad).unwrap();
        assert_eq!(received(&store, A).await, [0; 0]);
    }
    // A file that was copied under another name is not taken for it.
    fs::write(&file, serde_json::to_string(&credentials("https://login.example.com", B, 5)).unwrap()).unwrap();
    assert_eq!(received(&store, A).await, [0; 0]);
    store.store(&credentials("https://login.example.com", A, 6)).await.unwrap();
    assert_eq!(received(&store, A).await, [6]);
}

#[tokio::test]
async fn a_failed_write_leaves_the_old_token() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileTokenStore::new(directory.path());
    store.store(&credentials("https://login.example.com", A, 1)).await.unwrap();
    // A directory in place of the file makes the last step fail.
    let file = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    fs::write(file.join("inside"), &kept).unwrap();
    assert!(store.store(&credentials("https://login.example.com", A, 2)).await.is_err());
    assert_eq!(fs::read(file.join("inside")).unwrap(), kept);
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no draft is left: {left:?}");
}

#[tokio::test]
async fn a_lock_excludes_others_until_it_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (FileTokenStore::new(directory.path()), FileTokenStore::new(directory.path()));
    let guard = one.lock(A).await.unwrap();
    drop(other.lock(B).await.unwrap());
    let mut waiting = std::pin::pin!(other.lock(A));
    let first = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_ready())).await;
    assert!(!first);
    drop(guard);
    waiting.await.unwrap();
}

/// A store may hold credentials that another configuration has left.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_another_issuer_or_client_are_not_used() {
    let world = World::start().await;
    for (issuer, id, source) in [
        (&world.stranger.url, "c", "configured"),
        (&world.issuer.url, "another", "configured"),
        (&world.issuer.url, "c", "registered"),
    ] {
        for (life, valid) in [(0, "expired"), (u64::MAX, "valid")] {
            let store = MemoryTokenStore::default();
            let known: Credentials = serde_json::from_value(json!({
                "issuer": issuer,
                "resource": world.server_url(),
                "client": {"id": id, "source": source, "auth_method": "client_secret_basic"},
                "token_endpoint": format!("{}/token", world.stranger.url),
                "token": {
                    "access_token": "old", "kind": "bearer", "received": 1, "expires": life, "refresh_token": "r-old",
                },
            }))
            .unwrap();
            store.store(&known).await.unwrap();
            let secret = ClientSecret::Secret("s3cret".to_owned());
            let config = OAuthConfig::new(&world.server_url())
                .unwrap()
                .client(ConfiguredClient::new("c", secret))
                .issuer(Url::parse(&world.issuer.url).unwrap());
            let agent = LoopbackUserAgent::default().browser(world.browser.clone());
            let client = OAuthClient::builder(config).store(store).user_agent(agent).build();
            assert_eq!(world.call(&client).await, Ok(200), "{issuer} {id} {source} {valid}");
            world.check_destinations();
            let old = world.mcp.log().iter().any(|request| request.authorization() == Some("Bearer old"));
            assert!(!old, "{issuer} {id} {source} {valid}");
        }
    }
}

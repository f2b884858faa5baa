//! The resolver against a registry in this process, over TLS.

#[cfg(feature = "validation")]
mod corpus;
mod stand_in;

use std::future::Future as _;
use std::task::{Context, Waker};
use std::time::Duration;

use protomcp_descriptors::SchemaRef;
use protomcp_descriptors::registry::{CacheTimes, Cause, Credentials, ModuleVersion, Pin, Resolver};
use protomcp_testing::{in_time, patience};
use stand_in::{APIS, Fault, StandIn, TOKEN, host, one_message};

const COMMIT: &str = "0123456789abcdef0123456789abcdef";

/// Times that make everything stale immediately.
const NEVER_FRESH: CacheTimes = CacheTimes {
    fresh: Duration::ZERO,
    stale: Duration::from_secs(600),
    failed: Duration::ZERO,
    unavailable: Duration::ZERO,
};

fn reference(version: &str) -> SchemaRef {
    format!("registry.test/acme/tools/acme.v1.Request:{version}").parse().expect("a reference")
}

fn key(version: &str) -> ModuleVersion {
    ModuleVersion::from(&reference(version))
}

/// The kind of failure of one resolution.
async fn cause(resolver: &Resolver, version: &str) -> Cause {
    resolver.resolve(&reference(version)).await.expect_err("it fails").cause()
}

/// The name of the field of the message, which tells versions apart.
async fn field(resolver: &Resolver, version: &str) -> String {
    let message = resolver.resolve(&reference(version)).await.unwrap_or_else(|error| panic!("{version}: {error}"));
    let json = message.decode(b"\x0a\x01x", &Default::default()).expect("a message");
    let json = json.to_json(Default::default(), &Default::default()).expect("JSON");
    json.split('"').nth(1).expect("there is a key").to_owned()
}

#[tokio::test]
async fn both_interfaces_and_both_encodings_resolve() {
    for (api, codec) in APIS {
        let registry = StandIn::start().await;
        let resolver = registry.resolver().api(api, codec).build();
        assert_eq!(field(&resolver, "v1").await, "query", "{api:?} {codec:?}");
        assert_eq!(resolver.commit(&key("v1")).as_deref(), Some(COMMIT), "{api:?} {codec:?}");
        let seen = registry.seen();
        let body = String::from_utf8_lossy(&seen[0].body);
        assert!(body.contains("acme") && body.contains("tools") && body.contains("v1"), "{body}");
        assert_eq!(seen[0].authorization, None);
    }
}

#[tokio::test]
async fn hosts_that_are_not_allowed_are_not_contacted() {
    let registry = StandIn::start().await;
    let resolver = registry.resolver().build();
    let other = "other.test/acme/tools/acme.v1.Request:v1".parse().expect("a reference");
    let refused = resolver.resolve(&other).await.expect_err("it is not allowed");
    assert_eq!(refused.cause(), Cause::InvalidRef);
    assert!(registry.seen().is_empty());
}

#[tokio::test]
async fn tokens_are_sent_to_their_registry_only() {
    for (credentials, expected) in [
        (Credentials::anonymous().buf_token(TOKEN), true),
        (Credentials::anonymous().buf_token(&format!("other@buf.build,{TOKEN}@registry.test")), true),
        (Credentials::anonymous().buf_token(&format!("{TOKEN}@buf.build")), false),
        (Credentials::anonymous().netrc(&format!("machine registry.test\n login me\n password {TOKEN}\n")), true),
        (Credentials::anonymous().netrc(&format!("machine buf.build login me password {TOKEN}")), false),
        (Credentials::anonymous().buf_token("wrong"), false),
    ] {
        let registry = StandIn::start().await;
        registry.order(|orders| orders.wants_token = true);
        let resolver = registry.resolver().credentials(credentials).build();
        let resolved = resolver.resolve(&reference("v1")).await;
        assert_eq!(resolved.is_ok(), expected);
        let shown = format!("{resolver:?} {resolved:?}");
        assert!(!shown.contains(TOKEN), "{shown}");
        if let Err(error) = resolved {
            assert_eq!(error.cause(), Cause::Unauthenticated);
        }
    }
}

#[tokio::test]
async fn failures_are_told_apart() {
    for (fault, expected) in [
        (Fault::Status(404, "not_found"), Cause::NotFound),
        (Fault::Status(400, "failed_precondition"), Cause::NotFound),
        (Fault::Status(401, "unauthenticated"), Cause::Unauthenticated),
        (Fault::Status(403, "permission_denied"), Cause::Unauthenticated),
        (Fault::Status(400, "invalid_argument"), Cause::InvalidRef),
        (Fault::Status(302, ""), Cause::Unavailable),
        (Fault::Html, Cause::InvalidSchema),
        (Fault::Garbage, Cause::InvalidSchema),
        (Fault::Truncated, Cause::Unavailable),
        (Fault::Silence, Cause::Unavailable),
        (Fault::RetryAfter(429, 3600), Cause::RateLimited),
        (Fault::RetryAfter(429, u64::MAX), Cause::RateLimited),
        (Fault::Status(503, "unavailable"), Cause::Unavailable),
    ] {
        let registry = StandIn::start().await;
        registry.order(|orders| orders.always = Some(fault.clone()));
        // Only a registry that is not available is waited for, and an answer that comes too late has the same cause.
        let (attempt, all) = match expected {
            Cause::Unavailable => (Duration::from_millis(500), Duration::from_millis(1200)),
            _ => (patience(), patience()),
        };
        let resolver = registry.resolver().timeouts(attempt, all).build();
        assert_eq!(cause(&resolver, "v1").await, expected, "{fault:?}");
    }
}

#[tokio::test]
async fn temporary_failures_are_tried_again() {
    let registry = StandIn::start().await;
    let faults = [Fault::Status(500, ""), Fault::Status(503, "unavailable"), Fault::RetryAfter(429, 1)];
    registry.order(|orders| orders.faults.extend(faults));
    let resolver = registry.resolver().build();
    let started = std::time::Instant::now();
    assert_eq!(field(&resolver, "v1").await, "query");
    assert!(started.elapsed() >= Duration::from_secs(1), "Retry-After is honoured");
    assert_eq!(registry.seen().len(), 4);
}

#[tokio::test]
async fn a_hundred_misses_are_one_request() {
    let registry = StandIn::start().await;
    registry.order(|orders| orders.latency = Duration::from_millis(100));
    let resolver = registry.resolver().build();
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let resolver = resolver.clone();
            tokio::spawn(async move { field(&resolver, "v1").await })
        })
        .collect();
    // A caller that goes away stops nothing.
    tasks[0].abort();
    for task in tasks.into_iter().skip(1) {
        assert_eq!(task.await.expect("it resolves"), "query");
    }
    assert_eq!(registry.seen().len(), 1);
}

#[tokio::test]
async fn messages_of_one_module_share_a_request() {
    let registry = StandIn::start().await;
    let resolver = registry.resolver().build();
    assert_eq!(field(&resolver, "v1").await, "query");
    let missing = "registry.test/acme/tools/acme.v1.Missing:v1".parse().expect("a reference");
    assert_eq!(resolver.resolve(&missing).await.expect_err("not there").cause(), Cause::NotFound);
    assert_eq!(registry.seen().len(), 1);
}

#[tokio::test]
async fn a_moved_label_is_noticed_and_a_commit_is_fetched_once() {
    let registry = StandIn::start().await;
    let resolver = registry.resolver().cache_times(NEVER_FRESH).build();
    assert_eq!(field(&resolver, "main").await, "query");
    assert_eq!(field(&resolver, "main").await, "query");
    let seen = registry.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].if_none_match, Some(format!("\"{COMMIT}\"")), "it is revalidated");
    registry.order(|orders| (orders.commit, orders.set) = ("f".repeat(32), one_message("phrase")));
    assert_eq!(field(&resolver, "main").await, "phrase");
    assert_eq!(resolver.commit(&key("main")), Some("f".repeat(32)));

    for _ in 0..3 {
        assert_eq!(field(&resolver, COMMIT).await, "phrase");
    }
    assert_eq!(registry.seen().len(), 4);
}

#[tokio::test]
async fn an_old_schema_serves_while_the_registry_fails() {
    let registry = StandIn::start().await;
    let quick = (Duration::from_millis(300), Duration::from_millis(300));
    let resolver = registry.resolver().cache_times(NEVER_FRESH).timeouts(quick.0, quick.1).build();
    assert_eq!(field(&resolver, "main").await, "query");
    registry.order(|orders| orders.always = Some(Fault::Status(503, "unavailable")));
    assert_eq!(field(&resolver, "main").await, "query");
    // The registry knows that the label is gone: that is not a failure to cover up.
    registry.order(|orders| orders.always = Some(Fault::Status(404, "not_found")));
    assert_eq!(cause(&resolver, "main").await, Cause::NotFound);

    let short = CacheTimes { stale: Duration::ZERO, ..NEVER_FRESH };
    let strict = registry.resolver().cache_times(short).timeouts(quick.0, quick.1).build();
    registry.order(|orders| orders.always = None);
    assert_eq!(field(&strict, "main").await, "query");
    registry.order(|orders| orders.always = Some(Fault::Status(503, "unavailable")));
    assert_eq!(cause(&strict, "main").await, Cause::Unavailable, "it ends");
}

/// Times by which a schema is old immediately, and a failure is remembered.
const OLD: CacheTimes = CacheTimes { unavailable: Duration::from_secs(600), ..NEVER_FRESH };

#[tokio::test]
async fn an_old_schema_on_disk_serves_and_the_failure_is_remembered() {
    for fault in [Fault::Status(503, "unavailable"), Fault::Html, Fault::Garbage] {
        let registry = StandIn::start().await;
        let folder = tempfile::tempdir().expect("a folder");
        let quick = Duration::from_millis(300);
        let times = CacheTimes { failed: OLD.unavailable, ..OLD };
        let build =
            || registry.resolver().cache_times(times).timeouts(quick, quick).disk(folder.path(), 1 << 20).build();
        assert_eq!(field(&build(), "main").await, "query");
        registry.order(|orders| orders.always = Some(fault.clone()));
        let restarted = build();
        assert_eq!(field(&restarted, "main").await, "query", "{fault:?}");
        let asked = registry.seen().len();
        for _ in 0..3 {
            assert_eq!(field(&restarted, "main").await, "query", "{fault:?}");
        }
        assert_eq!(registry.seen().len(), asked, "{fault:?}: the registry is not asked again immediately");
    }
}

#[tokio::test]
async fn a_schema_that_is_confirmed_is_written_to_disk_again() {
    let registry = StandIn::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let resolver = registry.resolver().cache_times(NEVER_FRESH).disk(folder.path(), 1 << 20).build();
    assert_eq!(field(&resolver, "main").await, "query");
    let files = || std::fs::read_dir(folder.path()).expect("it is there").flatten().collect::<Vec<_>>();
    std::fs::remove_file(files()[0].path()).expect("it is there");
    assert_eq!(field(&resolver, "main").await, "query");
    assert!(registry.seen()[1].if_none_match.is_some(), "it is confirmed");
    assert_eq!(files().len(), 1);
}

#[tokio::test]
async fn old_schemas_serve_while_the_registry_is_silent() {
    let registry = StandIn::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let long = 3 * patience();
    let build = || registry.resolver().cache_times(OLD).timeouts(long, long).disk(folder.path(), 1 << 20).build();
    let running = build();
    assert_eq!(field(&running, "main").await, "query");
    registry.order(|orders| orders.always = Some(Fault::Silence));
    for resolver in [running, build()] {
        let answered = async {
            for _ in 0..10 {
                assert_eq!(field(&resolver, "main").await, "query");
            }
        };
        in_time(answered).await.expect("the old schema serves");
    }
    assert_eq!(registry.seen().len(), 3, "each asks once");
}

/// Asks for a schema when it is dropped, once.
struct AsksAtTheEnd(Resolver);

impl Drop for AsksAtTheEnd {
    fn drop(&mut self) {
        let key = key("v1");
        let asking = std::pin::pin!(self.0.schema(&key));
        let _ = asking.poll(&mut Context::from_waker(Waker::noop()));
    }
}

#[test]
fn asking_while_the_runtime_ends_blocks_nothing() {
    let (ended, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let asks = AsksAtTheEnd(Resolver::builder().allow(host()).build());
        runtime.block_on(async {
            tokio::spawn(async move {
                let _asks = asks;
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
        });
        drop(runtime);
        ended.send(()).expect("the test waits");
    });
    wait.recv_timeout(patience()).expect("the runtime ends");
}

#[tokio::test]
async fn failures_are_remembered_for_a_while() {
    let registry = StandIn::start().await;
    registry.order(|orders| orders.always = Some(Fault::Status(404, "not_found")));
    let resolver = registry.resolver().build();
    for _ in 0..3 {
        assert_eq!(cause(&resolver, "v1").await, Cause::NotFound);
    }
    assert_eq!(registry.seen().len(), 1);
}

#[tokio::test]
async fn schemas_survive_a_restart_on_disk() {
    let registry = StandIn::start().await;
    registry.order(|orders| orders.wants_token = true);
    let folder = tempfile::tempdir().expect("a folder");
    let build = |times| {
        let credentials = Credentials::anonymous().buf_token(TOKEN);
        registry.resolver().credentials(credentials).cache_times(times).disk(folder.path(), 1 << 20).build()
    };
    assert_eq!(field(&build(CacheTimes::default()), "main").await, "query");
    assert_eq!(field(&build(CacheTimes::default()), "main").await, "query");
    assert_eq!(registry.seen().len(), 1, "the second process asks nothing");
    assert_eq!(field(&build(NEVER_FRESH), "main").await, "query");
    assert_eq!(registry.seen()[1].if_none_match, Some(format!("\"{COMMIT}\"")));

    let files: Vec<_> = std::fs::read_dir(folder.path()).expect("it is there").flatten().collect();
    assert_eq!(files.len(), 1);
    let kept = std::fs::read(files[0].path()).expect("it is there");
    assert!(!String::from_utf8_lossy(&kept).contains(TOKEN));
    std::fs::write(files[0].path(), &kept[..kept.len() / 2]).expect("written");
    assert_eq!(field(&build(CacheTimes::default()), "main").await, "query");
    assert_eq!(registry.seen().len(), 3, "a damaged file is fetched again");

    registry.order(|orders| orders.always = Some(Fault::Status(401, "unauthenticated")));
    assert_eq!(field(&build(CacheTimes::default()), "main").await, "query", "fresh");
}

#[tokio::test]
async fn keys_can_be_pinned() {
    let registry = StandIn::start().await;
    let own = Pin::of_certificate(&registry.certificate).expect("a certificate");
    let other: Pin = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".parse().expect("a pin");
    for (pins, expected) in [(vec![own, other], true), (vec![other], false)] {
        let resolver = Resolver::builder()
            .allow_at(host(), registry.endpoint().pins(pins))
            .timeouts(Duration::from_secs(2), Duration::from_secs(2))
            .build();
        assert_eq!(resolver.resolve(&reference("v1")).await.is_ok(), expected);
    }
    assert_eq!(registry.seen().len(), 1, "nothing is sent to a server with another key");
}

#[tokio::test]
async fn a_registry_has_to_prove_its_name_with_tls_1_3() {
    let short = (Duration::from_secs(2), Duration::from_secs(2));
    let registry = StandIn::start().await;
    let stranger = StandIn::start().await;
    let endpoint = stranger.endpoint().address(registry.address);
    let resolver = Resolver::builder().allow_at(host(), endpoint).timeouts(short.0, short.1).build();
    assert_eq!(cause(&resolver, "v1").await, Cause::Unavailable);

    let old = StandIn::start_with(&[&rustls::version::TLS12]).await;
    let resolver = old.resolver().timeouts(short.0, short.1).build();
    assert_eq!(cause(&resolver, "v1").await, Cause::Unavailable);
    assert!(registry.seen().is_empty() && old.seen().is_empty());
}

#[tokio::test]
async fn requests_keep_the_pace_of_the_registry() {
    let registry = StandIn::start().await;
    let resolver =
        Resolver::builder().allow_at(host(), registry.endpoint()).pace(2, Duration::from_millis(200)).build();
    let started = std::time::Instant::now();
    for version in ["v1", "v2", "v3", "v4"] {
        assert_eq!(field(&resolver, version).await, "query");
    }
    assert!(started.elapsed() >= Duration::from_millis(400), "{:?}", started.elapsed());
}

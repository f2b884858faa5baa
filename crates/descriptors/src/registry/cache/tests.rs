//! Tables of lookups over time.

use super::*;
use crate::limits::SchemaLimits;

const SECOND: Duration = Duration::from_secs(1);
const START: Duration = Duration::from_secs(1_000_000);

fn key(version: &str) -> ModuleVersion {
    let module = "buf.build/acme/tools".parse().expect("a module");
    ModuleVersion { module, version: Some(version.parse().expect("a version")) }
}

/// A sound set of 13 bytes: a file `aaaaaaaaa`.
fn fetched(commit: &str) -> Result<Completed, ResolveError> {
    let schema = Schema::decode(b"\x0a\x0b\x0a\x09aaaaaaaaa".as_slice(), &SchemaLimits::default()).expect("a set");
    let etag = Some("\"e\"".to_owned());
    Ok(Completed::New(CachedSchema { schema, commit: commit.to_owned(), etag, age: Duration::ZERO }))
}

fn failed(cause: Cause) -> Result<Completed, ResolveError> {
    Err(ResolveError::new(cause, "x"))
}

fn cache() -> SchemaCache {
    SchemaCache::new(CacheTimes::default(), CacheLimits::default())
}

fn word(lookup: &Lookup) -> &'static str {
    match lookup {
        Lookup::Hit(_) => "hit",
        Lookup::Fetch(_) => "fetch",
        Lookup::Wait => "wait",
        Lookup::Failed(_) => "failed",
    }
}

/// Steps: `?` looks up, `+` completes with a schema, `=` with "not modified", `t` with a temporary failure, `f` with a
/// final one, a number waits for that many seconds.
fn play(version: &str, steps: &str) -> String {
    let (mut cache, mut now, mut seen) = (cache(), START, Vec::new());
    for step in steps.split(' ') {
        let outcome = match step {
            "?" => {
                seen.push(word(&cache.lookup(&key(version), now)).to_owned());
                continue;
            }
            "+" => fetched("c"),
            "=" => Ok(Completed::NotModified { etag: None }),
            "t" => failed(Cause::Unavailable),
            "f" => failed(Cause::NotFound),
            seconds => {
                now += SECOND * seconds.parse().expect("a number");
                continue;
            }
        };
        let ended = cache.complete(&key(version), outcome, now);
        seen.push(if ended.is_ok() { "schema" } else { "error" }.to_owned());
    }
    seen.join(" ")
}

#[test]
fn a_registry_is_asked_again_within_minutes_whatever_it_says() {
    let failure = ResolveError::new(Cause::RateLimited, "x").retry_after(Some(Duration::from_secs(u64::MAX)));
    let mut cache = cache();
    assert_eq!(word(&cache.lookup(&key("main"), START)), "fetch");
    assert!(cache.complete(&key("main"), Err(failure), START).is_err());
    assert_eq!(word(&cache.lookup(&key("main"), START + SECOND * 599)), "failed");
    assert_eq!(word(&cache.lookup(&key("main"), START + SECOND * 600)), "fetch");
}

#[test]
fn times_decide_about_labels() {
    for (steps, seen) in [
        ("? ? + ? 3599 ? 1 ? ? + ?", "fetch wait schema hit hit fetch wait schema hit"),
        ("? + 3600 ? = 3599 ? 1 ?", "fetch schema fetch schema hit fetch"),
        ("? + 3600 ? t ? 4 ? 1 ?", "fetch schema fetch schema hit hit fetch"),
        ("? + 89999 ? t 5 ? t ?", "fetch schema fetch schema fetch error failed"),
        ("? + 3600 ? f ? 30 ?", "fetch schema fetch error failed fetch"),
        ("? f ? 29 ? 1 ?", "fetch error failed failed fetch"),
        ("? t ? 4 ? 1 ?", "fetch error failed failed fetch"),
        ("? t 5 ? + ?", "fetch error fetch schema hit"),
        ("? = ?", "fetch error fetch"),
    ] {
        assert_eq!(play("main", steps), seen, "{steps}");
    }
}

#[test]
fn a_commit_is_fetched_once() {
    assert_eq!(play("0123456789abcdef0123456789abcdef", "? + 999999999 ?"), "fetch schema hit");
}

#[test]
fn a_delay_that_the_registry_asks_for_is_kept() {
    let mut cache = cache();
    let failure = ResolveError::new(Cause::RateLimited, "x").retry_after(Some(SECOND * 60));
    let _ = cache.lookup(&key("v1"), START);
    assert!(cache.complete(&key("v1"), Err(failure), START).is_err());
    assert_eq!(word(&cache.lookup(&key("v1"), START + SECOND * 59)), "failed");
    assert_eq!(word(&cache.lookup(&key("v1"), START + SECOND * 60)), "fetch");
}

#[test]
fn the_next_request_has_the_entity_tag() {
    let mut cache = cache();
    let _ = cache.lookup(&key("v1"), START);
    cache.complete(&key("v1"), fetched("c"), START).expect("a schema");
    let Lookup::Fetch(fetch) = cache.lookup(&key("v1"), START + SECOND * 3600) else { panic!("it is old") };
    assert_eq!(fetch.etag.as_deref(), Some("\"e\""));
}

#[test]
fn what_was_used_least_recently_leaves_first() {
    for limits in [CacheLimits { entries: 2, bytes: 1000 }, CacheLimits { entries: 1000, bytes: 26 }] {
        let mut cache = SchemaCache::new(CacheTimes::default(), limits);
        for version in ["v1", "v2"] {
            let _ = cache.lookup(&key(version), START);
            cache.complete(&key(version), fetched("c"), START).expect("a schema");
        }
        assert_eq!(word(&cache.lookup(&key("v1"), START)), "hit");
        let _ = cache.lookup(&key("v3"), START);
        cache.complete(&key("v3"), fetched("c"), START).expect("a schema");
        let words = ["v1", "v3", "v2"].map(|version| word(&cache.lookup(&key(version), START)));
        assert_eq!(words, ["hit", "hit", "fetch"], "{limits:?}");
    }
}

#[test]
fn clearing_forgets_all_but_what_is_under_way() {
    let mut cache = cache();
    let _ = cache.lookup(&key("v1"), START);
    cache.complete(&key("v1"), fetched("c"), START).expect("a schema");
    let _ = cache.lookup(&key("v2"), START);
    cache.clear();
    assert_eq!(word(&cache.lookup(&key("v1"), START)), "fetch");
    assert_eq!(word(&cache.lookup(&key("v2"), START)), "wait");
}

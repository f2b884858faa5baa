//! URLs that are read, and texts that are refused.

use super::*;

fn read(text: &str) -> StoreUrl {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn urls_name_their_servers() {
    for (text, shown) in [
        ("redis://cache", "redis://cache:6379/0"),
        ("valkey://10.0.0.1:6380/15", "redis://10.0.0.1:6380/15"),
        ("REDISS://[::1]:6380", "rediss://[::1]:6380/0"),
        ("rediss://[2001:db8::1]/3", "rediss://[2001:db8::1]:6379/3"),
        ("redis+unix:///run/redis.sock", "redis+unix:///run/redis.sock?db=0"),
        ("unix:///run/a%20b.sock?db=2", "redis+unix:///run/a b.sock?db=2"),
        ("redis+sentinel://a,b:5000/main", "redis+sentinel://a:26379,b:5000/main/0"),
        ("rediss+sentinel://:p@a/main/4?sentinel_password=q", "rediss+sentinel://a:26379/main/4"),
        ("redis+cluster://u:p@a:7000,b,c:7002/0", "redis+cluster://a:7000,b:6379,c:7002"),
        ("valkeys+cluster://a", "rediss+cluster://a:6379"),
    ] {
        assert_eq!(read(text).to_string(), shown, "{text}");
    }
}

#[test]
fn logins_and_prefixes_are_read() {
    let login = |user: Option<&str>, password: &str| Login {
        user: user.map(str::to_owned),
        password: Some(password.to_owned()),
    };
    for (text, expected) in [
        ("redis://:secret@a", login(None, "secret")),
        ("redis://app:se%40cr%2Fet@a", login(Some("app"), "se@cr/et")),
        ("redis://app:se@cret@a", login(Some("app"), "se@cret")),
        ("redis+unix:///s?user=app&pass=a%26b", login(Some("app"), "a&b")),
        ("redis+unix:///s?pass=c", login(None, "c")),
    ] {
        assert!(read(text).login == expected, "{text}");
    }
    let Place::Sentinels { login: sentinel, .. } =
        read("redis+sentinel://:a@h/m?sentinel_username=u&sentinel_password=b").place
    else {
        panic!("these are sentinels");
    };
    assert!(sentinel == login(Some("u"), "b"));
    assert_eq!(read("redis://a").prefix, "pmcp:");
    assert_eq!(read("redis://a/0?prefix=tools%3Aeu:").prefix, "tools:eu:");
}

#[test]
fn other_texts_are_refused_with_the_form_to_write() {
    for (text, expected) in [
        ("", SCHEME),
        ("cache:6379", SCHEME),
        ("http://cache", SCHEME),
        ("redis-sentinel://a/main", SCHEME),
        ("redis+other://a", SCHEME),
        ("redis://", NO_HOST),
        ("redis:///0", NO_HOST),
        ("redis://:secret@", NO_HOST),
        ("redis://a:0", HOST),
        ("redis://a:99999", HOST),
        ("redis://::1", HOST),
        ("redis://[::1", HOST),
        ("redis://[cache]:1", HOST),
        ("redis://:se/cret@a", HOST),
        ("redis://a b", HOST),
        ("redis+cluster://a,,b", HOST),
        ("redis://a,b", HOSTS),
        ("redis://secret@a", USER),
        ("redis://app:@a", USER),
        ("redis+unix:///s?user=app", USER),
        ("redis://:100%@a", ENCODING),
        ("redis://:%ff@a", ENCODING),
        ("redis://a/one", DATABASE),
        ("redis://a/-1", DATABASE),
        ("redis+unix:///s?db=x", DATABASE),
        ("redis+cluster://a/1", CLUSTER_DATABASE),
        ("redis+sentinel://a", MASTER),
        ("redis+sentinel://a//0", MASTER),
        ("redis+unix://s", SOCKET),
        ("redis+unix:///", SOCKET),
        ("rediss+unix:///s", SOCKET_TLS),
        ("redis://a?timeout=1", PARAMETER),
        ("redis://a?db=1", PARAMETER),
        ("redis://a?sentinel_password=x", PARAMETER),
        ("redis://a?prefix=a&prefix=b", PARAMETER),
        ("redis+unix:///s?sentinel_password=x", PARAMETER),
        ("redis://a?prefix=", BAD_PREFIX),
        ("redis://a?prefix={a}", BAD_PREFIX),
        ("rediss://a/#insecure", FRAGMENT),
    ] {
        assert_eq!(text.parse::<StoreUrl>(), Err(StoreUrlError(expected)), "{text}");
    }
    let long = format!("redis://a?prefix={}", "x".repeat(MAX_PREFIX + 1));
    assert_eq!(long.parse::<StoreUrl>(), Err(StoreUrlError(BAD_PREFIX)));
}

#[test]
fn a_url_shows_no_user_and_no_password() {
    for text in [
        "redis://ann:hunter2@a",
        "redis+unix:///s?user=ann&pass=hunter2",
        "redis+sentinel://ann:hunter2@a/m?sentinel_username=ann&sentinel_password=hunter2",
        "redis+cluster://ann:hunter2@a",
    ] {
        let url = read(text);
        let shown = format!("{url} {url:?} {:?} {:?}", url.place, url.login);
        assert!(!shown.contains("ann") && !shown.contains("hunter2"), "{shown}");
    }
    for text in ["redis://hunter2@a", "redis://:hun/ter2@a", "redis://:hunter2", "hunter2", "redis://a?x=hunter2"] {
        let error = text.parse::<StoreUrl>().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("ter2"), "{text}: {error}");
    }
}

#[test]
fn the_nodes_of_a_cluster_take_turns() {
    for (text, expected) in [
        ("redis+cluster://a:7000,b:7001,c:7002", "redis+cluster://b:7001,c:7002,a:7000"),
        ("redis+cluster://a:7000", "redis+cluster://a:7000"),
        ("redis://a", "redis://a:6379/0"),
    ] {
        let mut url = read(text);
        url.rotate_nodes();
        assert_eq!(url.to_string(), expected);
    }
}

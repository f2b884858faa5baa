//! The header as a table: what is written is read again, and nothing else is.

use http::Request;
use serde_json::Map;

use super::*;
use crate::caller::{ClientAddr, Principal};
use protomcp_auth::{Identity, Scopes};

const BODY: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn keys(secret: &str) -> HopKeys {
    HopKeys::new(&SealingSecret::new(secret.as_bytes()))
}

/// The head of a request without the header.
fn head() -> Parts {
    let request = Request::post("http://a.example/mcp?x=1").header("mcp-session-id", "0123");
    let request = request.header("mcp-protocol-version", "2025-11-25").header("last-event-id", "1-2");
    request.body(()).unwrap().into_parts().0
}

fn hop(to: &str, caller: HopCaller) -> Hop {
    Hop::new(LeaseName::first(NodeId::new(to)), caller, digest(BODY), SystemTime::now()).unwrap()
}

/// The head of a request with the header.
fn signed(hop: &Hop, keys: &HopKeys) -> Parts {
    let mut head = head();
    let value = hop.write(keys, &head).unwrap();
    head.headers.insert(HOP, value);
    head
}

#[test]
fn a_header_is_read_as_it_was_written() {
    let (keys, written) = (keys("a"), hop("b", HopCaller::default()));
    let read = Hop::read(&keys, &signed(&written, &keys)).unwrap();
    assert_eq!((&read.to, read.expires, read.nonce), (&written.to, written.expires, written.nonce));
    assert_eq!(read.body, digest(BODY));
    assert_ne!(hop("b", HopCaller::default()).nonce, written.nonce);
    // The receiver may have the request under another host, and at the root of its listener.
    let mut other = signed(&written, &keys);
    other.uri = "/mcp?x=1".parse().unwrap();
    assert!(Hop::read(&keys, &other).is_ok());
}

#[test]
fn a_header_belongs_to_its_request() {
    let keys = keys("a");
    let signed = || signed(&hop("b", HopCaller::default()), &keys);
    let change: [fn(&mut Parts); 7] = [
        |head| head.method = http::Method::DELETE,
        |head| head.uri = "/mcp".parse().unwrap(),
        |head| head.uri = "/other?x=1".parse().unwrap(),
        |head| drop(head.headers.insert("mcp-session-id", HeaderValue::from_static("0124"))),
        |head| drop(head.headers.remove("mcp-session-id")),
        |head| drop(head.headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-06-18"))),
        |head| drop(head.headers.insert("last-event-id", HeaderValue::from_static("1-1"))),
    ];
    for (number, change) in change.into_iter().enumerate() {
        let mut head = signed();
        change(&mut head);
        assert_eq!(Hop::read(&keys, &head).unwrap_err(), HopRefusal::Forged, "{number}");
    }
    assert!(Hop::read(&keys, &signed()).is_ok());
}

#[test]
fn a_header_that_was_changed_is_refused() {
    let keys = keys("a");
    let head = signed(&hop("b", HopCaller::default()), &keys);
    let text = head.headers[&HOP].to_str().unwrap().to_owned();
    for at in 0..text.len() {
        let mut changed = text.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let mut head = head.clone();
        head.headers.insert(HOP, HeaderValue::from_bytes(&changed).unwrap());
        let refusal = Hop::read(&keys, &head).unwrap_err();
        assert!(matches!(refusal, HopRefusal::Forged | HopRefusal::Malformed), "{at}: {refusal}");
    }
    let [form, fields, signature] = text.split('.').collect::<Vec<_>>()[..] else { panic!("{text}") };
    for (value, expected) in [
        (String::new(), HopRefusal::Malformed),
        ("v1..".to_owned(), HopRefusal::Forged),
        (format!("{form}.{fields}"), HopRefusal::Malformed),
        (format!("{form}.{fields}."), HopRefusal::Forged),
        (format!("{form}.{fields}.{}", &signature[..40]), HopRefusal::Forged),
        (format!("{form}.{fields}.{signature}.{signature}"), HopRefusal::Malformed),
        (format!("v2.{fields}.{signature}"), HopRefusal::Malformed),
        (format!("{form}.{fields}.{}", "A".repeat(MAX_LENGTH)), HopRefusal::TooLong),
    ] {
        let mut head = head.clone();
        head.headers.insert(HOP, HeaderValue::from_str(&value).unwrap());
        assert_eq!(Hop::read(&keys, &head).unwrap_err(), expected, "{value:.80}");
    }
    let mut repeated = head.clone();
    repeated.headers.append(HOP, head.headers[&HOP].clone());
    assert_eq!(Hop::read(&keys, &repeated).unwrap_err(), HopRefusal::Malformed);
}

#[test]
fn a_header_is_for_one_process_and_a_short_time() {
    let (now, own) = (SystemTime::now(), LeaseName::first(NodeId::new("b")));
    let hop = |to: &str, expires: u64| Hop { expires, ..hop(to, HopCaller::default()) };
    let at = seconds(now);
    for (hop, expected) in [
        (hop("b", at + LIFETIME.as_secs()), Ok(())),
        (hop("b", at), Ok(())),
        (hop("b", at - 1), Err(HopRefusal::Expired)),
        (hop("b", 0), Err(HopRefusal::Expired)),
        (hop("b", at + MAX_AHEAD.as_secs()), Ok(())),
        (hop("b", at + MAX_AHEAD.as_secs() + 1), Err(HopRefusal::TooFarAhead)),
        (hop("b", u64::MAX), Err(HopRefusal::TooFarAhead)),
        (hop("a", at + LIFETIME.as_secs()), Err(HopRefusal::Misdirected)),
        // The process was started again, and has forgotten the headers that it has taken.
        (Hop { to: own.successor(), ..hop("b", at) }, Err(HopRefusal::Misdirected)),
    ] {
        assert_eq!(hop.check(&own, now), expected, "{hop:?}");
    }
    for (refusal, status) in [(HopRefusal::Misdirected, 421), (HopRefusal::Full, 503), (HopRefusal::Expired, 401)] {
        assert_eq!(refusal.status().as_u16(), status);
    }
}

#[test]
fn keys_take_the_place_of_each_other() {
    let (old, new) = (keys("old"), keys("new"));
    let (before, after) = (old.clone().and(new.clone()), new.clone().and(old.clone()));
    for (signer, verifier, is_valid) in [
        (&old, &old, true),
        (&old, &new, false),
        (&old, &before, true),
        (&before, &old, true),
        (&before, &after, true),
        (&after, &before, true),
        (&after, &old, false),
        (&after, &new, true),
    ] {
        let read = Hop::read(verifier, &signed(&hop("b", HopCaller::default()), signer));
        assert_eq!(read.is_ok(), is_valid, "{signer:?} {verifier:?} {read:?}");
    }
    assert_eq!(format!("{before:?}"), "HopKeys(2)");
    let secret = SealingSecret::new(b"old");
    assert!(["store", "requestState"].iter().all(|purpose| secret.derive(purpose) != old.0[0]));
}

/// The claims of a token.
fn claims(extra: usize) -> Map<String, Value> {
    let claims = json!({"sub": "ann", "client_id": "host", "scope": "read write", "extra": "x".repeat(extra)});
    claims.as_object().unwrap().clone()
}

#[test]
fn the_caller_is_carried() {
    let keys = keys("a");
    let (expires, leeway) = (UNIX_EPOCH + Duration::from_secs(2_000_000_000), Duration::from_secs(60));
    let identity = Identity::with_leeway(claims(9), Some("https://issuer.example"), Some(expires), leeway).unwrap();
    let mut authenticated = head();
    authenticated.extensions.insert(Principal(identity.principal()));
    authenticated.extensions.insert(ClientAddr("2001:db8::1".parse().unwrap()));
    authenticated.extensions.insert(identity.clone());
    let read = Hop::read(&keys, &signed(&hop("b", HopCaller::of(&authenticated)), &keys)).unwrap().caller;
    assert_eq!(read.principal, Some(identity.principal()));
    assert_eq!(read.address, Some("2001:db8::1".parse().unwrap()));
    let there = read.identity.unwrap();
    assert_eq!((there.principal(), there.issuer()), (identity.principal(), identity.issuer()));
    assert_eq!((there.subject(), there.client(), there.claims()), (Some("ann"), Some("host"), identity.claims()));
    assert!(there.scopes().include(&Scopes::lenient(["read write"])));
    assert!(!there.scopes().include(&Scopes::lenient(["admin"])));
    assert_eq!((there.expires(), there.valid_until()), (Some(expires), Some(expires + leeway)));

    let forever = Identity::of(claims(0), None, None).unwrap();
    let caller = HopCaller { identity: Some(forever), ..HopCaller::default() };
    let read = Hop::read(&keys, &signed(&hop("b", caller), &keys)).unwrap().caller;
    let there = read.identity.unwrap();
    assert_eq!((there.expires(), there.valid_until(), there.issuer()), (None, None, None));

    let read = Hop::read(&keys, &signed(&hop("b", HopCaller::of(&head())), &keys)).unwrap().caller;
    assert!(read.principal.is_none() && read.address.is_none() && read.identity.is_none(), "{read:?}");
}

#[test]
fn a_token_with_too_many_claims_is_not_carried() {
    let written = |extra| {
        let caller = HopCaller { identity: Identity::of(claims(extra), None, None), ..HopCaller::default() };
        hop("b", caller).write(&keys("a"), &head()).map(|value| value.len())
    };
    assert!(written(11_000).is_some_and(|length| length <= MAX_LENGTH));
    assert_eq!(written(MAX_LENGTH), None);
}

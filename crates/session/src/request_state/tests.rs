//! States that come back, and states that are refused.

use protomcp_types::RawJson;

use super::*;

const LIFETIME: Duration = Duration::from_secs(60);
const INVALID: Result<RequestState, RequestStateError> = Err(RequestStateError::Invalid);
const TOO_OLD: Result<RequestState, RequestStateError> = Err(RequestStateError::TooOld);

fn params(text: &str) -> JsonObject {
    JsonObject::from_raw(&RawJson::parse(text.to_owned()).unwrap()).unwrap()
}

fn bound(text: &str) -> RequestDigest {
    RequestDigest::of("tools/call", &params(text), None)
}

fn own(text: &str) -> RequestState {
    RequestState::Own(text.into())
}

fn shared(keys: &[u8]) -> RequestStateKeys {
    RequestStateKeys::shared(keys.iter().map(|key| [*key; 32]))
}

#[test]
fn a_state_comes_back_as_it_was() {
    let (keys, now) = (RequestStateKeys::random(), SystemTime::now());
    let parked = |number, node| RequestState::Parked(keys.parked(number, node));
    for state in [parked(0, ""), parked(u128::MAX, "a-1"), own(""), own("ä\n")] {
        let token = keys.seal(&state, &bound("{}"), now, LIFETIME);
        assert_eq!(keys.open(&token, || bound("{}"), now + LIFETIME + Duration::from_secs(2)), TOO_OLD);
        assert_eq!(RequestStateKeys::random().open(&token, || bound("{}"), now), INVALID);
        let (late, other) = (now + 2 * LIFETIME, bound(r#"{"name":"other"}"#));
        assert_eq!(keys.open(&token, || other, late), INVALID, "the age is for the request of the state alone");
        assert_eq!(keys.open(&token, || bound("{}"), now + LIFETIME), Ok(state));
    }
}

/// Made by another program with a library for HMAC: processes of one version read the states of each other.
#[test]
fn the_form_of_a_state_is_documented() {
    let (keys, now) = (shared(&[1]), UNIX_EPOCH + Duration::from_secs(1_900_000_000));
    let bound = bound(r#"{"name":"ask"}"#);
    let parked = RequestState::Parked(keys.parked(7, "a"));
    for (state, token) in [
        (
            own("state"),
            "A28AAAAAcT-0LHN0YXRl9_Pa0zRPe09CJflcLzCKdW7hvRH-4_aKljTvWaPs\
             gZLnnPCyHUlstJpekQI5iqqh",
        ),
        (
            parked,
            "A3AAAAAAcT-0LAAAAAAAAAAAAAAAAAAAAAek1Bo3kjhIeydJMPhm5HuLHM84\
             Lnm0MjYuiKvKEtEy_275nB_y4tSF2EGMi0ociorXk2lQjj6SRq17GtvpSwtv",
        ),
    ] {
        assert_eq!(keys.seal(&state, &bound, now, Duration::from_secs(300)), token);
    }
}

#[test]
fn a_changed_state_is_refused() {
    let (keys, now) = (RequestStateKeys::random(), SystemTime::now());
    for state in [own("state"), RequestState::Parked(keys.parked(7, "a"))] {
        let token = keys.seal(&state, &bound("{}"), now, LIFETIME);
        for index in 0..token.len() {
            for other in ["A", "b", "_"] {
                let mut changed = token.clone();
                changed.replace_range(index..=index, other);
                if changed != token {
                    assert_eq!(keys.open(&changed, || bound("{}"), now), INVALID, "{index}");
                }
            }
            assert_eq!(keys.open(&token[..index], || bound("{}"), now), INVALID, "{index}");
        }
        for tail in ["-TAMPERED", "A", "=", "\n", " "] {
            assert_eq!(keys.open(&format!("{token}{tail}"), || bound("{}"), now), INVALID, "{tail:?}");
        }
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        for (index, bit) in (0..bytes.len()).flat_map(|index| (0..8).map(move |bit| (index, bit))) {
            let mut changed = bytes.clone();
            changed[index] ^= 1 << bit;
            let changed = URL_SAFE_NO_PAD.encode(changed);
            assert_eq!(keys.open(&changed, || bound("{}"), now), INVALID, "byte {index}, bit {bit}");
        }
    }
}

#[test]
fn a_forged_state_takes_no_digest_of_its_request() {
    let (keys, now) = (RequestStateKeys::random(), SystemTime::now());
    let no_digest = || panic!("the request is digested");
    for length in [0, 1, PROOF, SIGNATURE, HEAD + PROOF + SIGNATURE, 200] {
        let forged = URL_SAFE_NO_PAD.encode(vec![0; length]);
        assert_eq!(keys.open(&forged, no_digest, now), INVALID, "{length}");
    }
    let bytes = URL_SAFE_NO_PAD.decode(keys.seal(&own("state"), &bound("{}"), now, LIFETIME)).unwrap();
    for index in 0..bytes.len() - SIGNATURE {
        let mut changed = bytes.clone();
        changed[index] ^= 1;
        assert_eq!(keys.open(&URL_SAFE_NO_PAD.encode(changed), no_digest, now), INVALID, "{index}");
    }
}

/// The holder of a key can sign anything, as a process of another version does.
#[test]
fn a_signed_text_that_is_not_a_state_is_refused() {
    let (key, now) = ([7; 32], SystemTime::now());
    let keys = RequestStateKeys::shared([key]);
    let expiry = seconds(now + LIFETIME).to_be_bytes();
    let opened = |version: u8, kind: u8, contents: &[u8]| {
        let text = signed(&key, [&[version, kind][..], &expiry, contents].concat(), &bound("{}"));
        keys.open(&URL_SAFE_NO_PAD.encode(text), || bound("{}"), now)
    };
    assert!(opened(VERSION, PARKED, &[1; 32]).is_ok() && opened(VERSION, OWN, b"a").is_ok());
    for (version, kind, contents) in [
        (1, PARKED, &[1; 16][..]),
        (1, OWN, b"a"),
        (2, PARKED, &[1; 32]),
        (4, PARKED, &[1; 32]),
        (VERSION, b'q', &[1; 32]),
        (VERSION, PARKED, &[]),
        (VERSION, PARKED, &[1; 16]),
        (VERSION, PARKED, &[1; 31]),
        (VERSION, PARKED, &[1; 33]),
        (VERSION, OWN, &[0xff]),
    ] {
        assert_eq!(opened(version, kind, contents), INVALID, "{version} {kind} {contents:?}");
    }
    let head = signed(&key, Vec::new(), &bound("{}"));
    assert_eq!(keys.open(&URL_SAFE_NO_PAD.encode(head), || bound("{}"), now), INVALID, "it has no head");
}

#[test]
fn a_process_recognises_the_calls_of_each_process_it_knows() {
    let (keys, others) = (shared(&[1]), shared(&[2]));
    let call = keys.parked(7, "a-1");
    assert_eq!(call.number(), 7);
    for (knows, node, is_there) in [
        (&keys, "a-1", true),
        (&keys, "a-2", false),
        (&keys, "a-", false),
        (&keys, "a-11", false),
        (&keys, "", false),
        (&others, "a-1", false),
        (&shared(&[2, 1]), "a-1", true),
        (&shared(&[2, 1]), "a-2", false),
    ] {
        assert_eq!(knows.is_parked_in(&call, node), is_there, "{knows:?} {node}");
    }
}

#[test]
fn a_state_shows_neither_its_process_nor_that_two_are_the_same() {
    let (keys, now) = (RequestStateKeys::random(), SystemTime::now());
    let contents = |number, node: &str| {
        let state = RequestState::Parked(keys.parked(number, node));
        URL_SAFE_NO_PAD.decode(keys.seal(&state, &bound("{}"), now, LIFETIME)).unwrap()
    };
    let (one, other) = (contents(1, "replica-1"), contents(2, "replica-1"));
    assert_eq!((one.len(), contents(1, &"long".repeat(999)).len()), (other.len(), other.len()));
    assert!(!one.windows(7).any(|part| part == b"replica"));
    assert!(!one.windows(TAG).any(|part| part == keys.parked(2, "replica-1").tag));
}

#[test]
fn a_state_belongs_to_its_request_and_sender() {
    let of = |method, text, principal| RequestDigest::of(method, &params(text), principal);
    let request = of("tools/call", r#"{"name":"a","arguments":{"x":1,"y":[2]}}"#, Some("me"));
    for same in [
        r#"{"arguments":{"y": [2], "x": 1},"name":"\u0061"}"#,
        r#"{"name":"a","arguments":{"x":1,"y":[2]},"_meta":{"a":1},"requestState":"s","inputResponses":{}}"#,
    ] {
        assert_eq!(of("tools/call", same, Some("me")), request, "{same}");
    }
    let text = r#"{"name":"a","arguments":{"x":1,"y":[2]}}"#;
    for other in [
        of("prompts/get", text, Some("me")),
        of("tools/call", text, Some("you")),
        of("tools/call", text, None),
        of("tools/call", r#"{"name":"a"}"#, Some("me")),
        of("tools/call", r#"{"name":"b","arguments":{"x":1,"y":[2]}}"#, Some("me")),
        of("tools/call", r#"{"name":"a","arguments":{"x":"1","y":[2]}}"#, Some("me")),
    ] {
        assert_ne!(other, request);
    }
    assert_ne!(of("m", "{}", None), of("m", "{}", Some("")));
    let amounts = ["1e400", "1e999", "null", "18446744073709551616", "18446744073709551617", r#"1,"x":2"#, "2"];
    let amounts = amounts.map(|x| bound(&format!(r#"{{"arguments":{{"x":{x}}}}}"#)));
    for (index, one) in amounts.iter().enumerate() {
        assert!(!amounts[..index].contains(one), "{index}");
    }
}

#[test]
fn keys_can_be_exchanged() {
    let (old, new, now) = (shared(&[1]), shared(&[2]), SystemTime::now());
    let token = old.seal(&own("a"), &bound("{}"), now, LIFETIME);
    let both = new.clone().and(old);
    assert_eq!(both.open(&token, || bound("{}"), now), Ok(own("a")));
    assert_eq!(new.open(&token, || bound("{}"), now), INVALID);
    assert_eq!(new.open(&both.seal(&own("b"), &bound("{}"), now, LIFETIME), || bound("{}"), now), Ok(own("b")));
    assert_eq!(format!("{both:?}"), "StateKeys(2)");
}

#[cfg(unix)]
#[test]
fn processes_with_one_file_accept_the_states_of_each_other() {
    let (folder, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
    let keys = |name: &str, secret: &[u8]| {
        let path = folder.path().join(name);
        crate::key_file::tests::write(&path, secret, 0o600);
        RequestStateKeys::from_file(&path).unwrap()
    };
    let (a, b) = (keys("a", b"0123456789abcdef0123456789abcdef"), keys("b", b"0123456789abcdef0123456789abcdef"));
    let other = keys("c", b"0123456789abcdef0123456789abcdef\n");
    let token = a.seal(&own("state"), &bound("{}"), now, LIFETIME);
    assert_eq!(b.open(&token, || bound("{}"), now), Ok(own("state")));
    assert_eq!(other.open(&token, || bound("{}"), now), INVALID, "each byte counts");
    assert!(b.is_parked_in(&a.parked(1, "n"), "n") && !other.is_parked_in(&a.parked(1, "n"), "n"));
}

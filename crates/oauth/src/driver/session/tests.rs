//! The decisions about requests and challenges as tables.

use std::time::UNIX_EPOCH;

use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::*;

/// A token that was received at 1,000 and lives for 100 seconds.
fn credentials(access_token: &str, refresh_token: Option<&str>) -> Credentials {
    let kind = if access_token.starts_with("bound") { "dpop" } else { "bearer" };
    serde_json::from_value(json!({
        "issuer": "https://login.example.com",
        "resource": "https://tools.example.com/mcp",
        "client": {"id": "c", "source": "registered", "auth_method": "none"},
        "token_endpoint": "https://login.example.com/token",
        "token": {
            "access_token": access_token, "kind": kind, "received": 1000, "expires": 1100, "refresh_token": refresh_token,
        },
    }))
    .unwrap()
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn session(credentials: Option<Credentials>) -> Session {
    let mut session = Session::default();
    session.replace(credentials.map(SessionCredentials::stored));
    session
}

fn challenge(
    attempt: u32,
    authorization: Option<&'static str>,
    www_authenticate: &str,
    nonce: Option<&str>,
) -> Challenge {
    let is_step_up = www_authenticate.contains("insufficient_scope");
    Challenge {
        url: "https://tools.example.com/mcp".to_owned(),
        status: if is_step_up { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED },
        www_authenticate: vec![www_authenticate.to_owned()],
        dpop_nonce: nonce.map(str::to_owned),
        authorization: authorization.map(HeaderValue::from_static),
        attempt,
    }
}

fn decide(session: &mut Session, challenge: &Challenge) -> Result<ChallengeStep, AuthorizationError> {
    session.challenge(challenge, &TokenDemand::read(challenge).unwrap(), at(1000))
}

#[test]
fn a_request_waits_for_a_refresh_only_when_it_must() {
    let start = Instant::now();
    assert_eq!(Session::default().request(at(0), start), RequestStep::Load);
    assert_eq!(session(None).request(at(0), start), RequestStep::Present(None));
    let present = |known: &Credentials| RequestStep::Present(Some(Box::new(known.clone())));
    let (plain, refreshable) = (credentials("t", None), credentials("t", Some("r")));
    for (seconds, without, with) in [
        (1089, present(&plain), present(&refreshable)),
        (1090, present(&plain), RequestStep::Refresh),
        (1099, present(&plain), RequestStep::Refresh),
        (1100, RequestStep::Present(None), RequestStep::Refresh),
    ] {
        assert_eq!(session(Some(plain.clone())).request(at(seconds), start), without, "{seconds}");
        assert_eq!(session(Some(refreshable.clone())).request(at(seconds), start), with, "{seconds}");
    }
}

#[test]
fn a_failed_refresh_pauses_while_the_token_is_valid() {
    let start = Instant::now();
    let mut session = session(Some(credentials("t", Some("r"))));
    let later = |seconds| start + Duration::from_secs(seconds);
    assert!(!session.refresh_failed(&AuthorizationError::Unavailable(String::new()), start));
    assert!(matches!(session.request(at(1095), later(29)), RequestStep::Present(Some(_))));
    assert_eq!(session.request(at(1095), later(30)), RequestStep::Refresh);
    assert_eq!(session.request(at(1100), later(1)), RequestStep::Refresh, "an expired token is of no use");
    assert!(session.refresh_failed(&AuthorizationError::Untrusted(String::new()), start));
    assert!(matches!(session.request(at(1095), later(60)), RequestStep::Present(Some(_))), "the token is still valid");
    assert_eq!(session.request(at(1100), later(60)), RequestStep::Present(None), "a challenge is needed");
}

#[test]
fn a_challenge_of_a_replaced_token_repeats_the_request() {
    let mut known = session(Some(credentials("t2", None)));
    for old in [None, Some("Bearer t1")] {
        assert_eq!(decide(&mut known, &challenge(1, old, "Bearer", None)), Ok(ChallengeStep::Repeat));
    }
    let current = challenge(1, Some("Bearer t2"), "Bearer", None);
    assert_eq!(decide(&mut known, &current), Ok(ChallengeStep::Authorize { may_refresh: true }));
    assert_eq!(decide(&mut Session::default(), &current), Ok(ChallengeStep::Load));
    let mut known = session(Some(credentials("t", None)));
    let unsent = challenge(1, None, "Bearer", None);
    let step = known.challenge(&unsent, &TokenDemand::read(&unsent).unwrap(), at(1100));
    assert_eq!(step, Ok(ChallengeStep::Authorize { may_refresh: true }), "an expired token is not sent again");
}

#[test]
fn the_token_of_a_grant_is_not_granted_again() {
    let mut session = Session::default();
    let held = |access_token: &str, origin| {
        Some(SessionCredentials { credentials: credentials(access_token, None), origin, is_saved: true })
    };
    session.replace(held("t", Origin::Granted));
    let rejected = |attempt, text: &str| challenge(attempt, Some("Bearer t"), text, None);
    let authorize = |may_refresh| Ok(ChallengeStep::Authorize { may_refresh });
    assert_eq!(decide(&mut session, &rejected(1, "Bearer")), authorize(true));
    assert!(matches!(decide(&mut session, &rejected(2, "Bearer")), Err(AuthorizationError::Rejected(_))));
    let step_up = rejected(2, "Bearer error=\"insufficient_scope\"");
    assert_eq!(decide(&mut session, &step_up), authorize(false));
    session.replace(held("t", Origin::Refreshed));
    assert_eq!(decide(&mut session, &rejected(2, "Bearer")), authorize(false));
    session.replace(held("t", Origin::Stored));
    assert_eq!(decide(&mut session, &rejected(2, "Bearer")), authorize(true), "the token of another program");
    let last = challenge(6, Some("Bearer old"), "Bearer", None);
    assert!(matches!(decide(&mut session, &last), Err(AuthorizationError::Rejected(_))));
}

#[test]
fn nonces_are_answered_without_a_flow_and_not_for_ever() {
    let mut session = session(Some(credentials("bound", None)));
    let asks = |attempt, nonce| challenge(attempt, Some("DPoP bound"), "DPoP error=\"use_dpop_nonce\"", nonce);
    for (attempt, nonce) in [(1, "n1"), (2, "n2"), (3, "n3")] {
        assert_eq!(decide(&mut session, &asks(attempt, Some(nonce))), Ok(ChallengeStep::Repeat));
        assert_eq!(session.nonce(), Some(nonce));
    }
    for (attempt, nonce) in [(4, Some("n4")), (1, None), (1, Some("not a nonce"))] {
        let outcome = decide(&mut session, &asks(attempt, nonce));
        assert!(matches!(outcome, Err(AuthorizationError::Rejected(_))), "{attempt} {nonce:?} {outcome:?}");
    }
}

#[test]
fn another_token_is_another_context() {
    let mut session = Session::default();
    let held = |token: &str, origin| {
        Some(SessionCredentials { credentials: credentials(token, None), origin, is_saved: true })
    };
    for (step, held, context) in [
        ("nothing is stored", None, 0),
        ("a user signs in", held("t1", Origin::Granted), 1),
        ("the same is stored", held("t1", Origin::Stored), 1),
        ("a refresh", held("t2", Origin::Refreshed), 2),
        ("another program has signed in", held("t3", Origin::Stored), 3),
        ("they are gone", None, 4),
    ] {
        session.replace(held);
        assert_eq!(session.context(), context, "{step}");
    }
}

#[test]
fn a_user_who_declines_is_not_asked_again_immediately() {
    let (mut session, start) = (session(None), Instant::now());
    let declined = AuthorizationError::Refused { code: "access_denied".to_owned(), description: None };
    let unsent = challenge(1, None, "Bearer", None);
    session.flow_failed(&AuthorizationError::Unavailable(String::new()), start);
    assert_eq!(session.begin_round(&unsent, start), Ok(()));
    session.flow_failed(&declined, start);
    assert_eq!(session.begin_round(&unsent, start + Duration::from_millis(1999)), Err(declined));
    assert_eq!(session.begin_round(&unsent, start + Duration::from_secs(2)), Ok(()));
}

#[test]
fn a_token_is_rejected_only_if_it_was_sent() {
    let start = Instant::now();
    for (authorization, is_rejected) in [(None, false), (Some("Bearer t"), true)] {
        let mut session = session(None);
        let challenged = challenge(1, authorization, "Bearer", None);
        for _ in 0..3 {
            assert_eq!(session.begin_round(&challenged, start), Ok(()));
        }
        let error = session.begin_round(&challenged, start).unwrap_err();
        assert_eq!(matches!(error, AuthorizationError::Rejected(_)), is_rejected, "{error}");
        let error = decide(&mut session, &challenge(6, authorization, "Bearer", None)).unwrap_err();
        assert_eq!(error.to_string().contains("rejects"), is_rejected, "{error}");
    }
}

/// A token that was received at 1,000, with a life of some seconds.
fn brief(life: u64, refresh_token: Option<&str>, origin: Origin) -> Session {
    let mut credentials = credentials("t", refresh_token);
    credentials.token.expires = Some(1000 + life);
    let mut session = Session::default();
    session.replace(Some(SessionCredentials { credentials, origin, is_saved: true }));
    session
}

#[test]
fn a_token_that_is_over_on_arrival_is_presented() {
    let start = Instant::now();
    for (life, arrival) in [(0, 1000), (1, 1001), (5, 1020)] {
        for origin in [Origin::Granted, Origin::Refreshed] {
            let mut session = brief(life, None, origin);
            // Requests that were sent without it are repeated with it.
            let unsent = challenge(1, None, "Bearer", None);
            let step = session.challenge(&unsent, &TokenDemand::read(&unsent).unwrap(), at(arrival));
            assert_eq!(step, Ok(ChallengeStep::Repeat));
            for seconds in [arrival, arrival + 1] {
                assert!(matches!(session.request(at(seconds), start), RequestStep::Present(Some(_))), "{life}");
            }

            let mut session = brief(life, Some("r"), origin);
            assert!(matches!(session.request(at(arrival), start), RequestStep::Present(Some(_))), "{life}");
            assert_eq!(session.request(at(arrival), start), RequestStep::Refresh, "{life}");
        }
        let mut stored = brief(life, None, Origin::Stored);
        assert_eq!(stored.request(at(arrival), start), RequestStep::Present(None));
    }
    let mut used = brief(5, None, Origin::Granted);
    assert!(matches!(used.request(at(1004), start), RequestStep::Present(Some(_))));
    assert_eq!(used.request(at(1005), start), RequestStep::Present(None), "its life was long enough");
    let mut refused = brief(0, None, Origin::Granted);
    refused.request(at(1000), start);
    let outcome = decide(&mut refused, &challenge(2, Some("Bearer t"), "Bearer", None));
    assert!(matches!(outcome, Err(AuthorizationError::Rejected(_))), "{outcome:?}");
}

//! The recipients of messages of a process.

use std::time::Duration;

use protomcp_link::CallIds;
use protomcp_server::Conversation;

use super::*;

fn owner(name: &str) -> Owner {
    Owner::Principal(name.into())
}

fn caller(name: &str, session: SessionId) -> Caller {
    let key = CallerKey { owner: owner(name), conversation: Conversation::Session(session) };
    Caller { key, session, context: Context::detached(), is_task: false }
}

/// A call of a session; each session is one owner's.
fn of_session(number: u64) -> Caller {
    caller(&number.to_string(), SessionId::new(number))
}

fn show(recipient: &Recipient) -> String {
    match recipient {
        Recipient::Call(..) => "the call".into(),
        Recipient::Request(_) => "the request".into(),
        Recipient::Session(session, _) => format!("session {session}"),
        Recipient::Over => "over".into(),
        Recipient::Anyone => "anyone".into(),
    }
}

#[test]
fn the_caller_follows_from_the_name_or_from_the_running_calls() {
    for (sessions, for_call, expected) in [
        (&[][..], "", "anyone"),
        (&[1], "", "the call"),
        (&[1, 1, 1], "", "session 1"),
        (&[1, 2], "", "anyone"),
        (&[1, 1, 2], "", "anyone"),
        (&[1, 2], "req-1", "the call"),
        (&[1, 2], "req-2", "the call"),
        (&[1, 2], "req-3", "over"),
        (&[1], "nonsense", "over"),
        // The call of another process.
        (&[1], "req-0", "over"),
    ] {
        let (ids, first, mut calls) = (CallIds::default(), Generation::FIRST, Attribution::default());
        calls.begin(first.next(), ids.next(), of_session(99));
        for session in sessions {
            calls.begin(first, ids.next(), of_session(*session));
        }
        let recipient = calls.recipient(first, for_call, Instant::now());
        assert_eq!(show(&recipient), expected, "{sessions:?} {for_call:?}");
    }
}

#[test]
fn requests_without_a_session_have_nothing_in_common() {
    let (ids, first, mut calls) = (CallIds::default(), Generation::FIRST, Attribution::default());
    let now = Instant::now();
    calls.begin(first, ids.next(), caller("ann", SessionId::STATELESS));
    assert!(matches!(calls.recipient(first, "", now), Recipient::Call(..)));
    calls.begin(first, ids.next(), caller("ann", SessionId::STATELESS));
    assert!(matches!(calls.recipient(first, "", now), Recipient::Anyone));
    assert!(matches!(calls.recipient(first, "req-1", now), Recipient::Call(..)));
}

#[test]
fn a_given_up_handler_counts_until_it_ends_or_times_out() {
    let (ids, first, now) = (CallIds::default(), Generation::FIRST, Instant::now());
    let until = now + Duration::from_secs(300);
    let (of_ann, other) = (ids.next(), ids.next());
    let mut calls = Attribution::default();
    calls.begin(first, of_ann, caller("ann", SessionId::new(1)));
    calls.give_up(first, of_ann, now, until);
    let recipient = |calls: &Attribution, at| show(&calls.recipient(first, "", at));
    assert_eq!(recipient(&calls, now), "anyone");
    calls.begin(first, other, caller("bob", SessionId::new(2)));
    assert_eq!(recipient(&calls, now), "anyone", "it may be ann's handler that speaks");
    assert_eq!(show(&calls.recipient(first, "req-1", now)), "the call", "a name leaves no doubt");
    assert_eq!(show(&calls.recipient(first, "req-0", now)), "over");
    assert_eq!(calls.list_scope(first, ""), Some(SessionId::new(2)), "one session has calls in flight");
    assert_eq!(recipient(&calls, until), "the call");
    calls.handler_ended(first, of_ann);
    assert_eq!(recipient(&calls, now), "the call");
    // A handler of the same owner is unambiguous.
    let again = ids.next();
    calls.begin(first, again, caller("bob", SessionId::new(2)));
    calls.give_up(first, again, now, until);
    assert_eq!(recipient(&calls, now), "the call");
    // So is one of a process that has ended, or of another process.
    let last = ids.next();
    calls.begin(first, last, caller("ann", SessionId::new(1)));
    calls.give_up(first, last, now, until);
    calls.forget(first.next());
    assert_eq!(recipient(&calls, now), "anyone");
    calls.forget(first);
    assert_eq!(recipient(&calls, now), "the call");
}

#[test]
fn a_request_of_another_owner_leaves_the_sender_open() {
    let (ids, first, now) = (CallIds::default(), Generation::FIRST, Instant::now());
    let until = now + Duration::from_secs(300);
    let (read, call) = (ids.next(), ids.next());
    let recipient = |calls: &Attribution, at| show(&calls.recipient(first, "", at));
    // A detached context is the local user's.
    let mut calls = Attribution::default();
    calls.begin_request(first, read, Context::detached());
    calls.begin(first, call, caller("ann", SessionId::new(1)));
    assert_eq!(recipient(&calls, now), "anyone", "it may be the handler of the read that speaks");
    assert_eq!(show(&calls.recipient(first, "req-0", now)), "the request", "a name leaves no doubt");
    assert_eq!(show(&calls.recipient(first, "req-1", now)), "the call");
    calls.give_up(first, read, now, until);
    assert_eq!(show(&calls.recipient(first, "req-0", now)), "over");
    assert_eq!(recipient(&calls, now), "anyone");
    assert_eq!(recipient(&calls, until), "the call");
    calls.handler_ended(first, read);
    assert_eq!(recipient(&calls, now), "the call");
    // A request to another process does not count.
    let other = ids.next();
    calls.begin_request(first.next(), other, Context::detached());
    assert_eq!(recipient(&calls, now), "the call");
    // One of the same owner is unambiguous.
    let mut calls = Attribution::default();
    calls.begin_request(first, read, Context::detached());
    let mut local = caller("", SessionId::new(1));
    local.key.owner = Owner::Local;
    calls.begin(first, call, local);
    assert_eq!(recipient(&calls, now), "the call");
}

#[test]
fn given_up_handlers_are_bounded_and_excess_stays_ambiguous() {
    let (ids, first, now) = (CallIds::default(), Generation::FIRST, Instant::now());
    let (soon, later) = (now + Duration::from_secs(1), now + Duration::from_secs(2));
    let mut calls = Attribution::default();
    let give_up = |calls: &mut Attribution, at, until| {
        let call = ids.next();
        calls.begin(first, call, caller("ann", SessionId::new(1)));
        calls.give_up(first, call, at, until);
    };
    for _ in 0..MAX_GIVEN_UP {
        give_up(&mut calls, now, soon);
    }
    give_up(&mut calls, now, later);
    assert_eq!(calls.given_up.len(), MAX_GIVEN_UP);
    calls.begin(first, ids.next(), caller("bob", SessionId::new(2)));
    assert_eq!(show(&calls.recipient(first, "", soon)), "anyone", "one of them is not known");
    let next = first.next();
    calls.begin(next, ids.next(), caller("bob", SessionId::new(2)));
    assert_eq!(show(&calls.recipient(next, "", now)), "the call", "another process has none of them");
    assert_eq!(show(&calls.recipient(first, "", later)), "the call");
    give_up(&mut calls, soon, later);
    assert_eq!(calls.given_up.len(), 1, "those whose time is over make room");
}

#[test]
fn a_session_is_served_until_its_last_call_has_ended() {
    let (ids, first, mut calls) = (CallIds::default(), Generation::FIRST, Attribution::default());
    let (one, running) = (SessionId::new(1), [ids.next(), ids.next()]);
    for call in running {
        calls.begin(first, call, of_session(1));
    }
    calls.end(first, running[0]);
    assert!(calls.is_running(first, one, "") && !calls.is_running(first, one, "req-0"));
    assert!(!calls.is_running(first, SessionId::new(2), ""));
    calls.give_up(first, running[1], Instant::now(), Instant::now());
    assert!(!calls.is_running(first, one, ""));
}

#[test]
fn ended_and_stateless_calls_change_no_list() {
    let none = SessionId::STATELESS.to_string();
    for (sessions, for_call, whose) in [
        (&[][..], "", "everyone"),
        (&[Some(1)], "", "1"),
        (&[Some(1), Some(1)], "", "1"),
        (&[Some(1), Some(2)], "", "everyone"),
        (&[None], "", &none),
        (&[None, None], "", &none),
        (&[None, None, None], "", &none),
        (&[None, Some(1)], "", "everyone"),
        (&[Some(1), Some(2)], "req-2", "2"),
        (&[Some(1)], "req-9", &none),
        (&[], "req-9", &none),
    ] {
        let (ids, first, mut calls) = (CallIds::default(), Generation::FIRST, Attribution::default());
        ids.next();
        for session in sessions {
            calls.begin(first, ids.next(), caller("ann", session.map_or(SessionId::STATELESS, SessionId::new)));
        }
        let recipient = calls.list_scope(first, for_call);
        assert_eq!(
            recipient.map_or("everyone".into(), |session| session.to_string()),
            whose,
            "{sessions:?} {for_call:?}"
        );
    }
}

#[test]
fn the_session_of_an_ended_call_is_known_for_a_while() {
    let (ids, first, mut calls) = (CallIds::default(), Generation::FIRST, Attribution::default());
    let known = |calls: &Attribution| calls.session_of_ended(first, "req-0");
    let call = ids.next();
    calls.begin(first, call, of_session(1));
    assert_eq!(known(&calls), None);
    calls.give_up(first, call, Instant::now(), Instant::now());
    assert_eq!(known(&calls), Some(SessionId::new(1)));
    for _ in 0..REMEMBERED {
        let call = ids.next();
        calls.begin(first, call, of_session(2));
        calls.end(first, call);
    }
    assert_eq!(known(&calls), None);
}

#[test]
fn a_call_waits_for_calls_and_requests_before_it() {
    let (ids, first, mut calls) = (CallIds::default(), Generation::FIRST, Attribution::default());
    let (read, one, two) = (ids.next(), ids.next(), ids.next());
    calls.begin_request(first, read, Context::detached());
    calls.begin(first, one, of_session(1));
    calls.begin(first, two, of_session(1));
    assert!(calls.runs_until(first, read) && !calls.runs_until(first.next(), two));
    calls.end_request(first, read);
    assert!(!calls.runs_until(first, read) && calls.runs_until(first, one));
    calls.end(first, one);
    assert!(!calls.runs_until(first, one) && calls.runs_until(first, two), "the next one does not keep it waiting");
    assert!(!calls.runs_for_others(first, &owner("1")) && calls.runs_for_others(first, &owner("2")));
    calls.give_up(first, two, Instant::now(), Instant::now());
    assert!(!calls.runs_until(first, two) && !calls.runs_for_others(first, &owner("2")));
}

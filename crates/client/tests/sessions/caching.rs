//! Answers that are used again.

use protomcp_client::{ClientSession, CloseReason, Mode, NoAnswer, RequestError};
use protomcp_testing::run_paused;
use protomcp_types::{JsonObject, ListTools, ReadResource};
use tokio::task::JoinHandle;

use super::script::Script;
use super::server::client;

fn list(session: &ClientSession) -> JoinHandle<usize> {
    let session = session.clone();
    tokio::spawn(async move { session.list_tools(None).await.unwrap().items.len() })
}

const EMPTY: &str = r#"{"resultType":"complete","tools":[],"ttlMs":60000,"cacheScope":"private"}"#;
const ONE: &str = r#"{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}],"ttlMs":60000,"cacheScope":"public"}"#;

#[test]
fn a_fresh_list_is_used_until_it_changes() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let first = list(&session);
        script.expect("tools/list").await;
        script.answer(2, EMPTY);
        assert_eq!(first.await.unwrap(), 0);
        assert_eq!(list(&session).await.unwrap(), 0, "without a request");
        script.tell("notifications/tools/list_changed");
        tokio::task::yield_now().await;
        let changed = list(&session);
        script.expect("tools/list").await;
        script.answer(3, ONE);
        assert_eq!(changed.await.unwrap(), 1);
        let fresh = tokio::spawn(session.request::<ListTools>(&ListTools::default()).fresh().into_future());
        script.expect("tools/list").await;
        script.answer(4, ONE);
        fresh.await.unwrap().unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(61)).await;
        let old = list(&session);
        script.expect("tools/list").await;
        script.answer(5, EMPTY);
        assert_eq!(old.await.unwrap(), 0);
    });
}

#[test]
fn an_answer_after_questions_is_never_kept() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        for round in 0..2 {
            let read = tokio::spawn(session.request::<ReadResource>(&ReadResource::new("test:a")).into_future());
            script.expect("resources/read").await;
            script.answer(2 + 2 * round, r#"{"resultType":"input_required","requestState":"s"}"#);
            script.expect(r#""requestState":"s""#).await;
            script.answer(
                3 + 2 * round,
                r#"{"resultType":"complete","contents":[],"ttlMs":60000,"cacheScope":"private"}"#,
            );
            read.await.unwrap().unwrap();
        }
    });
}

#[test]
fn with_a_session_every_list_is_asked_for() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateful, client()).await;
        for id in 2..4 {
            let listing = list(&session);
            script.expect("tools/list").await;
            script.answer(id, EMPTY);
            listing.await.unwrap();
        }
    });
}

#[test]
fn sessions_share_no_answers() {
    run_paused(async {
        let client = client();
        for scope in ["private", "public"] {
            let (session, mut script) = Script::open(Mode::Stateless, client.clone()).await;
            let listing = list(&session);
            script.expect("tools/list").await;
            script.answer(2, &EMPTY.replace("private", scope));
            listing.await.unwrap();
            assert_eq!(list(&session).await.unwrap(), 0, "without a request");
            assert!(script.is_quiet().await);
        }
    });
}

#[test]
fn a_closed_session_answers_nothing() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let first = list(&session);
        script.expect("tools/list").await;
        script.answer(2, EMPTY);
        first.await.unwrap();
        session.close(std::time::Duration::ZERO).await;
        assert_eq!(session.list_tools(None).await, Err(RequestError::Closed(CloseReason::Requested)));
    });
}

#[test]
fn another_user_gets_no_answers_of_the_one_before() {
    run_paused(async {
        let (session, mut script) = Script::open(Mode::Stateless, client()).await;
        let mut id = 2;
        for is_told in [true, false] {
            let first = list(&session);
            script.expect("tools/list").await;
            script.answer(id, EMPTY);
            assert_eq!((first.await.unwrap(), list(&session).await.unwrap()), (0, 0));
            if is_told {
                session.forget_answers();
            } else {
                let call = tokio::spawn(session.call_tool("a", &JsonObject::new()).into_future());
                script.expect("tools/call").await;
                id += 1;
                script.fail(id, NoAnswer::Unauthorized);
                call.await.unwrap().unwrap_err();
            }
            let second = list(&session);
            script.expect("tools/list").await;
            id += 1;
            script.answer(id, ONE);
            assert_eq!(second.await.unwrap(), 1);
            session.forget_answers();
            id += 1;
        }
    });
}

#[test]
fn a_private_answer_is_for_one_token() {
    run_paused(async {
        let answer = |scope: &str| EMPTY.replace(r#""private""#, scope);
        for (scope, is_for_all) in [(r#""private""#, false), (r#""public""#, true), (r#""other""#, false), ("5", false)]
        {
            let (session, mut script) = Script::open(Mode::Stateless, client()).await;
            let first = list(&session);
            script.expect("tools/list").await;
            script.answer(2, &answer(scope));
            assert_eq!((first.await.unwrap(), list(&session).await.unwrap()), (0, 0));
            script.change_token();
            let second = list(&session);
            if is_for_all {
                assert_eq!(second.await.unwrap(), 0, "without a request");
                continue;
            }
            script.expect("tools/list").await;
            // The token changes again: the answer may be for either user.
            script.change_token();
            script.answer(3, &answer(scope));
            assert_eq!(second.await.unwrap(), 0);
            let third = list(&session);
            script.expect("tools/list").await;
            script.answer(4, ONE);
            assert_eq!(third.await.unwrap(), 1, "{scope}");
        }
    });
}

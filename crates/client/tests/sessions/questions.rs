//! Questions of the server, which the handlers of the client answer.

use std::time::Duration;

use protomcp_client::{Client, Mode, RequestError, ServerQuestion};
use protomcp_testing::{Seen, run_paused};
use protomcp_types::{
    ClientCapabilities, CreateMessageResult, Elicit, ElicitAction, ElicitResult, ErrorObject, JsonObject, Method,
    Progress, RawJson, Role,
};

use super::server::{Stage, client, connect, in_both_eras};

fn answers(action: ElicitAction) -> Client {
    client().on_elicit(move |form, server| async move {
        assert_eq!((form.message.as_str(), server.session_id()), ("Who?", 1));
        assert!(server.session().is_some() && server.server().is_some());
        Ok(ElicitResult { action, content: None, meta: None })
    })
}

async fn text(stage: &Stage, tool: &str) -> String {
    let result = stage.session.call_tool(tool, &JsonObject::new()).await.unwrap();
    let content: serde_json::Value = result.content.to().unwrap();
    content[0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn an_accepted_form_has_its_defaults() {
    in_both_eras(
        || answers(ElicitAction::Accept),
        async |stage| {
            assert_eq!(text(&stage, "ask").await, r#"{"name":"Ann"}"#);
        },
    );
    in_both_eras(
        || answers(ElicitAction::Decline),
        async |stage| {
            assert_eq!(text(&stage, "ask").await, "declined");
        },
    );
}

#[test]
fn the_model_of_the_client_answers() {
    let model = || {
        client().on_sample(|question, _| async move {
            assert_eq!(question.max_tokens, 10);
            let content = RawJson::parse(r#"{"type":"text","text":"4"}"#).unwrap();
            Ok(CreateMessageResult {
                role: Role::Assistant,
                content,
                model: "m1".into(),
                stop_reason: None,
                meta: None,
            })
        })
    };
    in_both_eras(model, async |stage| assert_eq!(text(&stage, "sample").await, "m1"));
}

#[test]
fn roots_are_declared_and_their_changes_announced() {
    in_both_eras(
        || client().with_roots(["/srv/data", "https://a/b"]),
        async |stage| {
            assert_eq!(text(&stage, "roots").await, "file:///srv/data,https://a/b");
        },
    );
    run_paused(async {
        let client = client().with_roots(["/a"]).mode(Mode::Stateful);
        let stage = Stage::open(Mode::Stateful, client.clone()).await;
        let second = connect(&stage.registry, &client).await;
        client.add_root("/b");
        let mut told = 0;
        while told < 2 {
            let more = tokio::time::timeout(Duration::from_secs(60), stage.seen.wait()).await;
            told += more.expect("both sessions are told").len();
        }
        assert!(!client.remove_root("/nowhere"), "removing an absent root fails nothing");
        assert!(client.remove_root("/a"));
        assert_eq!(text(&stage, "roots").await, "file:///b");
        drop(second);
    });
}

#[test]
fn what_is_not_declared_is_not_asked() {
    in_both_eras(client, async |stage| {
        for tool in ["ask", "sample", "roots"] {
            let answer = stage.session.call_tool(tool, &JsonObject::new()).await;
            let failed = match answer {
                Ok(result) => result.is_error,
                Err(error) => matches!(error, RequestError::Refused(_)),
            };
            assert!(failed, "{tool}");
        }
    });
}

#[test]
fn a_handler_that_fails_harms_only_its_question() {
    async fn fails(stage: &Stage) {
        let failed = match stage.session.call_tool("ask", &JsonObject::new()).await {
            Ok(result) => result.is_error,
            Err(error) => matches!(error, RequestError::NoInput(_)),
        };
        assert!(failed);
        stage.session.ping().await.unwrap();
    }
    in_both_eras(
        || client().on_elicit(|_, _| async { Err(ErrorObject::internal("no")) }),
        async |stage| fails(&stage).await,
    );
    in_both_eras(|| client().on_elicit(|_, _| async { panic!("oops") }), async |stage| fails(&stage).await);
    let slow = || client().on_elicit(|_, _| std::future::pending()).answer_timeout(Duration::from_secs(2));
    in_both_eras(slow, async |stage| fails(&stage).await);
}

#[test]
fn a_handler_reports_progress_to_the_server() {
    run_paused(async {
        let client = client().on_elicit(|_, server| async move {
            server.progress(&Progress::new(1).of(2));
            Ok(ElicitResult { action: ElicitAction::Decline, content: None, meta: None })
        });
        let stage = Stage::open(Mode::Stateful, client).await;
        let (sessions, seen) = (stage.registry.sessions(), stage.seen.clone());
        let server_side = sessions.views()[0].id;
        let form = Elicit::form("Who?", RawJson::EMPTY_OBJECT);
        let asked = sessions.ask::<Elicit>(server_side, &form);
        let answer = asked.on_progress(move |progress| seen.push(format!("{:?}", progress.progress))).await.unwrap();
        assert_eq!(answer.action, ElicitAction::Decline);
        assert_eq!(stage.seen.take(), ["Integer(1)"]);
    });
}

#[test]
fn a_handler_ends_with_its_question() {
    struct Guard(Seen);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.push("dropped");
        }
    }
    let seen = Seen::default();
    let asking = || {
        let guard = Guard(seen.clone());
        let guard = std::sync::Arc::new(std::sync::Mutex::new(Some(guard)));
        client().on_elicit(move |_, _| {
            let guard = guard.lock().unwrap().take();
            async move {
                let _guard = guard;
                std::future::pending().await
            }
        })
    };
    in_both_eras(asking, async |stage| {
        let call = tokio::spawn(stage.session.call_tool("ask", &JsonObject::new()).into_future());
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(seen.take().is_empty());
        call.abort();
        assert_eq!(seen.wait().await, ["dropped"]);
    });
}

/// A client that declares forms and pages, and reads no question.
fn proxy() -> Client {
    let forms = ClientCapabilities::new().with("elicitation", RawJson::parse(r#"{"form":{},"url":{}}"#).unwrap());
    client().capabilities(&forms)
}

fn accepted(question: &ServerQuestion, name: &str) -> RawJson {
    assert_eq!(
        (question.method.as_str(), question.params.member("message").unwrap().as_str()),
        (Elicit::NAME, r#""Who?""#)
    );
    RawJson::parse(format!(r#"{{"action":"accept","content":{{"name":"{name}"}},"later":1}}"#)).unwrap()
}

#[test]
fn one_function_answers_every_question_unread() {
    let proxy = || proxy().on_question(|question, _| async move { Ok(accepted(&question, "Bob")) });
    in_both_eras(proxy, async |stage| assert_eq!(text(&stage, "ask").await, r#"{"name":"Bob"}"#));
}

#[test]
fn the_questions_of_a_request_are_its_own() {
    run_paused(async {
        let stage = Stage::open(Mode::Stateless, proxy()).await;
        let ask = |tool: &str, name: &'static str| {
            let call = stage.session.call_tool(tool, &JsonObject::new());
            call.on_input(move |questions, _| async move {
                Ok(questions.into_iter().map(|question| (question.key.clone(), accepted(&question, name))).collect())
            })
        };
        let (ann, bob) = tokio::join!(ask("ask", "Ann"), ask("long-ask", "Bob"));
        assert!(ann.unwrap().content.as_str().contains("Ann"));
        assert!(bob.unwrap().content.as_str().contains("Bob"), "a task asks the same function");
        let refused = stage.session.call_tool("ask", &JsonObject::new());
        let refused = refused.on_input(|_, _| async { Err(ErrorObject::internal("no")) }).await;
        assert!(matches!(refused, Err(RequestError::NoInput(_))), "{refused:?}");
    });
}

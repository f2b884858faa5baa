//! Questions of the server, answered by the client of the gateway.

use std::sync::Arc;
use std::time::Duration;

use protomcp_client::{Client, ClientSession, Mode, RequestError};
use protomcp_gateway::{Gateway, GatewayLimits, Sharing};
use protomcp_server::{AskError, Audience};
use protomcp_testing::Seen;
use protomcp_types::{
    CreateMessageResult, Elicit, ElicitAction, ElicitResult, ErrorObject, JsonObject, Level, RawJson, Role, code,
};
use tokio::sync::Barrier;

use crate::stage::{Backend, Stage, call, client, connect, connect_as, everywhere, gateway, run};

fn named(name: &'static str) -> Client {
    client().on_elicit(move |form, _| async move {
        assert_eq!(form.message, "Who?");
        let content = RawJson::parse(format!(r#"{{"name":"{name}"}}"#)).unwrap();
        Ok(ElicitResult { action: ElicitAction::Accept, content: Some(content), meta: None })
    })
}

#[test]
fn the_user_of_the_client_answers() {
    everywhere(
        || named("Ann"),
        async |stage| {
            assert_eq!(stage.call("ask").await, r#"{"name":"Ann"}"#);
            let both = tokio::join!(stage.call("whoami"), stage.call("ask"));
            assert_eq!(both.1, r#"{"name":"Ann"}"#);
        },
    );
    let refusing = || client().on_elicit(|_, _| async { Err(ErrorObject::internal("not now")) });
    everywhere(refusing, async |stage| {
        match stage.session.call_tool("ask", &JsonObject::new()).await {
            Ok(result) => assert!(result.is_error && result.content.as_str().contains("not now"), "{result:?}"),
            // Without a session a refusal ends the request.
            Err(error) => assert!(matches!(error, RequestError::NoInput(_)), "{error:?}"),
        }
    });
}

#[test]
fn the_model_and_the_roots_of_the_client_answer() {
    let model = || {
        client().with_roots(["file:///a"]).on_sample(|question, _| async move {
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
    everywhere(model, async |stage| {
        assert_eq!(stage.call("sample").await, "m1");
        assert_eq!(stage.call("roots").await, "file:///a");
    });
}

#[test]
fn a_client_is_not_asked_what_it_does_not_declare() {
    everywhere(client, async |stage| {
        for tool in ["ask", "sample", "roots"] {
            match stage.session.call_tool(tool, &JsonObject::new()).await {
                Ok(result) => assert!(result.is_error, "{result:?}"),
                Err(RequestError::Refused(error)) => assert_eq!(error.code, code::MISSING_CLIENT_CAPABILITY),
                Err(error) => panic!("{error:?}"),
            }
        }
    });
}

/// Two clients ask at the same time.
async fn both_ask(stage: &Stage, other: &Client) -> [Result<String, RequestError>; 2] {
    let second = connect(&stage.gateway, other).await;
    let ask = |session: &ClientSession| session.call_tool("ask", &JsonObject::new()).into_future();
    let (one, two) = tokio::join!(ask(&stage.session), ask(&second));
    [one, two].map(|outcome| outcome.map(|result| result.content.to_string()))
}

/// A client whose user answers when both were asked.
fn waiting(name: &'static str, barrier: &Arc<Barrier>) -> Client {
    let barrier = Arc::clone(barrier);
    client().on_elicit(move |_, _| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            let content = RawJson::parse(format!(r#"{{"name":"{name}"}}"#)).unwrap();
            Ok(ElicitResult { action: ElicitAction::Accept, content: Some(content), meta: None })
        }
    })
}

#[test]
fn each_client_gets_its_own_questions() {
    for (ours, theirs, sharing) in [
        (Mode::Stateful, Mode::Stateful, Sharing::PerSession),
        (Mode::Stateful, Mode::Stateless, Sharing::PerSession),
        (Mode::Stateful, Mode::Stateless, Sharing::Shared),
        (Mode::Stateless, Mode::Stateless, Sharing::Shared),
        (Mode::Stateless, Mode::Stateful, Sharing::PerSession),
    ] {
        run(async {
            let barrier = Arc::new(Barrier::new(2));
            let stage = Stage::open(waiting("Ann", &barrier), (ours, theirs), sharing).await;
            let [one, two] = both_ask(&stage, &waiting("Bob", &barrier).mode(ours)).await;
            assert!(one.unwrap().contains("Ann") && two.unwrap().contains("Bob"));
        });
    }
}

#[test]
fn a_question_that_may_be_for_any_of_several_clients_is_refused() {
    for ours in [Mode::Stateful, Mode::Stateless] {
        run(async {
            let stage = Stage::open(named("Ann"), (ours, Mode::Stateful), Sharing::Shared).await;
            let second = connect(&stage.gateway, &named("Bob").mode(ours)).await;
            let hanging = tokio::spawn(second.call_tool("hang", &JsonObject::new()).into_future());
            stage.backend.seen.wait().await;
            assert!(stage.call("ask").await.contains("which client"));
            hanging.abort();
            stage.backend.seen.wait().await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(call(&stage.session, "ask").await, r#"{"name":"Ann"}"#);
        });
    }
}

/// A client that reports each question and never answers one.
fn silent(asked: &Seen) -> Client {
    let asked = asked.clone();
    client().on_elicit(move |_, _| {
        asked.push("asked");
        std::future::pending()
    })
}

fn begin(session: &ClientSession, tool: &str) -> tokio::task::JoinHandle<Result<(), RequestError>> {
    let call = session.call_tool(tool, &JsonObject::new()).into_future();
    tokio::spawn(async move { call.await.map(drop) })
}

/// A gateway whose users share one session with a server that may ask at any time.
async fn shared(limits: GatewayLimits) -> (Backend, Gateway) {
    let backend = Backend::new();
    let upstream = backend.upstream("server").mode(Mode::Stateful).sharing(Sharing::Shared);
    let gateway = gateway().limits(limits).upstream(upstream).open().await.unwrap();
    (backend, gateway)
}

#[test]
fn a_question_ends_with_its_call_and_is_shown_to_no_other_user() {
    for ours in [Mode::Stateful, Mode::Stateless] {
        run(async {
            let (asked, strange) = (Seen::default(), Seen::default());
            let (backend, gateway) = shared(GatewayLimits::default()).await;
            let ann = connect_as(&gateway, &silent(&asked).mode(ours), "ann").await;
            let bob = connect_as(&gateway, &silent(&strange).mode(ours), "bob").await;
            let asking = begin(&ann, "ask");
            asked.wait().await;
            let working = begin(&bob, "hang");
            assert_eq!(backend.seen.wait().await, ["started"]);
            asking.abort();
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(strange.take(), Vec::<String>::new());
            working.abort();
        });
    }
}

/// True if a question is refused that its server asks during a call.
async fn is_refused(backend: &Backend) -> bool {
    let sessions = backend.registry.sessions();
    let form = Elicit::form("Who?", RawJson::parse(r#"{"type":"object"}"#).unwrap());
    let asked = sessions.ask::<Elicit>(sessions.views()[0].id, &form);
    matches!(tokio::time::timeout(Duration::from_secs(5), asked).await, Ok(Err(AskError::Refused(_))))
}

#[test]
fn what_follows_an_answer_reaches_no_other_user() {
    for ours in [Mode::Stateful, Mode::Stateless] {
        run(async {
            let strange = Seen::default();
            let heard = strange.clone();
            let listening = silent(&strange).mode(ours).log_level(Level::Debug).on_log(move |message, _| {
                heard.push(message.data.to_string());
                std::future::ready(())
            });
            let (backend, gateway) = shared(GatewayLimits::default()).await;
            let late = |text| {
                let sessions = backend.registry.sessions();
                sessions.log(Audience::Everyone, Level::Warning, None, &RawJson::text(text));
            };
            let ann = connect_as(&gateway, &named("Ann").mode(ours), "ann").await;
            assert_eq!(call(&ann, "log").await, "logged");
            assert_eq!(call(&ann, "ask").await, r#"{"name":"Ann"}"#, "an answer does not hide its own user");
            let bob = connect_as(&gateway, &listening, "bob").await;
            ann.close(Duration::from_secs(1)).await;
            // While a call of another user runs, and while none does.
            for is_busy in [true, false] {
                let working = is_busy.then(|| begin(&bob, "hang"));
                if is_busy {
                    backend.seen.wait().await;
                }
                late("of Ann");
                assert!(is_refused(&backend).await, "{ours:?} {is_busy}");
                if let Some(working) = working {
                    working.abort();
                    backend.seen.wait().await;
                }
            }
            assert_eq!(strange.take(), Vec::<String>::new());
            tokio::time::sleep(Duration::from_secs(11)).await;
            let working = begin(&bob, "hang");
            backend.seen.wait().await;
            late("of Bob");
            assert_eq!(strange.wait().await, [r#""of Bob""#]);
            working.abort();
        });
    }
}

/// The end of a call without an answer of its server.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Cancelled,
    TimedOut,
    Disconnected,
}

#[test]
fn a_late_question_of_an_ended_call_reaches_no_other_user() {
    for ours in [Mode::Stateful, Mode::Stateless] {
        for end in [End::Cancelled, End::TimedOut, End::Disconnected] {
            run(async {
                let strange = Seen::default();
                let limits = GatewayLimits { timeout: Duration::from_secs(20), ..GatewayLimits::default() };
                let (backend, gateway) = shared(limits).await;
                let ann = connect_as(&gateway, &silent(&strange).mode(ours), "ann").await;
                let bob = connect_as(&gateway, &silent(&strange).mode(ours), "bob").await;
                let call = begin(&ann, "hang");
                assert_eq!(backend.seen.wait().await, ["started"]);
                match end {
                    End::Cancelled => call.abort(),
                    End::TimedOut => tokio::time::sleep(Duration::from_secs(21)).await,
                    End::Disconnected => drop(ann.close(Duration::from_secs(1)).await),
                }
                assert_eq!(backend.seen.wait().await, ["cancelled"]);
                // While another user's call runs, and while none does.
                for is_busy in [true, false] {
                    let working = is_busy.then(|| begin(&bob, "hang"));
                    if is_busy {
                        backend.seen.wait().await;
                    }
                    assert!(is_refused(&backend).await, "{ours:?} {end:?}");
                    if let Some(working) = working {
                        working.abort();
                        backend.seen.wait().await;
                    }
                }
                assert_eq!(strange.take(), Vec::<String>::new());
                // A call that has ended is remembered for as long as one may take.
                tokio::time::sleep(Duration::from_secs(3700)).await;
                let carl = connect_as(&gateway, &named("Carl").mode(ours), "carl").await;
                assert_eq!(crate::stage::call(&carl, "ask").await, r#"{"name":"Carl"}"#);
            });
        }
    }
}

#[test]
fn a_question_without_an_answer_holds_up_no_other() {
    for ours in [Mode::Stateful, Mode::Stateless] {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            run(async {
                let asked = Seen::default();
                let told = asked.clone();
                let silent = client().on_elicit(move |_, _| {
                    told.push("asked");
                    std::future::pending()
                });
                let stage = Stage::open(named("Ann"), (ours, Mode::Stateful), sharing).await;
                let second = connect(&stage.gateway, &silent.mode(ours)).await;
                let waiting = tokio::spawn(second.call_tool("ask", &JsonObject::new()).into_future());
                asked.wait().await;
                assert_eq!(stage.call("ask").await, r#"{"name":"Ann"}"#);
                waiting.abort();
            });
        }
    }
}

#[test]
fn a_change_of_roots_is_passed_on() {
    for sharing in [Sharing::PerSession, Sharing::Shared] {
        run(async {
            let client = client().with_roots(["/a"]).mode(Mode::Stateful);
            let stage = Stage::open(client.clone(), (Mode::Stateful, Mode::Stateful), sharing).await;
            assert_eq!(stage.call("roots").await, "file:///a");
            client.add_root("/b");
            assert_eq!(stage.backend.seen.wait().await, ["roots changed"]);
            assert_eq!(stage.call("roots").await, "file:///a,file:///b");
        });
    }
}

//! Web pages that users are sent to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{Client, ClientSession, Mode, RequestError};
use protomcp_gateway::{Gateway, GatewayLimits};
use protomcp_server::{
    Context, Limits, Server, ServerHandle, ServerInfo, ServerRequest, ServerResult, Service, SessionId,
};
use protomcp_testing::Seen;
use protomcp_types::{
    CallToolResult, ElicitAction, ElicitResult, ErrorObject, JsonObject, RawJson, ServerCapabilities, code,
};
use tokio::time::Instant;

use crate::stage::{Switch, client, connect, gateway, run};

/// A server whose tool works once its user has signed in at a page.
#[derive(Clone, Default)]
struct Guarded {
    has_signed_in: Arc<AtomicBool>,
    /// It does not answer then.
    is_silent: Arc<AtomicBool>,
    /// The sessions of calls.
    sessions: Arc<Mutex<Vec<SessionId>>>,
    seen: Seen,
}

impl Service for Guarded {
    async fn call(&self, _: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        self.sessions.lock().unwrap().push(context.session());
        self.seen.push("called");
        if self.is_silent.load(Ordering::SeqCst) {
            context.cancelled().await;
            self.seen.push("cancelled");
            return Err(ErrorObject::internal("cancelled"));
        }
        if self.has_signed_in.load(Ordering::SeqCst) {
            return Ok(CallToolResult::text("inside").into());
        }
        let data =
            r#"{"elicitations":[{"mode":"url","elicitationId":"1","url":"https://a.example/","message":"Sign in"}]}"#;
        Err(ErrorObject::new(-32042, "sign in first").with_data(RawJson::parse(data).unwrap()))
    }
}

impl Guarded {
    fn server(&self, name: &str) -> (Server<Self>, ServerHandle) {
        let mut info = ServerInfo::new(name, "1");
        info.capabilities = ServerCapabilities::default().with_tools();
        let sessions = ServerHandle::new(info, Limits::default());
        (Server::new(sessions.clone(), self.clone()), sessions)
    }

    async fn gateway(&self) -> (Gateway, ServerHandle) {
        let (server, sessions) = self.server("a");
        let upstream = Switch::default().upstream("a", &server).mode(Mode::Stateful);
        let limits = GatewayLimits { timeout: Duration::from_secs(40), ..GatewayLimits::default() };
        (gateway().limits(limits).upstream(upstream).open().await.unwrap(), sessions)
    }
}

/// A client whose user answers each question about a page so.
fn visiting(seen: &Seen, action: ElicitAction) -> Client {
    let seen = seen.clone();
    client().on_elicit_with_urls(move |page, _| {
        seen.push(format!("{:?}", page.way));
        std::future::ready(Ok(ElicitResult { action, content: None, meta: None }))
    })
}

async fn enter(session: &ClientSession) -> Result<CallToolResult, RequestError> {
    session.call_tool("enter", &JsonObject::new()).await
}

#[test]
fn a_client_without_a_session_is_asked_to_visit_the_page() {
    run(async {
        let (guarded, asked) = (Guarded::default(), Seen::default());
        let (gateway, sessions) = guarded.gateway().await;
        let session = connect(&gateway, &visiting(&asked, ElicitAction::Accept).mode(Mode::Stateless)).await;
        let start = Instant::now();
        let call = tokio::spawn(async move { enter(&session).await });
        assert_eq!(asked.wait().await.len(), 1);
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(!call.is_finished() && asked.take().is_empty(), "the user is asked once");
        guarded.has_signed_in.store(true, Ordering::SeqCst);
        let session = *guarded.sessions.lock().unwrap().last().unwrap();
        sessions.elicitation_complete(session, "1");
        let result = call.await.unwrap().unwrap();
        assert!(result.content.as_str().contains("inside"));
        assert!(start.elapsed() < Duration::from_secs(22), "immediately: {:?}", start.elapsed());
        let sessions = guarded.sessions.lock().unwrap();
        assert!(sessions.iter().all(|other| *other == session), "one session for the whole call");
    });
}

/// Late messages of the server about a call that was cancelled are not taken for ones about the next call.
#[test]
fn a_session_is_not_used_after_a_cancelled_visit() {
    run(async {
        let (guarded, asked) = (Guarded::default(), Seen::default());
        let (gateway, sessions) = guarded.gateway().await;
        let session = connect(&gateway, &visiting(&asked, ElicitAction::Accept).mode(Mode::Stateless)).await;
        let caller = session.clone();
        let call = tokio::spawn(async move { enter(&caller).await });
        assert_eq!(asked.wait().await.len(), 1);
        guarded.seen.take();
        guarded.is_silent.store(true, Ordering::SeqCst);
        let first = *guarded.sessions.lock().unwrap().last().unwrap();
        sessions.elicitation_complete(first, "1");
        assert_eq!(guarded.seen.wait().await, ["called"]);
        call.abort();
        assert_eq!(guarded.seen.wait().await, ["cancelled"]);
        guarded.is_silent.store(false, Ordering::SeqCst);
        guarded.has_signed_in.store(true, Ordering::SeqCst);
        assert!(enter(&session).await.unwrap().content.as_str().contains("inside"));
        assert_ne!(*guarded.sessions.lock().unwrap().last().unwrap(), first);
    });
}

#[test]
fn a_visit_without_an_end_is_looked_for_and_has_a_deadline() {
    run(async {
        let (guarded, asked) = (Guarded::default(), Seen::default());
        let (gateway, _) = guarded.gateway().await;
        let session = connect(&gateway, &visiting(&asked, ElicitAction::Accept).mode(Mode::Stateless)).await;
        let start = Instant::now();
        let failed = enter(&session).await.unwrap();
        assert!(failed.is_error && failed.content.as_str().contains("has not finished"), "{failed:?}");
        let calls = guarded.seen.take().len();
        assert!((5..12).contains(&calls), "{calls} calls in {:?}", start.elapsed());
        assert!(start.elapsed() <= Duration::from_secs(58), "{:?}", start.elapsed());
        let call = tokio::spawn(async move { enter(&session).await });
        guarded.seen.wait().await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        guarded.has_signed_in.store(true, Ordering::SeqCst);
        assert!(call.await.unwrap().unwrap().content.as_str().contains("inside"), "no notice is needed");
    });
}

#[test]
fn a_user_who_does_not_visit_the_page_ends_the_call() {
    run(async {
        for action in [ElicitAction::Decline, ElicitAction::Cancel] {
            let (guarded, asked) = (Guarded::default(), Seen::default());
            let (gateway, _) = guarded.gateway().await;
            let session = connect(&gateway, &visiting(&asked, action).mode(Mode::Stateless)).await;
            let failed = enter(&session).await.unwrap();
            assert!(failed.is_error && failed.content.as_str().contains("does not visit"), "{failed:?}");
            assert_eq!((asked.take().len(), guarded.seen.take().len()), (1, 1));
        }
        let guarded = Guarded::default();
        let (gateway, _) = guarded.gateway().await;
        let session = connect(&gateway, &client().mode(Mode::Stateless)).await;
        let Err(RequestError::Refused(error)) = enter(&session).await else { panic!("it has no pages") };
        assert_eq!(error.code, code::MISSING_CLIENT_CAPABILITY);
    });
}

#[test]
fn equal_ids_of_two_servers_are_told_apart() {
    run(async {
        let (a, b, ended) = (Guarded::default(), Guarded::default(), Seen::default());
        let [(of_a, sessions_a), (of_b, sessions_b)] = [a.server("a"), b.server("b")];
        let upstream = |name: &str, server: &Server<Guarded>| {
            Switch::default().upstream(name, server).mode(Mode::Stateful).prefix(format!("{name}_"))
        };
        let gateway = gateway().upstream(upstream("a", &of_a)).upstream(upstream("b", &of_b)).open().await.unwrap();
        let heard = ended.clone();
        let host = client().on_elicit_with_urls(|_, _| async { Err(ErrorObject::internal("not asked")) });
        let host = host.observe_notifications(move |notice, _| {
            if notice.method == "notifications/elicitation/complete" {
                heard.push(notice.params.member("elicitationId").unwrap().to::<String>().unwrap());
            }
        });
        let session = connect(&gateway, &host.mode(Mode::Stateful)).await;
        let mut ids = Vec::new();
        for tool in ["a_enter", "b_enter"] {
            let Err(RequestError::Refused(error)) = session.call_tool(tool, &JsonObject::new()).await else {
                panic!("it wants a sign-in")
            };
            let data: serde_json::Value = error.data.unwrap().to().unwrap();
            ids.push(data["elicitations"][0]["elicitationId"].as_str().unwrap().to_owned());
        }
        assert_ne!(ids[0], ids[1]);
        let session_of = |server: &Guarded| *server.sessions.lock().unwrap().last().unwrap();
        sessions_b.elicitation_complete(session_of(&b), "1");
        assert_eq!(ended.wait().await, [ids[1].clone()]);
        sessions_a.elicitation_complete(session_of(&a), "1");
        assert_eq!(ended.wait().await, [ids[0].clone()]);
    });
}

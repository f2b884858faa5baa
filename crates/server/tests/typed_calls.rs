//! Typed calls, for a front with its own protocol: results, reports, cancellation, notices, and the end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use protomcp_fair::Owner;
use protomcp_server::{
    AskError, Audience, CallInfo, ClientInfo, Context, Extensions, Handler, InputRequest, Limits, MemberNotice,
    Membership, OutgoingLayer, Outlet, Peer, ProgressCallback, Router, RunningCall, Server, ServerHandle, ServerInfo,
    ServerRequest, ServerResult, SessionId, SingleCaller, SingleReports,
};
use protomcp_testing::run_paused;
use protomcp_types::{
    CallTool, CallToolResult, ClientCapabilities, ErrorObject, GetPrompt, Implementation, Level, ListCapability,
    ListRoots, Notification, Progress, ProgressToken, ProtocolVersion, RawJson, RequestId, ServerCapabilities,
    Subscribe, Unsubscribe, code,
};

struct Tools(ServerHandle);

impl Handler for Tools {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.0.info())
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        match call.name.as_str() {
            "report" => {
                context.progress(&Progress::new(1).of(2));
                context.log(Level::Warning, Some("tools"), &RawJson::text("slow"));
            }
            "ask" => {
                let roots = context.ask::<ListRoots>(&ListRoots::default()).await;
                return Ok(CallToolResult::text(format!("{:?}", roots.map(|result| result.roots.len()))));
            }
            "wait" => context.cancelled().await,
            "change" => self.0.tools_changed(Audience::Everyone),
            _ => return Err(ErrorObject::unknown_tool(&call.name)),
        }
        Ok(CallToolResult::text(call.name))
    }
}

/// Keeps what a call sends, and answers questions with no roots.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<String>>);

impl Kept {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Outlet for Kept {
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool {
        let entry = format!("{} {:?} {:?}", info.request_id(), progress.progress, progress.total);
        self.0.lock().unwrap().push(entry);
        true
    }

    fn send_log(&self, _: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson) {
        self.0.lock().unwrap().push(format!("{} {logger:?} {data}", level.as_str()));
    }

    fn ask_client(
        self: Arc<Self>,
        _: &CallInfo,
        questions: Vec<InputRequest>,
        _: Duration,
        _: Option<ProgressCallback>,
    ) -> BoxFuture<'static, Result<Vec<RawJson>, AskError>> {
        let answer = |_| RawJson::parse(r#"{"roots":[]}"#).unwrap();
        ready(Ok(questions.into_iter().map(answer).collect())).boxed()
    }
}

fn server() -> Server<Router<Tools>> {
    server_within(Limits::default())
}

fn server_within(limits: Limits) -> Server<Router<Tools>> {
    let capabilities = ServerCapabilities::default().with_tools().with_logging();
    let info = ServerInfo::new("tools", "1.0").with_capabilities(capabilities);
    let sessions = ServerHandle::new(info, limits);
    Server::with_sessions(sessions.clone(), Tools(sessions))
}

fn client(version: ProtocolVersion, capabilities: ClientCapabilities) -> ClientInfo {
    ClientInfo { version, implementation: Implementation::new("front", "1.0"), capabilities }
}

fn join(server: &Server<Router<Tools>>) -> Membership {
    let roots = ClientCapabilities::new().with("roots", RawJson::EMPTY_OBJECT);
    server.join(Peer::new(None, None, None), client(ProtocolVersion::NEWEST_STATEFUL, roots))
}

fn request(tool: &str) -> ServerRequest {
    ServerRequest::CallTool(CallTool { name: tool.to_owned(), arguments: None, meta: None, task: None })
}

fn call(server: &Server<Router<Tools>>, membership: &Membership, tool: &str, outlet: &Arc<Kept>) -> RunningCall {
    let mut facts = membership.facts(RequestId::from("a"));
    facts.progress_token = Some(ProgressToken::from("t"));
    let outlet = Arc::clone(outlet);
    server.call(request(tool), facts, outlet)
}

fn text(result: Result<ServerResult, ErrorObject>) -> String {
    match result {
        Ok(ServerResult::CallTool(result)) => result.content.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_typed_call_reports_through_its_outlet() {
    run_paused(async {
        let server = server();
        let (membership, outlet) = (join(&server), Arc::<Kept>::default());
        assert!(text(call(&server, &membership, "report", &outlet).await).contains("report"));
        let reports = outlet.take();
        assert_eq!(reports, [r#""a" Integer(1) Some(Integer(2))"#, r#"warning Some("tools") "slow""#]);
        assert!(text(call(&server, &membership, "ask", &outlet).await).contains("Ok(0)"));
        let get = GetPrompt { name: "p".into(), arguments: None, meta: None };
        let facts = membership.facts(RequestId::from(1));
        let refused = server.call(ServerRequest::GetPrompt(get), facts, outlet).await;
        assert_eq!(refused.unwrap_err().code, code::METHOD_NOT_FOUND);
    });
}

#[test]
fn a_member_takes_log_messages_from_its_level_on() {
    run_paused(async {
        let server = server();
        let mut membership = join(&server);
        let say = |level| server.handle().log(Audience::Everyone, level, None, &RawJson::text("said"));
        membership.set_log_level(Level::Error);
        say(Level::Warning);
        say(Level::Error);
        let Some(MemberNotice::Notification(told)) = membership.next().await else { panic!("another notice") };
        assert_eq!(told.params.member("level").map(RawJson::as_str), Some(r#""error""#));
        membership.set_log_level(None);
        say(Level::Emergency);
        assert!(membership.next().now_or_never().is_none());
        membership.set_log_level(Level::Debug);
        say(Level::Debug);
        assert!(membership.next().await.is_some());
    });
}

/// Has no way for anything.
#[derive(Debug)]
struct Silent;

impl Outlet for Silent {
    fn send_progress(&self, _: &CallInfo, _: &Progress) -> bool {
        false
    }

    fn send_log(&self, _: &CallInfo, _: Level, _: Option<&str>, _: &RawJson) {}
}

#[test]
fn an_outlet_without_a_way_for_questions_fails_them() {
    run_paused(async {
        let server = server();
        let membership = join(&server);
        let facts = membership.facts(RequestId::from(1));
        assert!(text(server.call(request("ask"), facts, Arc::new(Silent)).await).contains("Err(Gone)"));
    });
}

/// Takes subscriptions to any resource.
struct Watched(ServerHandle);

impl Handler for Watched {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.0.info())
    }

    async fn subscribe(&self, _: Subscribe, _: Context) -> Result<(), ErrorObject> {
        Ok(())
    }
}

#[test]
fn a_member_hears_of_the_resources_that_it_watches() {
    run_paused(async {
        let resources = Some(ListCapability { list_changed: false, subscribe: true });
        let capabilities = ServerCapabilities { resources, ..ServerCapabilities::default() };
        let info = ServerInfo::new("watched", "1.0").with_capabilities(capabilities);
        let sessions = ServerHandle::new(info, Limits::default());
        let server = Server::with_sessions(sessions.clone(), Watched(sessions.clone()));
        let of = client(ProtocolVersion::NEWEST_STATEFUL, ClientCapabilities::new());
        let mut membership = server.join(Peer::new(None, None, None), of);
        let facts = membership.facts(RequestId::from(1));
        let ask = |request| server.call(request, facts.clone(), Arc::new(Silent));
        ask(ServerRequest::Subscribe(Subscribe::new("r:a"))).await.unwrap();
        for uri in ["r:b", "r:a"] {
            sessions.resource_updated(uri);
        }
        let Some(MemberNotice::Notification(told)) = membership.next().await else { panic!("another notice") };
        let uri = told.params.member("uri").map(RawJson::as_str);
        assert_eq!((&*told.method, uri), ("notifications/resources/updated", Some(r#""r:a""#)));
        ask(ServerRequest::Unsubscribe(Unsubscribe::new("r:a"))).await.unwrap();
        sessions.resource_updated("r:a");
        assert!(membership.next().now_or_never().is_none());
    });
}

/// Withholds log messages.
struct Discreet;

impl OutgoingLayer for Discreet {
    fn notification(&self, _: SessionId, notification: Notification) -> Option<Notification> {
        (notification.method != "notifications/message").then_some(notification)
    }
}

#[test]
fn reports_of_typed_calls_pass_the_outgoing_layers() {
    run_paused(async {
        let server = server().outgoing_layer(Discreet);
        let (membership, outlet) = (join(&server), Arc::<Kept>::default());
        call(&server, &membership, "report", &outlet).await.unwrap();
        assert_eq!(outlet.take().len(), 1, "the progress alone");
    });
}

#[test]
fn a_call_that_is_dropped_or_cancelled_ends() {
    run_paused(async {
        let server = server();
        let (mut membership, outlet) = (join(&server), Arc::<Kept>::default());
        let mut cancelled = call(&server, &membership, "wait", &outlet);
        assert!((&mut cancelled).now_or_never().is_none());
        cancelled.cancel();
        assert!(text(cancelled.await).contains("wait"), "it has answered within its grace");
        let mut dropped = call(&server, &membership, "wait", &outlet);
        assert!((&mut dropped).now_or_never().is_none());
        drop(dropped);
        server.handle().shutdown();
        assert!(membership.next().await.is_none(), "no call is left");
    });
}

#[test]
fn the_bytes_of_a_call_count_for_its_caller() {
    run_paused(async {
        let server = server_within(Limits { max_inbound_bytes: 64 * 1024, ..Limits::default() });
        let (membership, outlet) = (join(&server), Arc::<Kept>::default());
        let call = |name: &str| {
            let mut facts = membership.facts(RequestId::from("a"));
            facts.caller.owner = Owner::Principal(name.into());
            let outlet = Arc::clone(&outlet);
            server.call(request("wait"), facts, outlet)
        };
        let (mut running, mut refused) = (Vec::new(), None);
        while refused.is_none() {
            let mut next = call("ann");
            refused = (&mut next).now_or_never();
            running.push(next);
        }
        assert!(running.len() > 1 && refused.is_some_and(|outcome| outcome.is_err()), "{}", running.len());
        let mut other = call("ben");
        assert!((&mut other).now_or_never().is_none(), "the bytes of one caller leave some to another");
    });
}

#[test]
fn a_changed_list_is_one_notice() {
    run_paused(async {
        let server = server();
        let (mut membership, outlet) = (join(&server), Arc::<Kept>::default());
        for _ in 0..3 {
            call(&server, &membership, "change", &outlet).await.unwrap();
        }
        let Some(MemberNotice::Notification(notice)) = membership.next().await else { panic!("no notice") };
        assert_eq!(notice.method, "notifications/tools/list_changed");
        assert!(membership.next().now_or_never().is_none());
    });
}

#[test]
fn a_member_is_a_session_that_can_be_asked() {
    run_paused(async {
        let server = server();
        let mut membership = join(&server);
        let views = server.handle().views();
        assert_eq!(views[0].client.implementation.name, "front");
        let asked = tokio::spawn(server.handle().ask::<ListRoots>(views[0].id, &ListRoots::default()).into_future());
        let Some(MemberNotice::Question(question)) = membership.next().await else { panic!("no question") };
        assert_eq!(question.method, "roots/list");
        question.answer(Ok(RawJson::parse(r#"{"roots":[]}"#).unwrap().into()));
        assert!(asked.await.unwrap().unwrap().roots.is_empty());
        drop(membership);
        assert!(server.handle().views().is_empty());
    });
}

#[test]
fn a_single_call_has_no_session_and_no_questions() {
    run_paused(async {
        let server = server();
        let client = Arc::new(client(ProtocolVersion::V2026_07_28, ClientCapabilities::new()));
        let call = |tool| server.call_once(request(tool), single(&client, None));
        assert!(text(call("report").await.outcome).contains("report"));
        assert!(text(call("ask").await.outcome).contains("NotSupported"));
        assert_eq!(server.handle().count(), 0);
        let mut dropped = call("wait");
        assert!((&mut dropped).now_or_never().is_none());
        drop(dropped);
        server.handle().shutdown();
        assert_eq!(call("report").await.outcome.unwrap_err().code, code::INTERNAL_ERROR);
    });
}

/// The sender of a single call.
fn single(client: &Arc<ClientInfo>, reports: Option<SingleReports>) -> SingleCaller {
    let (client, peer) = (Arc::clone(client), Peer::new(None, None, None));
    SingleCaller { client, peer, known: Extensions::default(), reports }
}

#[test]
fn a_single_call_reports_what_its_client_wants() {
    run_paused(async {
        let server = server();
        let client = Arc::new(client(ProtocolVersion::V2026_07_28, ClientCapabilities::new()));
        for (token, log_level, expected) in [
            (Some("t"), Some(Level::Info), &["notifications/progress", "notifications/message"][..]),
            (None, Some(Level::Warning), &["notifications/message"]),
            (None, Some(Level::Error), &[]),
            (Some("t"), None, &["notifications/progress"]),
        ] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let heard = Arc::clone(&seen);
            let reports = SingleReports {
                progress_token: token.map(ProgressToken::from),
                log_level,
                on_report: Box::new(move |report| heard.lock().unwrap().push(report.method.to_string())),
            };
            let answer = server.call_once(request("report"), single(&client, Some(reports))).await;
            assert!(text(answer.outcome).contains("report"));
            assert_eq!(*seen.lock().unwrap(), expected, "{token:?} {log_level:?}");
        }
    });
}

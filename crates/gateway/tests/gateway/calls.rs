//! Calls through the gateway: their text, progress, cancellation, and log messages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{Mode, RequestError};
use protomcp_gateway::Sharing;
use protomcp_server::{Context, Limits, Server, ServerHandle, ServerInfo, ServerRequest, ServerResult, Service};
use protomcp_testing::Seen;
use protomcp_types::{CallTool, ErrorObject, JsonBuf, JsonObject, Level, RawJson, Reference, code};

use crate::stage::{ERAS, Switch, client, connect, everywhere, gateway, run};

#[test]
fn each_request_has_the_answer_of_the_server() {
    everywhere(client, async |stage| {
        let session = &stage.session;
        let server = session.server();
        assert_eq!(server.implementation.as_ref().unwrap().name, "server");
        assert_eq!(server.instructions.as_deref(), Some("be kind"));
        let result = session.call_tool("add", &serde_json::json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(result.structured_content.unwrap().as_str(), r#"{"sum":3}"#);
        let failed = session.call_tool("fail", &JsonObject::new()).await.unwrap();
        assert!(failed.is_error && failed.content.as_str().contains("no luck"));
        let read = session.read_resource("test:a").await.unwrap();
        assert!(read.contents[0].clone().into_raw().as_str().contains("content of a"));
        let item = session.read_resource("test:item/7").await.unwrap();
        assert!(item.contents[0].clone().into_raw().as_str().contains("item 7"));
        let prompt = session.get_prompt("greet", &JsonObject::new()).await.unwrap();
        assert!(prompt.messages.as_str().contains("hi"));
        let reference = Reference::Resource { uri: "test:item/{id}".into() };
        session.complete(reference, "id", "").await.unwrap();
        session.ping().await.unwrap();
    });
}

#[test]
fn refusals_of_the_server_are_passed_on() {
    everywhere(client, async |stage| {
        let is_stateless = !stage.session.server().is_stateful();
        let refused = |outcome| match outcome {
            Err(RequestError::Refused(error)) => error,
            other => panic!("{other:?}"),
        };
        let unknown = refused(stage.session.call_tool("nothing", &JsonObject::new()).raw().await);
        assert_eq!(unknown.code, code::INVALID_PARAMS);
        let missing = refused(stage.session.read_resource("x:y").raw().await);
        let expected = if is_stateless { code::INVALID_PARAMS } else { code::RESOURCE_NOT_FOUND };
        assert_eq!(missing.code, expected);
        assert!(missing.data.unwrap().as_str().contains("x:y"));
    });
}

/// Answers every call with its own text, and with members that no revision has.
#[derive(Clone)]
struct Mirror(Seen);

impl Service for Mirror {
    async fn call(&self, request: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        let ServerRequest::CallTool(CallTool { arguments: Some(arguments), meta: Some(meta), .. }) = request else {
            return Err(ErrorObject::internal("only calls with arguments"));
        };
        let meta = JsonObject::from_raw(&meta).expect("it is an object");
        self.0.push(format!("{arguments} {}", meta.member("custom").expect("the client has sent it")));
        let raw = |text: &'static str| RawJson::parse(text).expect("it is JSON");
        let body = JsonBuf::object()
            .raw("content", &raw(r#"[ {"type":"text","text":"é","annotations":{"priority":0.50}} ]"#))
            .raw("structuredContent", &arguments)
            .raw("later", &raw("[9007199254740993]"))
            .raw("_meta", &raw(r#"{"own":1.0}"#));
        Ok(ServerResult::Body(body.finish()))
    }
}

#[test]
fn arguments_and_results_keep_their_text() {
    for (ours, theirs) in ERAS {
        run(async {
            let seen = Seen::default();
            let sessions = ServerHandle::new(ServerInfo::new("mirror", "1"), Limits::default());
            let mirror = Server::new(sessions, Mirror(seen.clone()));
            let upstream = Switch::default().upstream("mirror", &mirror).mode(theirs);
            let gateway = gateway().upstream(upstream).open().await.unwrap();
            let session = connect(&gateway, &client().mode(ours)).await;
            let arguments = r#"{ "n": 9007199254740993,  "text": "\u00e9", "f": 1.50 }"#;
            let call = CallTool {
                arguments: Some(RawJson::parse(arguments).unwrap()),
                meta: Some(RawJson::parse(r#"{"custom":{ "a":1 }}"#).unwrap()),
                ..CallTool::new("any")
            };
            let answer = session.forward(ServerRequest::CallTool(call)).raw().await.unwrap();
            assert_eq!(seen.take(), [format!(r#"{arguments} {{ "a":1 }}"#)]);
            let members = JsonObject::from_raw(&answer).unwrap();
            let text = |name: &str| members.member(name).unwrap().as_str().to_owned();
            assert_eq!(text("content"), r#"[ {"type":"text","text":"é","annotations":{"priority":0.50}} ]"#);
            assert_eq!((text("structuredContent"), text("later")), (arguments.into(), "[9007199254740993]".into()));
            assert!(text("_meta").starts_with(r#"{"own":1.0"#));
        });
    }
}

#[test]
fn progress_comes_in_order_and_before_the_answer() {
    everywhere(client, async |stage| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let report = Arc::clone(&seen);
        let call = stage.session.call_tool("count", &JsonObject::new());
        call.on_progress(move |progress| report.lock().unwrap().push(progress.progress.to_raw().unwrap()))
            .await
            .unwrap();
        let seen: Vec<_> = seen.lock().unwrap().iter().map(RawJson::to_string).collect();
        assert_eq!(seen, ["1", "2", "3"]);
    });
}

#[test]
fn a_cancelled_call_is_cancelled_at_the_server() {
    everywhere(client, async |stage| {
        let call = tokio::spawn(stage.session.call_tool("hang", &JsonObject::new()).into_future());
        assert_eq!(stage.backend.seen.wait().await, ["started"]);
        call.abort();
        assert_eq!(stage.backend.seen.wait().await, ["cancelled"]);
    });
}

#[test]
fn log_messages_have_the_level_that_the_client_wants() {
    let told = Seen::default();
    let heard = told.clone();
    let listening = || {
        let heard = heard.clone();
        client().log_level(Level::Info).on_log(move |message, _| {
            let heard = heard.clone();
            async move { heard.push(format!("{} {:?} {}", message.level, message.logger, message.data)) }
        })
    };
    everywhere(listening, async |stage| {
        stage.call("log").await;
        assert_eq!(told.wait().await, [r#"warning Some("test") "hello""#]);
        stage.session.set_level(Level::Debug).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage.call("log").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(told.take().len(), 2);
    });
}

#[test]
fn a_session_of_a_client_has_the_name_of_the_client() {
    for (ours, theirs) in ERAS {
        for (sharing, stateful) in [(Sharing::PerSession, "host"), (Sharing::Shared, "gateway")] {
            run(async {
                let stage = crate::stage::Stage::open(client(), (ours, theirs), sharing).await;
                // A stateless server learns the client with each request.
                let is_known = (ours, theirs) == (Mode::Stateful, Mode::Stateful);
                let expected = match theirs {
                    Mode::Stateless => "host",
                    _ if is_known => stateful,
                    _ => "gateway",
                };
                assert_eq!(stage.call("whoami").await, expected);
            });
        }
    }
}

//! Calls, their progress, deadlines and cancellation.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{CallError, ClientLimits, RequestError};
use protomcp_types::{ErrorObject, JsonObject, ListTools, RawJson, Reference, code};

use super::server::{client, in_both_eras};

#[test]
fn each_request_has_its_answer() {
    in_both_eras(client, async |stage| {
        let session = &stage.session;
        let server = session.server();
        assert_eq!(server.implementation.as_ref().unwrap().name, "server");
        assert_eq!(server.instructions.as_deref(), Some("be kind"));
        let result = session.call_tool("add", &serde_json::json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(result.structured_content.unwrap().as_str(), r#"{"sum":3}"#);
        let read = session.read_resource("test:a").await.unwrap();
        assert!(read.contents[0].clone().into_raw().as_str().contains("content of a"));
        let prompt = session.get_prompt("greet", &JsonObject::new()).await.unwrap();
        assert!(prompt.messages.as_str().contains("hi"));
        let reference = Reference::Resource { uri: "test:item/{id}".into() };
        session.complete(reference, "id", "").await.unwrap();
        session.ping().await.unwrap();
        let page = session.request::<ListTools>(&ListTools::default()).await.unwrap();
        assert!(page.next_cursor.is_some());
    });
}

#[test]
fn typed_calls_read_structured_content() {
    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Sum {
        sum: i64,
    }
    in_both_eras(client, async |stage| {
        let arguments = serde_json::json!({"a": 40, "b": 2});
        assert_eq!(stage.session.call_tool_typed::<_, Sum>("add", &arguments).await, Ok(Sum { sum: 42 }));
        let failed = stage.session.call_tool_typed::<_, Sum>("fail", &JsonObject::new()).await;
        assert!(matches!(failed, Err(CallError::Tool { text, .. }) if text.contains("no luck")));
        let unknown = stage.session.call_tool_typed::<_, Sum>("nothing", &JsonObject::new()).await;
        assert!(matches!(
            unknown,
            Err(CallError::Request(RequestError::Refused(ErrorObject { code: code::INVALID_PARAMS, .. })))
        ));
    });
}

#[test]
fn progress_comes_in_order_and_before_the_answer() {
    in_both_eras(client, async |stage| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let report = Arc::clone(&seen);
        let call = stage.session.call_tool("count", &JsonObject::new());
        let call = call.on_progress(move |progress| report.lock().unwrap().push(progress.progress.to_raw().unwrap()));
        call.await.unwrap();
        let seen: Vec<_> = seen.lock().unwrap().iter().map(RawJson::to_string).collect();
        assert_eq!(seen, ["1", "2", "3"]);
    });
}

#[test]
fn a_panic_in_a_callback_harms_nothing() {
    in_both_eras(client, async |stage| {
        let call = stage.session.call_tool("count", &JsonObject::new()).on_progress(|_| panic!("oops"));
        call.await.unwrap();
        stage.session.ping().await.unwrap();
    });
}

#[test]
fn a_dropped_call_is_cancelled_at_the_server() {
    in_both_eras(client, async |stage| {
        let call = tokio::spawn(stage.session.call_tool("hang", &JsonObject::new()).into_future());
        assert_eq!(stage.seen.wait().await, ["started"]);
        call.abort();
        assert_eq!(stage.seen.wait().await, ["cancelled"]);
        stage.session.ping().await.unwrap();
    });
}

#[test]
fn a_call_out_of_time_fails_and_is_cancelled() {
    in_both_eras(client, async |stage| {
        let call = stage.session.call_tool("hang", &JsonObject::new()).timeout(Duration::from_secs(3));
        assert_eq!(call.await, Err(RequestError::TimedOut(Duration::from_secs(3))));
        assert_eq!(stage.seen.wait().await.last().unwrap(), "cancelled");
        // There is a time limit even if none is named.
        assert!(matches!(stage.session.call_tool("hang", &JsonObject::new()).await, Err(RequestError::TimedOut(_))));
    });
}

#[test]
fn calls_without_an_answer_are_bounded() {
    let few = || {
        let limits = ClientLimits { max_pending: 1, ..Default::default() };
        client().limits(limits)
    };
    in_both_eras(few, async |stage| {
        let call = stage.session.call_tool("hang", &JsonObject::new()).into_future();
        assert_eq!(stage.session.call_tool("count", &JsonObject::new()).await, Err(RequestError::TooMany));
        drop(call);
        // The place is free as soon as the cancellation has arrived.
        while let Err(error) = stage.session.call_tool("count", &JsonObject::new()).await {
            assert_eq!(error, RequestError::TooMany);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn a_missing_resource_is_recognized_in_both_eras() {
    in_both_eras(client, async |stage| {
        let error = stage.session.read_resource("test:nothing").await.unwrap_err();
        assert!(error.is_resource_not_found(), "{error}");
        let is_stateful = stage.session.server().version.is_stateful();
        assert_eq!(error.code(), Some(if is_stateful { code::RESOURCE_NOT_FOUND } else { code::INVALID_PARAMS }));
        let error = stage.session.call_tool("nothing", &JsonObject::new()).await.unwrap_err();
        assert!(!error.is_resource_not_found(), "{error}");
    });
}

#[test]
fn what_is_not_an_object_is_not_sent() {
    in_both_eras(client, async |stage| {
        struct Bad;
        impl serde::Serialize for Bad {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("cannot be written"))
            }
        }
        let failed = stage.session.call_tool("add", &Bad).await;
        assert_eq!(failed, Err(RequestError::InvalidParams("cannot be written".into())));
    });
}

#[test]
fn limits_of_any_size_are_usable() {
    let changes: [fn(&mut ClientLimits); 5] = [
        |limits| limits.max_pending = usize::MAX,
        |limits| limits.max_incoming = usize::MAX,
        |limits| {
            limits.max_incoming_bytes = usize::MAX;
            limits.max_unwritten = usize::MAX;
            limits.max_rounds = u32::MAX;
        },
        |limits| limits.total_timeout = Duration::MAX,
        |limits| {
            limits.discover_timeout = Duration::MAX;
            limits.open_timeout = Duration::MAX;
            limits.timeout = Duration::MAX;
            limits.task_timeout = Duration::MAX;
        },
    ];
    for change in changes {
        let client = || {
            let mut limits = ClientLimits::default();
            change(&mut limits);
            client().limits(limits).answer_timeout(Duration::MAX).keep_alive(Duration::MAX, u32::MAX)
        };
        in_both_eras(client, async |stage| {
            stage.session.call_tool("count", &JsonObject::new()).await.unwrap();
            stage.session.subscribe("test:a").await.unwrap();
        });
    }
}

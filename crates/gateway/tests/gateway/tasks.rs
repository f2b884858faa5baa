//! Calls as tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{Mode, RequestError};
use protomcp_gateway::Sharing;
use protomcp_typed::{Registry, Tool};
use protomcp_types::{JsonObject, code};

use crate::lists::tools;
use crate::stage::{Backend, ERAS, Stage, client, connect, gateway, run};

#[test]
fn a_call_can_be_a_task() {
    for eras in ERAS {
        run(async {
            let stage = Stage::open(client(), eras, Sharing::PerSession).await;
            let notices = Arc::new(Mutex::new(0));
            let told = Arc::clone(&notices);
            let call = stage.session.call_tool("long", &JsonObject::new());
            let result = call.as_task(None).on_task(move |_| *told.lock().unwrap() += 1).await.unwrap();
            assert!(result.content.as_str().contains("worked as"), "{result:?}");
            assert!(*notices.lock().unwrap() > 0, "{eras:?}");
        });
    }
}

#[test]
fn a_tool_that_has_to_be_a_task_is_one_at_the_server() {
    for (eras, can_be_called) in ERAS.into_iter().zip([false, true, true, true]) {
        run(async {
            let stage = Stage::open(client(), eras, Sharing::PerSession).await;
            let call = || stage.session.call_tool("task", &JsonObject::new());
            match call().await {
                Ok(result) => assert!(can_be_called && result.content.as_str().contains("a task"), "{result:?}"),
                Err(RequestError::Refused(error)) => {
                    assert!(!can_be_called && error.code == code::METHOD_NOT_FOUND, "{eras:?} {error}");
                }
                Err(error) => panic!("{eras:?} {error}"),
            }
            let result = call().as_task(None).await.unwrap();
            assert!(result.content.as_str().contains("a task"), "{eras:?} {result:?}");
        });
    }
}

#[test]
fn a_tool_that_cannot_be_a_task_refuses_to() {
    run(async {
        let stage = Stage::open(client(), (Mode::Stateful, Mode::Stateful), Sharing::PerSession).await;
        let refused = stage.session.call_tool("log", &JsonObject::new()).as_task(None).await;
        let Err(RequestError::Refused(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.code, code::METHOD_NOT_FOUND);
    });
}

#[test]
fn tasks_of_a_server_that_arrives_late_can_be_used() {
    for eras in ERAS {
        run(async {
            let (a, b) = (Backend::new(), Backend::new());
            b.switch().set_off(true);
            // The first one has no tasks.
            let plain = Registry::builder("a", "1").tool(Tool::new("log", "Logs").handler(async || "logged"));
            let of_a = a.switch().upstream("a", &plain.build().unwrap().server()).mode(eras.1).prefix("a_");
            let gateway = gateway().upstream(of_a).upstream(b.upstream("b").mode(eras.1).prefix("b_"));
            let gateway = gateway.open().await.unwrap();
            let session = connect(&gateway, &client().mode(eras.0)).await;
            assert_eq!(tools(&session).await, ["a_log"]);
            b.switch().set_off(false);
            tokio::time::sleep(Duration::from_secs(20)).await;
            let result = session.call_tool("b_task", &JsonObject::new()).as_task(None).await.unwrap();
            assert!(result.content.as_str().contains("a task"), "{eras:?} {result:?}");
        });
    }
}

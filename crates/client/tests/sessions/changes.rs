//! Notifications of the server: changes of lists and resources, and log messages.

use std::sync::Arc;
use std::time::Duration;

use protomcp_client::{ListChanged, Mode};
use protomcp_session::ServerRequest;
use protomcp_testing::{Seen, run_paused};
use protomcp_typed::Tool;
use protomcp_types::{CallTool, JsonObject, Level, Params, method};

use super::server::{Stage, client, in_both_eras};

#[test]
fn list_changes_are_announced() {
    let told = Seen::default();
    for mode in [Mode::Stateful, Mode::Stateless] {
        let heard = told.clone();
        let client = client().on_list_changed(move |list, server| {
            let heard = heard.clone();
            async move {
                // The handler may use the session.
                let session = server.session().unwrap();
                let tools = session.list_tools(None).await.unwrap();
                heard.push(format!("{list:?} {}", tools.items.len()));
            }
        });
        run_paused(async {
            let stage = Stage::open(mode, client).await;
            // Without a session, the subscription is under way.
            tokio::time::sleep(Duration::from_secs(1)).await;
            stage.registry.tools().insert(Tool::new("new", "New").handler(async || "new")).unwrap();
            assert_eq!(told.wait().await, [format!("{:?} 3", ListChanged::Tools)]);
        });
    }
}

#[test]
fn changes_of_a_subscribed_resource_are_announced() {
    let told = Seen::default();
    let heard = told.clone();
    let listening = || {
        let heard = heard.clone();
        client().on_resource_updated(move |uri, _| {
            let heard = heard.clone();
            async move { heard.push(uri) }
        })
    };
    in_both_eras(listening, async |stage| {
        stage.session.subscribe("test:a").await.unwrap();
        stage.registry.resource_updated("test:other");
        stage.registry.resource_updated("test:a");
        assert_eq!(told.wait().await, ["test:a"]);
        stage.session.unsubscribe("test:a").await.unwrap();
        stage.registry.resource_updated("test:a");
        stage.session.subscribe("test:b").await.unwrap();
        stage.registry.resource_updated("test:b");
        assert_eq!(told.wait().await, ["test:b"]);
    });
}

#[test]
fn log_messages_come_from_the_wanted_level_on() {
    let told = Seen::default();
    let heard = Arc::new(told.clone());
    let listening = || {
        let heard = Arc::clone(&heard);
        client().log_level(Level::Info).on_log(move |message, _| {
            let heard = Arc::clone(&heard);
            async move { heard.push(format!("{} {:?} {}", message.level, message.logger, message.data)) }
        })
    };
    in_both_eras(listening, async |stage| {
        stage.session.call_tool("log", &JsonObject::new()).await.unwrap();
        assert_eq!(told.wait().await, [r#"info Some("test") "hello""#]);
        stage.session.set_level(Level::Debug).await.unwrap();
        stage.session.call_tool("log", &JsonObject::new()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(told.take().len(), 2);
    });
}

#[test]
fn an_observer_sees_notifications_in_order_with_answers() {
    let told = Seen::default();
    let heard = told.clone();
    let watching = || {
        let heard = heard.clone();
        client().log_level(Level::Info).observe_notifications(move |notification, server| {
            assert!(server.session().is_some());
            heard.push(notification.method.clone());
        })
    };
    in_both_eras(watching, async |stage| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let call = ServerRequest::CallTool(CallTool::new("log"));
        let answer = stage.session.forward(call).raw().await.unwrap();
        assert_eq!(told.take(), [method::LOG]);
        assert!(answer.as_str().contains("logged"));
        stage.registry.tools().insert(Tool::new("new", "New").handler(async || "new")).unwrap();
        assert_eq!(told.wait().await, [method::TOOLS_CHANGED]);
    });
}

#[test]
fn a_notification_goes_to_servers_with_sessions() {
    for (mode, seen) in [(Mode::Stateful, true), (Mode::Stateless, false)] {
        run_paused(async {
            let stage = Stage::open(mode, client().with_roots(["/a"])).await;
            stage.session.notify(method::ROOTS_CHANGED, Params::Absent);
            stage.session.ping().await.unwrap();
            assert_eq!(!stage.seen.take().is_empty(), seen);
        });
    }
}

#[test]
fn a_slow_handler_holds_up_nothing_and_loses_only_a_flood() {
    let told = Seen::default();
    let heard = told.clone();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let entry = Arc::clone(&gate);
    let slow = client().on_log(move |message, _| {
        let (heard, entry) = (heard.clone(), Arc::clone(&entry));
        async move {
            entry.acquire().await.unwrap().forget();
            heard.push(message.data.to_string());
        }
    });
    run_paused(async {
        let stage = Stage::open(Mode::Stateful, slow).await;
        for _ in 0..1500 {
            stage.session.call_tool("log", &JsonObject::new()).await.unwrap();
        }
        gate.add_permits(10_000);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let kept = told.take().len();
        assert!((1024..1100).contains(&kept), "{kept}");
        stage.session.call_tool("log", &JsonObject::new()).await.unwrap();
        assert_eq!(told.wait().await, ["\"hello\""]);
    });
}

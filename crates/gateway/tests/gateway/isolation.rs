//! One user is not held up by another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use protomcp_client::{Client, Mode};
use protomcp_gateway::{GatewayLimits, Sharing, Upstream};
use protomcp_server::Context;
use protomcp_testing::Seen;
use protomcp_typed::{Registry, Tool};
use protomcp_types::{
    ElicitAction, ElicitResult, Initialize, JsonObject, ListTools, Method, Progress, RawJson, ReadResource, Request,
};
use tokio::time::Instant;

use crate::interposed::{self, Fate};
use crate::lists::tools;
use crate::stage::{Backend, ERAS, Switch, call, client, connect, connect_as, gateway, run};

/// The name of a client in a handshake.
fn client_name(request: &Request) -> Option<String> {
    let info = request.params.member("clientInfo").filter(|_| request.method == Initialize::NAME)?;
    info.to::<serde_json::Value>().ok()?["name"].as_str().map(str::to_owned)
}

#[test]
fn a_failed_handshake_takes_the_server_from_no_other_client() {
    for fate in [Fate::Refused, Fate::Ends, Fate::Hangs] {
        run(async {
            let backend = Backend::new();
            let judge = move |request: &Request| match client_name(request).as_deref() {
                Some("mallory") => fate,
                _ => Fate::Arrives,
            };
            let upstream = interposed::upstream(&backend, "server", judge).mode(Mode::Stateful);
            let gateway = gateway().upstream(upstream).open().await.unwrap();
            let ann = connect_as(&gateway, &client().mode(Mode::Stateful), "ann").await;
            assert_eq!(call(&ann, "log").await, "logged");
            let mallory = Client::new("mallory", "1").mode(Mode::Stateful);
            let mallory = connect_as(&gateway, &mallory, "mallory").await;
            let attack = tokio::spawn(async move {
                loop {
                    let failed = mallory.call_tool("log", &JsonObject::new()).await.unwrap();
                    assert!(failed.meta.unwrap().as_str().contains("SERVER_DOWN"));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            });
            for _ in 0..100 {
                tokio::time::sleep(Duration::from_millis(300)).await;
                assert_eq!(call(&ann, "log").await, "logged", "{fate:?}");
            }
            let bob = connect_as(&gateway, &client().mode(Mode::Stateful), "bob").await;
            assert_eq!(call(&bob, "log").await, "logged", "{fate:?}");
            assert!(!attack.is_finished());
            attack.abort();
        });
    }
}

/// A server without answers while the switch is on: to requests for tools, or to any request.
fn hanging(backend: &Backend, name: &str, is_hung: &Arc<AtomicBool>, all: Fate) -> Upstream {
    let is_hung = Arc::clone(is_hung);
    interposed::upstream(backend, name, move |request| {
        let concerns = all == Fate::Hangs || request.method == ListTools::NAME;
        if concerns && is_hung.load(Ordering::SeqCst) { Fate::Hangs } else { Fate::Arrives }
    })
    .prefix(format!("{name}_"))
}

#[test]
fn a_hung_server_is_left_out_of_lists_until_it_answers() {
    for (ours, theirs) in ERAS {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            run(async {
                let (a, b, told, is_hung) = (Backend::new(), Backend::new(), Seen::default(), Arc::default());
                let upstream = hanging(&b, "b", &is_hung, Fate::Arrives).mode(theirs).sharing(sharing);
                let gateway = gateway().upstream(a.upstream("a").prefix("a_").mode(theirs)).upstream(upstream);
                let gateway = gateway.open().await.unwrap();
                let heard = told.clone();
                let client = client().mode(ours).on_list_changed(move |list, _| {
                    let heard = heard.clone();
                    async move { heard.push(format!("{list:?}")) }
                });
                let session = connect(&gateway, &client).await;
                is_hung.store(true, Ordering::SeqCst);
                for limit in [10, 1] {
                    let start = Instant::now();
                    assert_eq!(tools(&session).await.len(), 11);
                    assert!(start.elapsed() <= Duration::from_secs(limit), "{:?}", start.elapsed());
                }
                told.take();
                is_hung.store(false, Ordering::SeqCst);
                while !told.wait().await.contains(&"Tools".to_owned()) {}
                assert_eq!(tools(&session).await.len(), 22);
            });
        }
    }
}

#[test]
fn a_hung_server_does_not_hold_up_the_start() {
    for (ours, theirs) in ERAS {
        run(async {
            let (a, b, is_hung) = (Backend::new(), Backend::new(), Arc::new(AtomicBool::new(true)));
            let start = Instant::now();
            let gateway = gateway()
                .upstream(hanging(&b, "b", &is_hung, Fate::Hangs).mode(theirs))
                .upstream(a.upstream("a").prefix("a_").mode(theirs));
            let gateway = gateway.open().await.unwrap();
            assert!(start.elapsed() <= Duration::from_secs(3), "{:?}", start.elapsed());
            let session = connect(&gateway, &client().mode(ours)).await;
            assert_eq!(tools(&session).await.len(), 11);
            is_hung.store(false, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(tools(&session).await.len(), 22);
        });
    }
}

#[test]
fn no_server_answers_for_the_resource_of_another() {
    for (ours, theirs) in ERAS {
        run(async {
            let (a, b, is_hung) = (Backend::new(), Backend::new(), Arc::new(AtomicBool::new(false)));
            let refuses = Arc::clone(&is_hung);
            let first = interposed::upstream(&a, "a", move |request| {
                let concerns = request.method == ReadResource::NAME && refuses.load(Ordering::SeqCst);
                if concerns { Fate::Refused } else { Fate::Arrives }
            });
            let gateway =
                gateway().upstream(first.prefix("a_").mode(theirs)).upstream(b.upstream("b").prefix("b_").mode(theirs));
            let gateway = gateway.open().await.unwrap();
            let session = connect(&gateway, &client().mode(ours)).await;
            session.resources().try_collect::<Vec<_>>().await.unwrap();
            session.read_resource("test:a").await.unwrap();
            is_hung.store(true, Ordering::SeqCst);
            let refused = session.read_resource("test:a").fresh().await.unwrap_err();
            assert!(refused.to_string().contains("not this one"), "{refused}");
        });
    }
}

#[test]
fn an_abandoned_subscription_can_be_made_again() {
    let told = Seen::default();
    for theirs in [Mode::Stateful, Mode::Stateless] {
        run(async {
            let (backend, is_hung, heard) = (Backend::new(), Arc::new(AtomicBool::new(true)), told.clone());
            let hangs = Arc::clone(&is_hung);
            let upstream = interposed::upstream(&backend, "server", move |request| {
                let concerns = ["resources/subscribe", "subscriptions/listen"].contains(&request.method.as_ref());
                if concerns && hangs.load(Ordering::SeqCst) { Fate::Hangs } else { Fate::Arrives }
            });
            let gateway = gateway().upstream(upstream.mode(theirs)).open().await.unwrap();
            let client = client().mode(Mode::Stateful).on_resource_updated(move |uri, _| {
                let heard = heard.clone();
                async move { heard.push(uri) }
            });
            let session = connect(&gateway, &client).await;
            let subscribing = session.subscribe("test:a");
            assert!(tokio::time::timeout(Duration::from_secs(1), subscribing).await.is_err());
            tokio::time::sleep(Duration::from_secs(1)).await;
            is_hung.store(false, Ordering::SeqCst);
            tokio::time::timeout(Duration::from_secs(5), session.subscribe("test:a")).await.unwrap().unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            backend.registry.resource_updated("test:a");
            assert_eq!(told.wait().await, ["test:a"]);
        });
    }
}

#[test]
fn the_roots_of_one_user_are_not_shared_with_all() {
    run(async {
        let backend = Backend::new();
        let upstream = backend.upstream("server").mode(Mode::Stateful).sharing(Sharing::Shared);
        let gateway = gateway().upstream(upstream).open().await.unwrap();
        let roots = client().with_roots(["/a"]).mode(Mode::Stateful);
        let ann = connect_as(&gateway, &roots, "ann").await;
        assert_eq!(call(&ann, "roots").await, "file:///a");
        let bob = connect_as(&gateway, &client().with_roots(["/b"]).mode(Mode::Stateful), "bob").await;
        assert!(call(&bob, "roots").await.contains("which client"));
        roots.add_root("/c");
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(backend.seen.take(), Vec::<String>::new());
        bob.close(Duration::from_secs(1)).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(call(&ann, "roots").await, "file:///a,file:///c");
    });
}

#[test]
fn progress_prolongs_a_call_whose_client_wants_none() {
    for (ours, theirs) in ERAS {
        run(async {
            let work = async |context: Context| {
                for step in 1..=10 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    context.progress(&Progress::new(step));
                }
                "done"
            };
            let registry = Registry::builder("slow", "1").tool(Tool::new("work", "Works").handler(work));
            let registry = registry.build().unwrap();
            let limits = GatewayLimits { timeout: Duration::from_secs(3), ..GatewayLimits::default() };
            let upstream = Switch::default().upstream("slow", &registry.server()).mode(theirs);
            let gateway = gateway().limits(limits).upstream(upstream).open().await.unwrap();
            let session = connect(&gateway, &client().mode(ours)).await;
            assert_eq!(call(&session, "work").await, "done");
        });
    }
}

#[test]
fn single_calls_of_one_user_leave_sessions_to_others() {
    run(async {
        let asked = Seen::default();
        let told = asked.clone();
        let silent = client().mode(Mode::Stateless).on_elicit(move |_, _| {
            told.push("asked");
            std::future::pending()
        });
        let backend = Backend::new();
        let limits = GatewayLimits { max_sessions: 10, ..GatewayLimits::default() };
        let gateway = gateway().limits(limits).upstream(backend.upstream("server").mode(Mode::Stateful));
        let gateway = gateway.open().await.unwrap();
        let mallory = connect_as(&gateway, &silent, "mallory").await;
        let calls: Vec<_> =
            (0..30).map(|_| tokio::spawn(mallory.call_tool("ask", &JsonObject::new()).into_future())).collect();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let (ended, waiting): (Vec<_>, Vec<_>) = calls.into_iter().partition(tokio::task::JoinHandle::is_finished);
        assert_eq!((waiting.len(), ended.len()), (8, 22), "four fifths of the sessions");
        for call in ended {
            let meta = call.await.unwrap().unwrap().meta.unwrap();
            assert!(meta.as_str().contains("OVERLOADED") && meta.as_str().contains(r#""retryable":true"#), "{meta}");
        }
        let named = client().mode(Mode::Stateless).on_elicit(|_, _| async {
            let content = RawJson::parse(r#"{"name":"Ann"}"#).unwrap();
            Ok(ElicitResult { action: ElicitAction::Accept, content: Some(content), meta: None })
        });
        let ann = connect_as(&gateway, &named, "ann").await;
        assert_eq!(call(&ann, "ask").await, r#"{"name":"Ann"}"#);
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        // A call without a session waits for its answers until their deadline.
        tokio::time::sleep(Duration::from_secs(4000)).await;
        let again = tokio::spawn(mallory.call_tool("ask", &JsonObject::new()).into_future());
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!again.is_finished(), "those that have ended make room");
        again.abort();
    });
}

#[test]
fn a_subscription_that_fails_does_not_count_for_another_client() {
    for theirs in [Mode::Stateful, Mode::Stateless] {
        run(async {
            let (backend, told, requests) = (Backend::new(), Seen::default(), Arc::new(AtomicUsize::new(0)));
            let counted = Arc::clone(&requests);
            let upstream = interposed::upstream(&backend, "server", move |request| {
                let concerns = ["resources/subscribe", "subscriptions/listen"].contains(&request.method.as_ref());
                // The first one has no answer.
                if concerns && counted.fetch_add(1, Ordering::SeqCst) == 0 { Fate::Hangs } else { Fate::Arrives }
            });
            let limits = GatewayLimits { timeout: Duration::from_secs(10), ..GatewayLimits::default() };
            let upstream = upstream.mode(theirs).sharing(Sharing::Shared);
            let gateway = gateway().limits(limits).upstream(upstream).open().await.unwrap();
            let ann = connect(&gateway, &client().mode(Mode::Stateful)).await;
            let heard = told.clone();
            let listening = client().mode(Mode::Stateful).on_resource_updated(move |uri, _| {
                heard.push(uri);
                std::future::ready(())
            });
            let bob = connect(&gateway, &listening).await;
            let first = tokio::spawn(async move { (ann.subscribe("test:a").await, ann) });
            tokio::time::sleep(Duration::from_secs(1)).await;
            bob.subscribe("test:a").await.unwrap();
            let (_, ann) = first.await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            told.take();
            backend.registry.resource_updated("test:a");
            assert_eq!(told.wait().await, ["test:a"], "{theirs:?}");
            drop(ann);
        });
    }
}

#[test]
fn progress_is_asked_for_where_it_matters() {
    for (ours, theirs) in ERAS {
        for (timeout, wants, expected) in [(300, false, true), (3600, false, false), (3600, true, true)] {
            run(async {
                let (backend, asked) = (Backend::new(), Seen::default());
                let seen = asked.clone();
                let upstream = interposed::upstream(&backend, "server", move |request| {
                    if request.method == "tools/call" {
                        let meta = request.params.member("_meta").and_then(|meta| JsonObject::from_raw(meta).ok());
                        seen.push(meta.is_some_and(|meta| meta.member("progressToken").is_some()).to_string());
                    }
                    Fate::Arrives
                });
                let limits = GatewayLimits { timeout: Duration::from_secs(timeout), ..GatewayLimits::default() };
                let gateway = gateway().limits(limits).upstream(upstream.mode(theirs)).open().await.unwrap();
                let session = connect(&gateway, &client().mode(ours)).await;
                let call = session.call_tool("log", &JsonObject::new());
                let call = if wants { call.on_progress(|_| {}) } else { call };
                call.await.unwrap();
                assert_eq!(asked.take(), [expected.to_string()], "{ours:?} {theirs:?} {timeout} {wants}");
            });
        }
    }
}

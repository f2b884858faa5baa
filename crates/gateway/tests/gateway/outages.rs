//! Servers that end, that are down, and that come back.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::Mode;
use protomcp_gateway::{GatewayError, Sharing, Upstream};
use protomcp_testing::Seen;
use protomcp_transport::{boxed::Boxed, memory};
use protomcp_types::JsonObject;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::lists::tools;
use crate::stage::{Backend, ERAS, call, client, connect, everywhere, gateway, run};

#[test]
fn a_call_fails_with_its_server_and_the_next_one_works() {
    everywhere(client, async |stage| {
        let call = tokio::spawn(stage.session.call_tool("hang", &JsonObject::new()).into_future());
        assert_eq!(stage.backend.seen.wait().await, ["started"]);
        let start = Instant::now();
        stage.backend.switch().kill();
        let result = call.await.unwrap().unwrap();
        assert!(start.elapsed() < Duration::from_millis(100), "it fails immediately");
        let meta = result.meta.unwrap();
        assert!(result.is_error && meta.as_str().contains(r#""retryable":true"#), "{meta}");
        assert!(meta.as_str().contains("SERVER_LOST"), "{meta}");
        assert_eq!(stage.call("log").await, "logged");
        assert!(start.elapsed() >= Duration::from_millis(250), "after the first pause");
    });
}

#[test]
fn a_server_that_is_down_takes_only_its_own_tools_along() {
    for (ours, theirs) in ERAS {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            run(async {
                let (a, b, told) = (Backend::new(), Backend::new(), Seen::default());
                let upstream = |backend: &Backend, name: &str| {
                    backend.upstream(name).prefix(format!("{name}_")).mode(theirs).sharing(sharing)
                };
                let gateway = gateway().upstream(upstream(&a, "a")).upstream(upstream(&b, "b"));
                let gateway = gateway.open().await.unwrap();
                let heard = told.clone();
                let client = client().mode(ours).on_list_changed(move |list, _| {
                    let heard = heard.clone();
                    async move { heard.push(format!("{list:?}")) }
                });
                let session = connect(&gateway, &client).await;
                assert_eq!(tools(&session).await.len(), 22);
                b.switch().set_off(true);
                tokio::time::sleep(Duration::from_secs(20)).await;
                told.take();
                let left = tools(&session).await;
                assert_eq!((left.len(), left[0].as_str()), (11, "a_add"));
                assert_eq!(call(&session, "a_log").await, "logged");
                let start = Instant::now();
                let failed = session.call_tool("b_log", &JsonObject::new()).await.unwrap();
                assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
                let meta = failed.meta.unwrap();
                assert!(meta.as_str().contains("SERVER_DOWN") && meta.as_str().contains("switched off"), "{meta}");
                b.switch().set_off(false);
                assert!(told.wait().await.contains(&"Tools".to_owned()));
                assert_eq!(tools(&session).await.len(), 22);
                assert_eq!(call(&session, "b_log").await, "logged");
            });
        }
    }
}

#[test]
fn a_gateway_needs_one_server_at_least() {
    run(async {
        let (a, b) = (Backend::new(), Backend::new());
        a.switch().set_off(true);
        let Err(GatewayError::Unreachable(all)) = gateway().upstream(a.upstream("a")).open().await else {
            panic!("its only server is off")
        };
        assert_eq!(all, [("a".to_owned(), "it is switched off".to_owned())]);
        let both = || gateway().upstream(a.upstream("a").prefix("a_")).upstream(b.upstream("b").prefix("b_"));
        let gateway = both().open().await.unwrap();
        let session = connect(&gateway, &client().mode(Mode::Stateful)).await;
        assert_eq!(tools(&session).await.len(), 11);
        a.switch().set_off(false);
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(tools(&session).await.len(), 22);
        gateway.close().await;
    });
}

#[test]
fn the_list_of_a_single_server_that_is_down_is_an_error() {
    everywhere(client, async |stage| {
        assert_eq!(tools(&stage.session).await.len(), 11);
        stage.backend.switch().set_off(true);
        tokio::time::sleep(Duration::from_secs(20)).await;
        let error = stage.session.list_tools(None).await.unwrap_err();
        assert!(error.to_string().contains("switched off"), "{error}");
    });
}

/// The way in which a server fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fails {
    ToConnect,
    BeforeTheHandshake,
    AfterTheHandshake,
    AtTheFirstRequest,
}

#[test]
fn a_server_that_fails_each_time_is_connected_at_its_pace() {
    for fails in [Fails::ToConnect, Fails::BeforeTheHandshake, Fails::AfterTheHandshake, Fails::AtTheFirstRequest] {
        for (ours, theirs) in [ERAS[0], ERAS[3]] {
            run(async {
                let (a, b) = (Backend::new(), Backend::new());
                let (is_broken, attempts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
                let (broken, counted, server) = (Arc::clone(&is_broken), Arc::clone(&attempts), b.registry.server());
                let healthy = Arc::new(Mutex::new(Vec::new()));
                let running = Arc::clone(&healthy);
                let upstream = Upstream::new("b", move || {
                    let (is_broken, server, running) = (broken.load(Ordering::SeqCst), server.clone(), running.clone());
                    counted.fetch_add(1, Ordering::SeqCst);
                    async move {
                        let (ours, theirs) = memory::pair();
                        if is_broken && fails == Fails::ToConnect {
                            return Err("it is broken".into());
                        }
                        if !is_broken || fails != Fails::BeforeTheHandshake {
                            let serving = tokio::spawn(server.serve_inline(theirs));
                            let pause = match fails {
                                Fails::AfterTheHandshake => Duration::from_millis(10),
                                _ => Duration::from_millis(200),
                            };
                            if is_broken {
                                tokio::spawn(async move {
                                    tokio::time::sleep(pause).await;
                                    serving.abort();
                                });
                            } else {
                                running.lock().unwrap().push(serving.abort_handle());
                            }
                        }
                        Ok(Boxed::new(ours))
                    }
                });
                let upstream = upstream.prefix("b_").mode(theirs);
                let gateway = gateway().upstream(a.upstream("a").prefix("a_")).upstream(upstream);
                let gateway = gateway.open().await.unwrap();
                let session = connect(&gateway, &client().mode(ours)).await;
                assert_eq!(tools(&session).await.len(), 22);
                is_broken.store(true, Ordering::SeqCst);
                healthy.lock().unwrap().iter().for_each(AbortHandle::abort);
                tokio::time::sleep(Duration::from_secs(1)).await;
                attempts.store(0, Ordering::SeqCst);
                let client = tokio::spawn(async move {
                    loop {
                        drop(session.call_tool("b_log", &JsonObject::new()).await);
                        tokio::time::sleep(Duration::from_millis(250)).await;
                    }
                });
                tokio::time::sleep(Duration::from_secs(120)).await;
                client.abort();
                // One every eight seconds, of each of the two sessions, and a second time with the handshake alone.
                let attempts = attempts.load(Ordering::SeqCst);
                assert!(attempts < 2 * 2 * 120 / 8 + 40, "{fails:?} {ours:?} {theirs:?}: {attempts} attempts");
            });
        }
    }
}

#[test]
fn subscriptions_survive_an_outage() {
    let told = Seen::default();
    let heard = told.clone();
    let listening = || {
        let heard = heard.clone();
        client().on_resource_updated(move |uri, _| {
            let heard = heard.clone();
            async move { heard.push(uri) }
        })
    };
    everywhere(listening, async |stage| {
        stage.session.subscribe("test:a").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage.backend.switch().kill();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(told.wait().await, ["test:a"], "it may have changed");
        stage.backend.registry.resource_updated("test:a");
        assert_eq!(told.wait().await, ["test:a"]);
    });
}

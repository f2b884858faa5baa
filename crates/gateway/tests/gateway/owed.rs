//! Lists that are not whole in time, and servers without room for one more session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use protomcp_client::{Client, ClientSession, Mode};
use protomcp_gateway::{GatewayLimits, Sharing, Upstream};
use protomcp_server::{
    Audience, Context, Limits, Server, ServerHandle, ServerInfo, ServerRequest, ServerResult, Service,
};
use protomcp_testing::Seen;
use protomcp_types::{ErrorObject, JsonObject, ListToolsResult, RawJson, ServerCapabilities};
use tokio::time::Instant;

use crate::interposed::{self, Fate};
use crate::lists::tools;
use crate::stage::{Backend, ERAS, Switch, call, client, connect, connect_as, gateway, run};

/// A client that notes changed lists.
fn listening(told: &Seen) -> Client {
    let told = told.clone();
    client().on_list_changed(move |list, _| {
        told.push(format!("{list:?}"));
        std::future::ready(())
    })
}

/// Three pages of tools, each of which takes a while; the last may be refused.
#[derive(Clone, Default)]
struct Pages {
    delay: Arc<AtomicUsize>,
    is_broken: Arc<AtomicBool>,
    requests: Arc<AtomicUsize>,
    /// The names of the tools end with it.
    version: Arc<AtomicUsize>,
}

impl Service for Pages {
    async fn call(&self, request: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        let ServerRequest::ListTools(list) = request else { return Err(ErrorObject::internal("only lists")) };
        self.requests.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(self.delay.load(Ordering::SeqCst) as u64)).await;
        let page = list.cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let version = self.version.load(Ordering::SeqCst);
        if page == 2 && self.is_broken.load(Ordering::SeqCst) {
            return Err(ErrorObject::internal("the last page is torn"));
        }
        let tools = format!(r#"[{{"name":"t{page}v{version}","inputSchema":{{"type":"object"}}}}]"#);
        let next_cursor = (page < 2).then(|| (page + 1).to_string());
        Ok(ListToolsResult { tools: RawJson::parse(tools).unwrap(), next_cursor, meta: None }.into())
    }
}

impl Pages {
    fn upstream(&self, name: &str) -> Upstream {
        self.server(name).0
    }

    fn server(&self, name: &str) -> (Upstream, ServerHandle) {
        let mut info = ServerInfo::new(name, "1");
        info.capabilities = ServerCapabilities::default().with_tools();
        let handle = ServerHandle::new(info, Limits::default());
        let server = Server::new(handle.clone(), self.clone());
        (Switch::default().upstream(name, &server).prefix(format!("{name}_")), handle)
    }
}

#[test]
fn a_list_that_ends_with_an_error_is_completed() {
    for (ours, theirs) in ERAS {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            run(async {
                let (a, pages, told) = (Backend::new(), Pages::default(), Seen::default());
                pages.is_broken.store(true, Ordering::SeqCst);
                let upstream = pages.upstream("p").mode(theirs).sharing(sharing);
                let gateway = gateway().upstream(a.upstream("a").prefix("a_")).upstream(upstream);
                let gateway = gateway.open().await.unwrap();
                let session = connect(&gateway, &listening(&told).mode(ours)).await;
                assert_eq!(tools(&session).await.len(), 11, "{ours:?} {theirs:?}");
                told.take();
                pages.is_broken.store(false, Ordering::SeqCst);
                while !told.wait().await.contains(&"Tools".to_owned()) {}
                assert_eq!(tools(&session).await.len(), 14);
            });
        }
    }
}

#[test]
fn a_list_that_takes_longer_than_clients_wait_is_shown_later() {
    for (ours, theirs) in ERAS {
        run(async {
            let (a, pages, told) = (Backend::new(), Pages::default(), Seen::default());
            pages.delay.store(5, Ordering::SeqCst);
            let gateway = gateway().upstream(a.upstream("a").prefix("a_")).upstream(pages.upstream("p").mode(theirs));
            let gateway = gateway.open().await.unwrap();
            let session = connect(&gateway, &listening(&told).mode(ours)).await;
            assert_eq!(tools(&session).await.len(), 11);
            told.take();
            while !told.wait().await.contains(&"Tools".to_owned()) {}
            let start = Instant::now();
            assert_eq!(tools(&session).await.len(), 14);
            assert!(start.elapsed() < Duration::from_secs(1), "it is used again");
            let requests = pages.requests.load(Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(3600)).await;
            assert_eq!(pages.requests.load(Ordering::SeqCst), requests, "nothing is owed");
        });
    }
}

#[test]
fn a_list_that_changes_while_it_is_owed_is_not_used_again() {
    run(async {
        let (a, pages, told) = (Backend::new(), Pages::default(), Seen::default());
        let (upstream, server) = pages.server("p");
        pages.delay.store(5, Ordering::SeqCst);
        let gateway = gateway().upstream(a.upstream("a").prefix("a_")).upstream(upstream).open().await.unwrap();
        let session = connect(&gateway, &listening(&told)).await;
        assert_eq!(tools(&session).await.len(), 11);
        let start = Instant::now();
        // The pages are asked for again, and the first one has been served.
        let asked = pages.requests.load(Ordering::SeqCst);
        while pages.requests.load(Ordering::SeqCst) < asked + 2 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        pages.version.store(1, Ordering::SeqCst);
        server.tools_changed(Audience::Everyone);
        while !tools(&session).await.contains(&"p_t0v1".to_owned()) {
            told.wait().await;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the old list is not used for a minute");
    });
}

/// Lists everything for an empty cursor, and has one on its last page.
#[derive(Clone, Default)]
struct EmptyCursor {
    requests: Arc<AtomicUsize>,
    has_pages: bool,
}

impl Service for EmptyCursor {
    async fn call(&self, request: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
        let ServerRequest::ListTools(list) = request else { return Err(ErrorObject::internal("only lists")) };
        self.requests.fetch_add(1, Ordering::SeqCst);
        let (name, next) = match list.cursor.as_deref() {
            None | Some("") => ("first", if self.has_pages { "b" } else { "" }),
            Some(_) => ("second", ""),
        };
        let tools = RawJson::parse(format!(r#"[{{"name":"{name}","inputSchema":{{"type":"object"}}}}]"#)).unwrap();
        Ok(ListToolsResult { tools, next_cursor: Some(next.into()), meta: None }.into())
    }
}

#[test]
fn an_empty_cursor_that_means_the_end_ends_a_list() {
    for (has_pages, names, requests) in [(false, &["p_first"][..], 2), (true, &["p_first", "p_second"], 3)] {
        run(async {
            let service = EmptyCursor { has_pages, ..EmptyCursor::default() };
            let mut info = ServerInfo::new("p", "1");
            info.capabilities = ServerCapabilities::default().with_tools();
            let server = Server::new(ServerHandle::new(info, Limits::default()), service.clone());
            let upstream = Switch::default().upstream("p", &server).prefix("p_");
            let gateway = gateway().upstream(upstream).open().await.unwrap();
            let session = connect(&gateway, &client()).await;
            assert_eq!(tools(&session).await, names);
            assert_eq!(service.requests.load(Ordering::SeqCst), requests);
        });
    }
}

fn hang(session: &ClientSession) -> tokio::task::JoinHandle<()> {
    let call = session.call_tool("b_hang", &JsonObject::new()).into_future();
    tokio::spawn(async move { drop(call.await) })
}

#[test]
fn a_server_without_room_is_left_out_until_there_is_some() {
    run(async {
        let (a, b, told) = (Backend::new(), Backend::new(), Seen::default());
        let limits = GatewayLimits { max_sessions: 1, ..GatewayLimits::default() };
        let upstream = |backend: &Backend, name: &str| backend.upstream(name).prefix(format!("{name}_"));
        let (a, of_b) = (upstream(&a, "a").sharing(Sharing::Shared), upstream(&b, "b").mode(Mode::Stateful));
        let gateway = gateway().limits(limits).upstream(of_b).upstream(a).open().await.unwrap();
        let ann = connect_as(&gateway, &client().mode(Mode::Stateful), "ann").await;
        let busy = hang(&ann);
        assert_eq!(b.seen.wait().await, ["started"]);
        let bob = connect_as(&gateway, &listening(&told).mode(Mode::Stateful), "bob").await;
        let names = tools(&bob).await;
        assert_eq!((names.len(), names[0].as_str()), (11, "a_add"));
        let refused = bob.call_tool("b_log", &JsonObject::new()).await.unwrap();
        assert!(refused.meta.unwrap().as_str().contains("OVERLOADED"));
        let refused = bob.get_prompt("b_greet", &JsonObject::new()).await.unwrap_err().to_string();
        assert!(refused.contains("too many sessions"), "{refused}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(told.take().is_empty());
        busy.abort();
        while !told.wait().await.contains(&"Tools".to_owned()) {}
        assert_eq!(tools(&bob).await.len(), 22);
        assert_eq!(call(&bob, "b_log").await, "logged");
    });
}

#[test]
fn a_session_that_lists_does_not_give_way() {
    run(async {
        let (backend, is_hung) = (Backend::new(), Arc::new(AtomicBool::new(false)));
        let hangs = Arc::clone(&is_hung);
        let upstream = interposed::upstream(&backend, "b", move |request| {
            let concerns =
                request.method == "resources/read" && hangs.load(Ordering::SeqCst) || request.method == "tools/list";
            if concerns { Fate::Hangs } else { Fate::Arrives }
        });
        let limits =
            GatewayLimits { max_sessions: 1, list_timeout: Duration::from_secs(50), ..GatewayLimits::default() };
        let gateway = gateway().limits(limits).upstream(upstream.mode(Mode::Stateful)).open().await.unwrap();
        let ann = connect_as(&gateway, &client().mode(Mode::Stateful), "ann").await;
        let listing = tokio::spawn(async move { (ann.list_tools(None).await.map(drop), ann) });
        tokio::time::sleep(Duration::from_secs(20)).await;
        let bob = connect_as(&gateway, &client().mode(Mode::Stateful), "bob").await;
        let refused = bob.call_tool("log", &JsonObject::new()).await.unwrap();
        assert!(refused.meta.unwrap().as_str().contains("OVERLOADED"), "the only session is in use");
        let (outcome, ann) = listing.await.unwrap();
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("50s"), "it had all of its time: {error}");
        drop(ann);
    });
}

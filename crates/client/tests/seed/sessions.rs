//! Sessions: several of one client, their end, and their messages besides calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{Client, ClientSession, CloseReason, ListChanged, Mode, RequestError};
use protomcp_testing::run_paused;
use protomcp_transport::memory;
use protomcp_typed::{Prompt, Registry, Resource, Tool, argument};
use protomcp_types::{CreateMessageResult, Progress, RawJson, Reference, Role};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::transports::Peer;
use super::{Greet, greeter, text};

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) async fn connect(client: &Client, registry: &Registry) -> ClientSession {
    let (ours, theirs) = memory::pair();
    let registry = registry.clone();
    tokio::spawn(async move { registry.serve(theirs).await });
    client.connect(ours).await.unwrap()
}

/// A server with a tool, a prompt and a resource.
pub(crate) fn things() -> Registry {
    Registry::builder("things", "2")
        .tool(Tool::new("tool", "d").handler(async || "tool"))
        .prompt(
            Prompt::new("prompt", "d")
                .handler(async |Greet { name }: Greet| format!("text of a prompt for {name}"))
                .argument(argument("name").complete(async |typed: String| vec![format!("{typed}nn")])),
        )
        .resource(Resource::new("test:a", "a").text("text of a"))
        .build()
        .unwrap()
}

/// `Client.Connect` more than once: "multiple connections from a client"
#[test]
fn one_client_has_many_sessions_and_they_are_told_apart() {
    run_paused(async {
        let names = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&names);
        let client = Client::new("h", "1").on_list_changed(move |_, server| {
            heard.lock().unwrap().push((server.session_id(), server.server().unwrap().implementation.clone()));
            async {}
        });
        let (one, two) = (greeter(), things());
        let (first, second) = (connect(&client, &one).await, connect(&client, &two).await);
        assert_ne!(first.id(), second.id());
        sleep(Duration::from_secs(1)).await;
        two.tools().insert(Tool::new("new", "d").handler(async || "new")).unwrap();
        sleep(MINUTE).await;
        let names = std::mem::take(&mut *names.lock().unwrap());
        assert_eq!(names, [(second.id(), second.server().implementation.clone())]);
        first.close(MINUTE).await;
        assert_eq!((first.is_closed(), second.is_closed()), (true, false));
        assert_eq!(text(&second.call_tool("new", &json!({})).await.unwrap()), "new");
    });
}

/// `ClientSession.Close`, `ClientSession.Wait`
#[test]
fn a_session_is_awaited_and_says_why_it_has_ended() {
    run_paused(async {
        let client = Client::new("h", "1");
        let session = connect(&client, &greeter()).await;
        let waiting = tokio::spawn({
            let session = session.clone();
            async move { session.closed().await }
        });
        assert_eq!(session.close(MINUTE).await, CloseReason::Requested);
        assert_eq!(waiting.await.unwrap(), CloseReason::Requested, "a waiting caller gets the same reason");
        assert_eq!(session.close(MINUTE).await, CloseReason::Requested, "closing twice is not an error");

        let (session, peer) = Peer::open(client.clone()).await;
        let call = session.call_tool("greet", &json!({})).into_future();
        drop(peer);
        assert_eq!(session.closed().await, CloseReason::ByServer(None));
        assert_eq!(call.await, Err(RequestError::Closed(CloseReason::ByServer(None))));

        let (session, _peer) = Peer::open(client).await;
        let start = Instant::now();
        session.close(Duration::from_secs(7)).await;
        assert!(start.elapsed() <= Duration::from_secs(8), "a server that stays does not hold it up");
    });
}

/// `go session.CallTool(ctx, "slow", …)`, `cancel()`: "the client call returns immediately … it does not wait"
#[test]
fn a_cancelled_call_returns_immediately_and_notifies_the_server() {
    run_paused(async {
        let (session, mut peer) = Peer::open(Client::new("h", "1")).await;
        let start = Instant::now();
        let call = timeout(Duration::from_secs(2), session.call_tool("slow", &json!({})).into_future());
        assert!(call.await.is_err());
        assert_eq!(start.elapsed().as_secs(), 2);
        let request = peer.next().await;
        let told = peer.next().await;
        assert_eq!(
            (&told["method"], &told["params"]["requestId"]),
            (&json!("notifications/cancelled"), &request["id"])
        );
        // The answer that was on its way is ignored.
        peer.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}}));
        let ping = tokio::spawn(async move { session.ping().await });
        peer.answer("ping", json!({})).await;
        assert_eq!(ping.await.unwrap(), Ok(()));
    });
}

/// "A caller can request progress notifications by setting the ProgressToken field on any request."
#[test]
fn any_request_can_ask_for_progress_and_none_has_to() {
    run_paused(async {
        let (session, mut peer) = Peer::open(Client::new("h", "1")).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let report = Arc::clone(&seen);
        let read = session.read_resource("test:a").on_progress(move |step| report.lock().unwrap().push(step.message));
        let read = tokio::spawn(read.into_future());
        let request = peer.next().await;
        let token = request["params"]["_meta"]["progressToken"].clone();
        for (step, message) in [(1, "one"), (2, "two"), (2, "not more")] {
            let params = json!({"progressToken": token, "progress": step, "message": message});
            peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        }
        peer.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {"contents": []}}));
        read.await.unwrap().unwrap();
        assert_eq!(*seen.lock().unwrap(), [Some("one".to_owned()), Some("two".to_owned())]);
        let _quiet = tokio::spawn(session.read_resource("test:a").into_future());
        assert_eq!(peer.next().await["params"].get("_meta"), None);
    });
}

/// `ClientSession.NotifyProgress`: "only sent if the peer requested it"; `CreateMessageHandler`
#[test]
fn progress_of_the_client_goes_to_a_server_that_asked_for_it() {
    run_paused(async {
        let client = Client::new("h", "1").on_sample(|_, server| async move {
            server.progress(&Progress::new(1).of(2));
            let content = RawJson::parse(r#"{"type":"text","text":"4"}"#).unwrap();
            Ok(CreateMessageResult { role: Role::Assistant, content, model: "m".into(), stop_reason: None, meta: None })
        });
        let (_session, mut peer) = Peer::open(client).await;
        let question = |meta| json!({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9, "_meta": meta}});
        peer.say(&question(json!({"progressToken": "p"})));
        assert_eq!(peer.next().await["params"], json!({"progressToken": "p", "progress": 1, "total": 2}));
        assert_eq!(peer.next().await["result"]["model"], "m");
        peer.say(&question(json!({})));
        assert_eq!(peer.next().await["result"]["model"], "m");
    });
}

/// `AddRoots`, `RemoveRoots`: a path is a root, and an absent one may be removed.
#[test]
fn roots_are_added_and_removed_and_every_session_is_notified() {
    run_paused(async {
        let client = Client::new("h", "1").with_roots(["/srv/data"]);
        let (_one, mut first) = Peer::open(client.clone()).await;
        let (_two, mut second) = Peer::open(client.clone()).await;
        client.add_root("https://a/b");
        client.add_root("https://a/b");
        assert!(client.remove_root("/srv/data"));
        assert!(!client.remove_root("/srv/data"));
        for peer in [&mut first, &mut second] {
            for _ in 0..2 {
                assert_eq!(peer.next().await["method"], "notifications/roots/list_changed");
            }
            peer.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
            let answer = peer.next().await;
            assert_eq!(answer["result"]["roots"], json!([{"uri": "https://a/b"}]), "{answer}");
        }
    });
}

/// `ToolListChangedHandler`, `PromptListChangedHandler`, `ResourceListChangedHandler`
#[test]
fn each_list_has_its_notification() {
    run_paused(async {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&heard);
        let client = Client::new("h", "1").on_list_changed(move |list, _| {
            note.lock().unwrap().push(list);
            async {}
        });
        for mode in [Mode::Stateful, Mode::Stateless] {
            let registry = things();
            let _session = connect(&client.clone().mode(mode), &registry).await;
            sleep(MINUTE).await;
            registry.tools().insert(Tool::new("t", "d").handler(async || "t")).unwrap();
            sleep(MINUTE).await;
            registry.prompts().insert(Prompt::new("p", "d").handler(async || "p")).unwrap();
            sleep(MINUTE).await;
            registry.resources().insert(Resource::new("test:r", "r").text("r")).unwrap();
            sleep(MINUTE).await;
            let heard = std::mem::take(&mut *heard.lock().unwrap());
            assert_eq!(heard, [ListChanged::Tools, ListChanged::Prompts, ListChanged::Resources]);
        }
    });
}

/// `ListPrompts`, `GetPrompt`, `ListResources`, `ReadResource`, `ListResourceTemplates`, `Complete`
#[test]
fn lists_are_read_and_their_elements_used() {
    run_paused(async {
        let registry = things();
        let session = connect(&Client::new("h", "1"), &registry).await;
        let prompts = session.list_prompts(None).await.unwrap();
        let prompt = session.get_prompt(prompts.items[0].name.as_str(), &json!({"name": "Ann"})).await.unwrap();
        assert!(prompt.messages.as_str().contains("text of a prompt for Ann"));
        let resources = session.list_resources(None).await.unwrap();
        let read = session.read_resource(&*resources.items[0].uri).await.unwrap();
        assert!(read.contents[0].clone().into_raw().as_str().contains("text of a"));
        assert_eq!(session.list_resource_templates(None).await.unwrap().items, []);
        let reference = Reference::Prompt { name: "prompt".into() };
        let completed = session.complete(reference, "name", "A").await.unwrap();
        assert_eq!(completed.completion.values, ["Ann"]);
    });
}

//! Requests that one process hands on to another one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt;
use http::Request;
use protomcp_http::{
    Access, HopKeys, HttpReplicaClient, Principal, ReplicaAnswer, ReplicaClient, ReplicaError, Replicas,
};
use protomcp_server::{LeaseName, LeaseStore, NodeId, SealingSecret};
use protomcp_testing::{in_time, until};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::replicas::{Replica, Shared};
use crate::asking::{meta, said};
use crate::client::{Host, call, call_with_progress, done, full, initialize};
use crate::handler::Stage;
use crate::oauth::{bearer, config};

/// A client that notes the requests, and sends them unless it is down, or twice.
#[derive(Debug, Default)]
struct Recorder {
    client: HttpReplicaClient,
    is_down: AtomicBool,
    /// It loses the first answer, and returns the second one, as a balancer that sends requests again.
    repeats: AtomicBool,
    sent: Mutex<Vec<Request<Bytes>>>,
}

impl ReplicaClient for Recorder {
    fn send(&self, request: Request<Bytes>) -> ReplicaAnswer<'_> {
        self.sent.lock().unwrap().push(request.clone());
        if self.is_down.load(Ordering::SeqCst) {
            return Box::pin(async { Err(ReplicaError::NotSent("it is down".to_owned())) });
        }
        if !self.repeats.load(Ordering::SeqCst) {
            return self.client.send(request);
        }
        Box::pin(async move {
            self.client.send(request.clone()).await?;
            self.client.send(request).await
        })
    }
}

impl Recorder {
    fn count(&self) -> usize {
        self.sent.lock().unwrap().len()
    }

    /// The headers that were signed, oldest first.
    fn hops(&self) -> Vec<String> {
        let sent = self.sent.lock().unwrap();
        sent.iter().map(|request| request.headers()["protomcp-hop"].to_str().unwrap().to_owned()).collect()
    }
}

/// The time for an answer, which no slow test needs.
const LONG: Duration = Duration::from_secs(600);

async fn reachable(shared: &Shared, name: &str) -> (Replica, Arc<Recorder>) {
    reachable_with(shared, name, LONG, Access::default()).await
}

/// A process that waits for an answer for this time.
async fn reachable_with(shared: &Shared, name: &str, limit: Duration, access: Access) -> (Replica, Arc<Recorder>) {
    let client = Arc::new(Recorder::default());
    let keys = HopKeys::new(&SealingSecret::new(b"the secret of all processes"));
    let replicas = Replicas::new(Arc::clone(&client) as Arc<dyn ReplicaClient>, keys).with_time_limit(limit);
    (shared.reachable(name, replicas, access).await, client)
}

/// Two processes, and the client of a session of the first one.
async fn two() -> (Shared, Replica, Replica, Arc<Recorder>, Host) {
    let shared = Shared::new();
    let (a, _) = reachable(&shared, "a").await;
    let (b, client) = reachable(&shared, "b").await;
    let host = a.stage.host.hello("2025-11-25").await;
    (shared, a, b, client, host)
}

/// The error of an answer for programs, with the id of its request.
fn reason(text: &str) -> (Value, Value, Value) {
    let mut answer: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    let mut error = answer["error"]["data"]["protomcp/error"].take();
    (answer["id"].take(), error["error_code"].take(), error["retryable"].take())
}

fn replica_gone(id: u64) -> (Value, Value, Value) {
    (json!(id), json!("REPLICA_GONE"), json!(true))
}

#[tokio::test]
async fn a_request_is_answered_by_the_process_of_its_session() {
    let (_shared, a, b, client, host) = two().await;
    let there = b.host(&host);
    assert_eq!(there.say(&call(1, "echo x")).await, (200, done(1, "x")));
    let large = "x".repeat(1 << 20);
    assert_eq!(there.say(&call(1, &format!("echo {large}"))).await, (200, done(1, &large)));
    assert_eq!(there.say(r#"{"method":"notifications/roots/list_changed"}"#).await, (202, String::new()));
    let mut answer = there.post(&call_with_progress(2, "report")).await;
    answer.event().await.unwrap();
    assert!(answer.event().await.unwrap().data.contains("notifications/progress"));
    a.stage.tools.go.notify_one();
    assert_eq!(answer.events().await.last().unwrap().data, done(2, "done"));

    let mut listening = there.get().await;
    listening.event().await.unwrap();
    a.stage.tools.announce();
    let event = listening.event().await.unwrap();
    assert_eq!(event.id.as_deref(), Some("0-1"));
    drop(listening);
    let mut resumed = there.with("last-event-id", "0-0").get().await;
    assert_eq!(resumed.event().await, Some(event));
    drop(resumed);

    assert_eq!(there.send("DELETE", "").await.status, 204);
    a.closed().await;
    assert_eq!(there.say(&call(3, "echo x")).await.0, 404);
    assert_eq!(b.stage.service.sessions(), 0);
    assert!(client.count() >= 6, "each request but the last, for which the store may be asked");
}

#[tokio::test]
async fn a_request_is_served_as_its_caller() {
    let (_shared, a, b, client, _) = two().await;
    let request = |who: Option<&str>, session: Option<&str>, body: String| {
        let mut request = Request::post("http://localhost/mcp");
        request = request.header("content-type", "application/json").header("accept", "*/*");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        if let Some(who) = who {
            request = request.extension(Principal(Arc::from(who)));
        }
        request.body(Body::from(full(&body))).unwrap()
    };
    let hello = a.stage.service.handle(request(Some("ann"), None, initialize("2025-11-25", "{}"))).await;
    let session = hello.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let mut answers = Vec::new();
    for replica in [&a, &b] {
        for (who, status) in [(Some("ann"), 200), (Some("bob"), 404), (None, 404)] {
            let answer = replica.stage.service.handle(request(who, Some(&session), call(1, "caller"))).await;
            assert_eq!(answer.status(), status, "{who:?}");
            answers.push(axum::body::to_bytes(Body::new(answer.into_body()), 1 << 20).await.unwrap());
        }
    }
    assert!(String::from_utf8_lossy(&answers[0]).contains("ann"), "{:?}", answers[0]);
    assert_eq!(answers[..3], answers[3..]);
    assert_eq!(client.count(), 3);
}

#[tokio::test]
async fn a_token_is_checked_by_the_first_process() {
    let shared = Shared::new();
    let (a, _) = reachable_with(&shared, "a", LONG, config().access).await;
    let (b, client) = reachable_with(&shared, "b", LONG, config().access).await;
    let there = b.host(&bearer(&a.stage.host, "ann.use").hello("2025-11-25").await);
    a.stage.tools.go.notify_one();
    assert_eq!(there.say(&call(1, "who")).await, (200, done(1, "ann may use")));
    assert_eq!(bearer(&there, "eve.use").post(&call(2, "echo x")).await.status, 404);
    assert_eq!(client.count(), 2);
    assert_eq!(there.with("authorization", "").post(&call(3, "echo x")).await.status, 401);
    assert_eq!(there.post(&call(4, "echo deploy")).await.status, 403);
    assert_eq!(client.count(), 2, "they are refused before");
    // The process of the session knows the scopes that its requests have needed.
    let deploying = bearer(&there, "ann.use.deploy");
    assert_eq!(deploying.say(&call(5, "echo deploy")).await, (200, done(5, "deploy")));
    assert_eq!((there.get().await.status, deploying.get().await.status), (403, 200));
    assert_eq!(client.count(), 5);
}

#[tokio::test]
async fn a_call_is_taken_up_by_the_process_that_holds_it() {
    let (_shared, a, b, client, _) = two().await;
    let call = json!({"name": "roots", "_meta": meta()});
    let (_, first) = said(&a.stage, Some("ann"), &call).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let mut again = call.clone();
    again["requestState"] = first["result"]["requestState"].clone();
    again["inputResponses"] = json!({"roots-1": {"roots": [{"uri": "file:///a"}]}});
    assert_eq!(said(&b.stage, Some("bob"), &again).await.0, 400);
    assert_eq!(client.count(), 0, "the state is not for this caller");
    let (status, second) = said(&b.stage, Some("ann"), &again).await;
    assert_eq!((status, &second["result"]["content"][0]["text"]), (200, &json!("1 roots")), "{second}");
    assert_eq!(said(&b.stage, Some("ann"), &again).await.0, 400, "a state is good for one answer");
    assert_eq!(client.count(), 2);
}

#[tokio::test]
async fn a_request_is_handed_on_once() {
    let (_shared, a, b, client, host) = two().await;
    // A process with the name of the holder, for which a third one holds the session.
    let other = Shared::new();
    let (twin, clients_of_twin) = reachable(&other, "a").await;
    let third = LeaseName::first(NodeId::new("d"));
    let session = host.headers.iter().find(|(name, _)| name == "mcp-session-id").unwrap().1.clone();
    assert_eq!(other.leases.register(&third, LONG).await, Ok(true));
    other.leases.announce(&third, &format!("http://{}", b.stage.host.address)).await.unwrap();
    other.leases.open(&session, &third).await.unwrap();
    a.announce(&format!("http://{}", twin.stage.host.address)).await;
    let refused = b.host(&host).post(&call(1, "echo x")).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
    assert_eq!((client.count(), clients_of_twin.count()), (2, 0));
}

#[tokio::test]
async fn a_request_for_another_process_is_not_served() {
    let (_shared, a, b, client, host) = two().await;
    a.announce(&format!("http://{}", b.stage.host.address)).await;
    let refused = b.host(&host).post(&call(1, "echo x")).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
    assert_eq!((client.count(), b.claims()), (2, 3), "the lookups of the sender alone");
}

#[tokio::test]
async fn a_header_that_is_not_signed_is_refused() {
    let (_shared, a, _b, _, host) = two().await;
    let alone = Stage::local().await;
    let local = alone.host.hello("2025-11-25").await;
    for (host, value) in [(&host, "v1.e30.AAAA"), (&host, "x"), (&local, "v1.e30.AAAA"), (&local, " ")] {
        let host = host.with("protomcp-hop", value);
        for refused in [host.post(&call(1, "echo x")).await, host.get().await, host.send("DELETE", "").await] {
            let challenge = refused.headers.get("www-authenticate").map(String::as_str);
            assert_eq!((refused.status, challenge), (401, Some("Protomcp-Hop")), "{value}");
        }
    }
    assert_eq!((a.stage.service.sessions(), alone.service.sessions()), (1, 1));
}

#[tokio::test]
async fn a_header_is_used_once_and_for_its_body() {
    let (_shared, a, b, client, host) = two().await;
    client.is_down.store(true, Ordering::SeqCst);
    let refused = b.host(&host).post(&call(1, "echo x")).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
    let hops = client.hops();
    let [first, second] = &hops[..] else { panic!("{hops:?}") };
    let with = |hop: &str| host.with("protomcp-hop", hop);
    assert_eq!(with(first).say(&call(1, "echo y")).await.0, 401, "it is for another body");
    assert_eq!(with(second).get().await.status, 401, "it is for another method");
    assert_eq!(with(second).say(&call(1, "echo x")).await, (200, done(1, "x")));
    for used in [first, second] {
        assert_eq!(with(used).say(&call(1, "echo x")).await.0, 409, "it was used");
    }
    assert_eq!(a.stage.service.sessions(), 1);
}

#[tokio::test]
async fn a_call_that_was_repeated_on_the_way_runs_once() {
    let (_shared, _a, b, client, host) = two().await;
    client.repeats.store(true, Ordering::SeqCst);
    let (status, answer) = b.host(&host).say(&call(1, "echo x")).await;
    assert_eq!((status, reason(&answer)), (200, replica_gone(1)), "it may have run");
    assert_eq!(client.count(), 1, "it is not handed on again");
}

#[tokio::test]
async fn a_process_that_shuts_down_finishes_what_it_has_handed_on() {
    let (_shared, a, b, _, host) = two().await;
    let there = b.host(&host);
    let mut listening = there.get().await;
    listening.event().await.unwrap();
    let calling = say(&there, call(1, "wait"));
    a.stage.tools.begun().await;
    b.stage.tools.shut_down();
    assert_eq!(listening.event().await, None, "its client comes back to another process");
    assert!(b.stage.service.drained().now_or_never().is_none(), "a call runs");
    a.stage.tools.go.notify_one();
    assert_eq!(in_time(calling).await.unwrap().unwrap(), (200, done(1, "done")));
    in_time(b.stage.service.drained()).await.expect("nothing is left");
    assert_eq!(there.post(&call(2, "echo x")).await.status, 503);
}

/// The next request waits for the end of the running call, and the other process takes the session over.
#[tokio::test]
async fn a_request_for_a_session_of_a_process_that_shuts_down_waits() {
    let (_shared, a, b, client, host) = two().await;
    let there = b.host(&host);
    let calling = say(&there, call(1, "wait"));
    a.stage.tools.begun().await;
    a.stage.tools.shut_down();
    let waiting = say(&there, call(2, "echo x"));
    until("it was handed on, and again", || client.count() >= 3).await;
    a.stage.tools.go.notify_one();
    assert_eq!(in_time(calling).await.unwrap().unwrap(), (200, done(1, "done")));
    assert_eq!(in_time(waiting).await.unwrap().unwrap(), (200, done(2, "x")));
    assert_eq!(b.stage.service.sessions(), 1);
}

/// A socket at which the process should be.
async fn socket(replica: &Replica) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    replica.announce(&format!("http://{}", listener.local_addr().unwrap())).await;
    listener
}

fn say(host: &Host, text: String) -> JoinHandle<(u16, String)> {
    let host = host.clone();
    tokio::spawn(async move { host.say(&text).await })
}

/// Accepts a connection, and reads the head of a request.
async fn request(listener: &TcpListener) -> (TcpStream, String) {
    let read = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        (stream, String::from_utf8(head).unwrap())
    };
    in_time(read).await.expect("a request comes")
}

#[tokio::test]
async fn a_request_that_was_not_written_can_be_sent_again() {
    let (_shared, a, b, client, host) = two().await;
    drop(socket(&a).await);
    let there = b.host(&host);
    for refused in [there.post(&call(1, "echo x")).await, there.get().await] {
        assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
    }
    assert_eq!(client.count(), 4);
    // Its process has ended.
    a.die().await;
    assert_eq!(there.say(&call(1, "echo x")).await, (200, done(1, "x")));
}

#[tokio::test]
async fn a_request_that_was_written_is_not_sent_again() {
    let (_shared, a, b, client, host) = two().await;
    let (listener, there) = (socket(&a).await, b.host(&host));
    let calling = say(&there, call(7, "echo x"));
    let (stream, head) = request(&listener).await;
    assert!(head.starts_with("POST /mcp HTTP/1.1\r\n") && head.contains("\r\nprotomcp-hop: v1."), "{head}");
    drop(stream);
    let (status, text) = in_time(calling).await.unwrap().unwrap();
    assert_eq!((status, reason(&text)), (200, replica_gone(7)), "{text}");
    assert!(listener.accept().now_or_never().is_none() && client.count() == 1, "it is sent once");
    // A stream has no answer that could be lost.
    let listening = tokio::spawn(async move { there.get().await.status });
    drop(request(&listener).await);
    assert_eq!(in_time(listening).await.unwrap().unwrap(), 503);
}

#[tokio::test]
async fn a_process_that_does_not_answer_has_its_time() {
    let shared = Shared::new();
    let (a, _) = reachable(&shared, "a").await;
    let (b, client) = reachable_with(&shared, "b", Duration::from_millis(50), Access::default()).await;
    let host = a.stage.host.hello("2025-11-25").await;
    let _silent = socket(&a).await;
    let (status, text) = b.host(&host).say(&call(7, "echo x")).await;
    assert_eq!((status, reason(&text)), (200, replica_gone(7)), "{text}");
    assert_eq!(client.count(), 1);
}

#[tokio::test]
async fn a_client_that_goes_ends_its_request_in_the_other_process() {
    let (_shared, a, b, _, host) = two().await;
    let listener = socket(&a).await;
    let calling = say(&b.host(&host), call(7, "wait"));
    let (mut stream, _) = request(&listener).await;
    calling.abort();
    let mut rest = Vec::new();
    // An end or a reset.
    drop(in_time(stream.read_to_end(&mut rest)).await.expect("the connection is closed"));
}

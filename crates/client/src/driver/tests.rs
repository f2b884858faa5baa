//! Connections that are replaced, with servers by hand.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_session::{CloseReason, Mode, RequestError};
use protomcp_transport::memory::{self, Memory, MemorySink, MemorySource};
use protomcp_transport::{Sink, Source, Transport};
use protomcp_types::{Incoming, Message, RawJson, Request, RequestId};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::reconnection::{Reconnect, Reconnection, Replacement};

/// Waits for the next connection.
struct Next(oneshot::Receiver<(Memory, Box<Self>)>);

impl Reconnect<MemorySource, MemorySink> for Next {
    fn reconnect(self: Box<Self>) -> BoxFuture<'static, Option<Replacement<MemorySource, MemorySink>>> {
        let next = async move {
            let (connection, next) = self.0.await.ok()?;
            let (source, sink) = connection.split();
            Some(Replacement { source, sink, next: next as Box<_> })
        };
        next.boxed()
    }
}

/// The server's end of a connection.
struct Server {
    source: MemorySource,
    sink: MemorySink,
}

impl Server {
    fn new() -> (Memory, Self) {
        let (ours, theirs) = memory::pair();
        let (source, sink) = theirs.split();
        (ours, Self { source, sink })
    }

    /// The next request. Notifications, such as the ones for cancelled requests, are passed over.
    async fn request(&mut self) -> Request {
        loop {
            match self.source.next().await {
                Ok(Some(Ok(Incoming::One(Message::Request(request))))) => return request,
                Ok(Some(Ok(Incoming::One(Message::Notification(_))))) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn send(&mut self, text: String) {
        let Ok(Incoming::One(message)) = Incoming::parse(&text.into()) else { panic!("not a message") };
        self.sink.send(message, None).unwrap();
        self.sink.flush().await.unwrap();
    }

    async fn open(&mut self) {
        let request = self.request().await;
        assert_eq!(request.method, "server/discover");
        let id = request.id;
        self.send(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}"#
        ))
        .await;
    }

    /// Acknowledges a subscription, and returns the resources.
    async fn listen(&mut self) -> String {
        let request = self.request().await;
        assert_eq!(request.method, "subscriptions/listen");
        let wanted = request.params.member("notifications").map(RawJson::as_str).unwrap_or_default().to_owned();
        self.acknowledge(&request.id, &wanted).await;
        wanted
    }

    async fn acknowledge(&mut self, id: &RequestId, wanted: &str) {
        let meta = "io.modelcontextprotocol/subscriptionId";
        self.send(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{wanted},"_meta":{{"{meta}":{id}}}}}}}"#
        ))
        .await;
    }

    /// The resources of the next request for a stream, which has no answer.
    async fn wanted(&mut self) -> String {
        let request = self.request().await;
        assert_eq!(request.method, "subscriptions/listen");
        request.params.member("notifications").map(RawJson::as_str).unwrap_or_default().to_owned()
    }

    async fn answer(&mut self, id: RequestId, result: &str) {
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }

    async fn uri_of(&mut self, method: &str) -> String {
        let request = self.request().await;
        assert_eq!(request.method, method);
        request.params.member("uri").and_then(|uri| uri.to().ok()).unwrap_or_default()
    }

    async fn next_is(&mut self, method: &str) -> RequestId {
        let request = self.request().await;
        assert_eq!(request.method, method);
        request.id
    }
}

#[tokio::test(start_paused = true)]
async fn subscriptions_wait_for_the_next_connection() {
    let (first, mut server) = Server::new();
    let (replace, next) = oneshot::channel();
    let (notified, mut updates) = tokio::sync::mpsc::unbounded_channel();
    let client = Client::new("host", "1").mode(Mode::Stateless).on_resource_updated(move |uri, _| {
        drop(notified.send(uri));
        std::future::ready(())
    });
    let reconnection = Reconnection::Ready(Box::new(Next(next)));
    let connecting = tokio::spawn(async move { client.connect_with(first, reconnection).await });
    server.open().await;
    let session = Arc::new(connecting.await.unwrap().unwrap());
    let subscribe = |uri: &'static str| {
        let session = Arc::clone(&session);
        tokio::spawn(async move { session.subscribe(uri).await })
    };
    let kept = subscribe("a");
    server.listen().await;
    kept.await.unwrap().unwrap();
    // Its answer is lost with the connection.
    let lost = subscribe("b");
    server.next_is("subscriptions/listen").await;
    drop(server);
    assert_eq!(lost.await.unwrap(), Err(RequestError::Closed(CloseReason::ByServer(None))));
    let early = subscribe("c");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!early.is_finished(), "it waits");
    let (second, mut server) = Server::new();
    let (_replace, next) = oneshot::channel();
    assert!(replace.send((second, Box::new(Next(next)))).is_ok());
    server.open().await;
    assert_eq!(server.listen().await, r#"{"resourceSubscriptions":["a","c"]}"#, "without the one that has failed");
    early.await.unwrap().unwrap();
    assert_eq!(updates.recv().await.unwrap(), "a", "it may have changed");
    // Nothing else was asked for.
    let ping = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.ping().await }
    });
    server.next_is("server/discover").await;
    ping.abort();
}

#[tokio::test(start_paused = true)]
async fn a_subscription_does_not_wait_for_ever() {
    let (first, mut server) = Server::new();
    let (_replace, next) = oneshot::channel();
    let client = Client::new("host", "1").mode(Mode::Stateless);
    let reconnection = Reconnection::Ready(Box::new(Next(next)));
    let connecting = tokio::spawn(async move { client.connect_with(first, reconnection).await });
    server.open().await;
    let session = connecting.await.unwrap().unwrap();
    drop(server);
    tokio::task::yield_now().await;
    let failed = session.subscribe("a").await.unwrap_err();
    assert!(matches!(failed, RequestError::TimedOut(_) | RequestError::Closed(_)), "{failed}");
    let failed = session.subscribe("a").await.unwrap_err();
    assert_eq!(failed, RequestError::TimedOut(Duration::from_secs(600)));
}

#[tokio::test(start_paused = true)]
async fn subscriptions_that_the_server_has_ended_are_wanted_still() {
    let (first, mut server) = Server::new();
    let client = Client::new("host", "1").mode(Mode::Stateless);
    let connecting = tokio::spawn(async move { client.connect_with(first, Reconnection::Never).await });
    server.open().await;
    let session = Arc::new(connecting.await.unwrap().unwrap());
    let subscribe = |uri: &'static str| {
        let session = Arc::clone(&session);
        tokio::spawn(async move { session.subscribe(uri).await })
    };
    let kept = subscribe("a");
    server.listen().await;
    kept.await.unwrap().unwrap();
    let refused = subscribe("b");
    let id = server.next_is("subscriptions/listen").await;
    server.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"no"}}}}"#)).await;
    refused.await.unwrap().unwrap_err();
    // The stream of the first ends with an error, and then the server is well again.
    server.send(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}"#.to_owned()).await;
    let began = tokio::time::Instant::now();
    assert_eq!(server.listen().await, r#"{"resourceSubscriptions":["a"]}"#);
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_subscription_without_a_session_ends() {
    let (first, mut server) = Server::new();
    let client = Client::new("host", "1").mode(Mode::Stateless);
    let connecting = tokio::spawn(async move { client.connect(first).await });
    server.open().await;
    let session = Arc::new(connecting.await.unwrap().unwrap());
    let subscribe = |uri: &'static str| {
        let session = Arc::clone(&session);
        tokio::spawn(async move { session.subscribe(uri).await })
    };
    let kept = subscribe("a");
    server.listen().await;
    kept.await.unwrap().unwrap();
    // The caller is gone before the server has acknowledged it.
    let dropped = subscribe("b");
    assert_eq!(server.wanted().await, r#"{"resourceSubscriptions":["a","b"]}"#);
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    // Of two callers one is gone.
    let (dropped, other) = (subscribe("c"), subscribe("c"));
    assert_eq!(server.wanted().await, r#"{"resourceSubscriptions":["a","c"]}"#, "without the one that is gone");
    dropped.abort();
    assert_eq!(server.listen().await, r#"{"resourceSubscriptions":["a","c"]}"#);
    other.await.unwrap().unwrap();
    // A second subscription to what is watched already ends nothing.
    let again = subscribe("a");
    tokio::task::yield_now().await;
    again.abort();
    session.unsubscribe("c").now_or_never();
    assert_eq!(server.wanted().await, r#"{"resourceSubscriptions":["a"]}"#);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_subscription_of_a_session_ends() {
    let (first, mut server) = Server::new();
    let client = Client::new("host", "1").mode(Mode::Stateful);
    let connecting = tokio::spawn(async move { client.connect(first).await });
    let id = server.next_is("initialize").await;
    server.answer(id, r#"{"protocolVersion":"2025-06-18","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}"#).await;
    let session = Arc::new(connecting.await.unwrap().unwrap());
    let subscribe = |uri: &'static str| {
        let session = Arc::clone(&session);
        tokio::spawn(async move { session.subscribe(uri).await })
    };
    let kept = subscribe("a");
    let id = server.next_is("resources/subscribe").await;
    server.answer(id, "{}").await;
    kept.await.unwrap().unwrap();
    let dropped = subscribe("b");
    server.next_is("resources/subscribe").await;
    dropped.abort();
    assert_eq!(server.uri_of("resources/unsubscribe").await, "b");
    // A second subscription to what is watched already ends nothing, and of two callers one may go.
    let dropped = subscribe("a");
    server.next_is("resources/subscribe").await;
    dropped.abort();
    let (dropped, other) = (subscribe("c"), subscribe("c"));
    server.next_is("resources/subscribe").await;
    let id = server.next_is("resources/subscribe").await;
    dropped.abort();
    tokio::time::sleep(Duration::from_millis(1)).await;
    server.answer(id, "{}").await;
    other.await.unwrap().unwrap();
    // Nothing is ended: the next request is another one.
    let ping = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.ping().await }
    });
    server.next_is("ping").await;
    ping.abort();
}

#[tokio::test(start_paused = true)]
async fn kept_answers_go_with_the_stream_that_announces_changes() {
    let (first, mut server) = Server::new();
    let client = Client::new("host", "1").mode(Mode::Stateless).on_resource_updated(|_, _| std::future::ready(()));
    let connecting = tokio::spawn(async move { client.connect(first).await });
    server.open().await;
    let session = Arc::new(connecting.await.unwrap().unwrap());
    let subscribing = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.subscribe("a").await }
    });
    let stream = server.next_is("subscriptions/listen").await;
    server.acknowledge(&stream, r#"{"resourceSubscriptions":["a"]}"#).await;
    subscribing.await.unwrap().unwrap();
    let read = || {
        let session = Arc::clone(&session);
        tokio::spawn(async move { session.read_resource("a").await })
    };
    let asked = read();
    let id = server.next_is("resources/read").await;
    server.answer(id, r#"{"contents":[],"ttlMs":3600000,"cacheScope":"public"}"#).await;
    asked.await.unwrap().unwrap();
    assert!(read().await.unwrap().is_ok(), "it is kept");
    // The server ends the stream.
    server.answer(stream, "{}").await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let asked = read();
    let id = server.next_is("resources/read").await;
    server.answer(id, r#"{"contents":[]}"#).await;
    asked.await.unwrap().unwrap();
}

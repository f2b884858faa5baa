//! Events that wait for their store.

use std::future::{pending, ready};
use std::sync::{Mutex, OnceLock};
use std::task::Waker;

use protomcp_server::{FencingToken, Owner, StoreAnswer};
use protomcp_transport::{Sink, Transport};
use protomcp_types::{Message, Params};
use tokio::sync::oneshot;

use super::*;
use crate::caller::Caller;
use crate::config::Config;
use crate::get::replay;
use crate::http_session::transport::SessionTransport;
use crate::http_session::{Attached, SessionKind};
use crate::store::memory::MemoryStore;
use crate::store::{Entry, EventKey, EventStore, Replayed, StreamLog};

/// A store whose writes of events are over when the test says so, and which finds no event.
#[derive(Debug, Default)]
struct Slow {
    writes: Mutex<VecDeque<oneshot::Sender<Result<(), StoreError>>>>,
    forgotten: OnceLock<FencingToken>,
}

impl Slow {
    /// The oldest write is over.
    fn end_write(&self, written: Result<(), StoreError>) {
        let oldest = self.writes.lock().unwrap().pop_front();
        oldest.expect("a write is entered").send(written).unwrap();
    }
}

impl EventStore for Slow {
    fn append(&self, _: &Owner, _: FencingToken, _: EventKey<'_>, entry: Entry<'_>) -> Write {
        let Entry::Event { .. } = entry else { return Write::Done(Ok(())) };
        let (sender, receiver) = oneshot::channel();
        self.writes.lock().unwrap().push_back(sender);
        Write::Pending(Box::pin(async move { receiver.await.expect("the test ends each write") }))
    }

    fn replay<'a>(&'a self, _: EventKey<'a>, _: u64) -> StoreAnswer<'a, Replayed> {
        Box::pin(pending())
    }

    fn log<'a>(&'a self, _: &'a str, _: FencingToken) -> StoreAnswer<'a, Vec<StreamLog>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn forget(&self, _: &str, token: FencingToken) {
        self.forgotten.set(token).unwrap();
    }
}

/// A session with a client that listens, and the end of it that sends.
struct Stage<S> {
    store: Arc<S>,
    session: Arc<HttpSession>,
    stream_ref: StreamRef,
    sink: <SessionTransport as Transport>::Sink,
}

impl<S: EventStore + Default> Stage<S> {
    fn new() -> Self {
        let store = Arc::new(S::default());
        let mut config = Config::default();
        config.streams.event_store = Some(Arc::clone(&store) as _);
        let session = HttpSession::new(SessionKind::Stateful, "s".into(), &Caller::default(), &config);
        let (stream_ref, _) = session.listen().unwrap();
        let (_, sink) = SessionTransport(Arc::clone(&session)).split();
        Self { store, session, stream_ref, sink }
    }

    fn send(&mut self, method: &'static str) {
        self.sink.send(Message::notification(method, Params::Absent), None).unwrap();
    }

    fn events(&self) -> Events {
        let handle = StreamHandle::new(Arc::clone(&self.session), self.stream_ref, None);
        Events::new(EventSource::Session(handle), Duration::from_secs(15))
    }
}

/// The next piece; `None` at the end.
fn poll(events: &mut Events) -> Poll<Option<String>> {
    let piece = events.poll(&mut Context::from_waker(Waker::noop()));
    piece.map(|piece| piece.map(|piece| String::from_utf8(piece.to_vec()).unwrap()))
}

#[track_caller]
fn assert_sent(events: &mut Events, id: &str, method: &str) {
    let Poll::Ready(Some(piece)) = poll(events) else { panic!("{method} is not sent") };
    assert!(piece.starts_with(&format!("id: {id}\n")) && piece.contains(method), "{piece}");
}

#[tokio::test(start_paused = true)]
async fn an_event_is_sent_when_its_write_is_done() {
    let mut stage = Stage::<Slow>::new();
    let mut events = stage.events();
    stage.send("first");
    stage.send("second");
    assert_eq!(stage.store.writes.lock().unwrap().len(), 2, "no write waits for the one before");
    let first = stage.store.writes.lock().unwrap().pop_front().unwrap();
    stage.store.end_write(Ok(()));
    for _ in 0..2 {
        assert!(poll(&mut events).is_pending());
    }
    first.send(Ok(())).unwrap();
    assert_sent(&mut events, "0-1", "first");
    assert_sent(&mut events, "0-2", "second");
    assert!(poll(&mut events).is_pending());
}

#[tokio::test(start_paused = true)]
async fn a_displaced_connection_sends_no_event_that_waits() {
    for is_displaced in [false, true] {
        let mut stage = Stage::<Slow>::new();
        let mut events = stage.events();
        stage.send("first");
        assert!(poll(&mut events).is_pending());
        if is_displaced {
            let Attached { next, .. } = stage.session.attach(0, 0).unwrap().unwrap();
            assert_eq!(next, 2, "the store has the first");
        }
        stage.store.end_write(Ok(()));
        if is_displaced {
            assert_eq!(poll(&mut events), Poll::Ready(None));
        } else {
            assert_sent(&mut events, "0-1", "first");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_finds_nothing_is_not_waited_for() {
    let stage = Stage::<Slow>::new();
    for attached in [None, stage.session.attach(0, 0).unwrap()] {
        let key = EventKey { session: "s", stream: 0, number: 0 };
        assert_eq!(replay(&*stage.store, key, attached).await, Err(StoreError::Unavailable));
    }
}

#[tokio::test(start_paused = true)]
async fn only_another_holder_keeps_an_event_that_is_not_stored() {
    for (error, is_over) in [(StoreError::Unavailable, false), (StoreError::Fenced, true)] {
        let mut stage = Stage::<Slow>::new();
        let mut events = stage.events();
        stage.send("first");
        assert!(poll(&mut events).is_pending());
        stage.store.end_write(Err(error));
        if is_over {
            assert_eq!(poll(&mut events), Poll::Ready(None));
        } else {
            assert_sent(&mut events, "0-1", "first");
        }
        assert_eq!(stage.session.is_over(), is_over, "{error}");
        drop(stage.sink);
        let is_forgotten = stage.store.forgotten.get().is_some();
        assert_eq!(is_forgotten, !is_over, "{error}: another process needs the log");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_forgets_its_log_with_its_token() {
    let stage = Stage::<Slow>::new();
    drop(stage.sink);
    assert_eq!(stage.store.forgotten.get(), Some(&FencingToken::FIRST));
}

#[tokio::test(start_paused = true)]
async fn an_event_for_an_absent_client_is_in_the_store() {
    let mut stage = Stage::<MemoryStore>::new();
    stage.session.detach(stage.stream_ref);
    stage.send("first");
    stage.send("second");
    let key = EventKey { session: "s", stream: 0, number: 0 };
    let Ok(Replayed::Events(events)) = stage.store.replay(key, u64::MAX).await else { panic!("it is known") };
    assert_eq!(events.len(), 2);
    // They wait for the client as well, which has read none of them.
    let Attached { stream_ref, next, .. } = stage.session.attach(0, 0).unwrap().unwrap();
    assert_eq!(next, 1);
    stage.stream_ref = stream_ref;
    let mut connection = stage.events();
    assert_sent(&mut connection, "0-1", "first");
    assert_sent(&mut connection, "0-2", "second");
}

//! A session by itself.

use std::sync::Weak;
use std::sync::atomic::{AtomicUsize, Ordering};

use protomcp_server::{FencingToken, StoreAnswer};
use protomcp_transport::{Sink, Transport};
use protomcp_types::Params;

use super::*;
use crate::http_session::transport::SessionTransport;
use crate::store::{Entry, EventKey, Replayed, StreamLog, Write};

/// Counts events, which it is given while the session is locked.
#[derive(Debug, Default)]
struct Counting {
    session: OnceLock<Weak<HttpSession>>,
    events: AtomicUsize,
}

impl EventStore for Counting {
    fn append(&self, _: &Owner, _: FencingToken, key: EventKey<'_>, entry: Entry<'_>) -> Write {
        let session = self.session.get().and_then(Weak::upgrade).unwrap();
        assert!(session.state.try_lock().is_err(), "a connection may look for event {} already", key.number);
        if let Entry::Event { .. } = entry {
            self.events.fetch_add(1, Ordering::Relaxed);
        }
        Write::Done(Ok(()))
    }

    fn replay<'a>(&'a self, _: EventKey<'a>, _: u64) -> StoreAnswer<'a, Replayed> {
        Box::pin(std::future::ready(Ok(Replayed::Unknown)))
    }

    fn log<'a>(&'a self, _: &'a str, _: FencingToken) -> StoreAnswer<'a, Vec<StreamLog>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn forget(&self, _: &str, _: FencingToken) {}
}

#[tokio::test]
async fn an_event_is_kept_before_another_connection_looks_for_it() {
    let store = Arc::new(Counting::default());
    let mut config = Config::default();
    config.streams.event_store = Some(Arc::clone(&store) as _);
    let session = HttpSession::new(SessionKind::Stateful, "s".into(), &Caller::default(), &config);
    store.session.set(Arc::downgrade(&session)).unwrap();
    let (stream_ref, _) = session.listen().unwrap();
    let (_source, mut sink) = SessionTransport(Arc::clone(&session)).split();
    sink.send(Message::notification("n", Params::Absent), None).unwrap();
    assert_eq!(store.events.load(Ordering::Relaxed), 1);
    assert!(matches!(session.next(stream_ref, Waker::noop()), Next::Event(1, _)));
}

#[tokio::test]
async fn the_server_knows_who_asks() {
    let of = |principal| {
        let caller = Caller { principal, ..Caller::default() };
        HttpSession::new(SessionKind::Stateful, "".into(), &caller, &Config::default())
    };
    let ann: Arc<str> = "ann".into();
    assert_eq!(SessionTransport(of(Some(Principal(Arc::clone(&ann))))).principal(), Some(ann));
    assert_eq!(SessionTransport(of(None)).principal(), None);
}

//! Streams, a store and a client that loses connections, against a model of the messages that each stream has promised.
//!
//! The model numbers the messages of each stream as they are sent. In every history, an event that a client reads is
//! the one with the next number of its stream; and when the client has fetched all that it can, it has read everything
//! that was promised, once and in order. Only events that no client could fetch may be lost: the events of a response
//! that broke before it was a stream of events, those that the queue of the standalone stream has dropped, and those
//! that the store has dropped, and then the client gets an error.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use proptest::prelude::*;
use proptest::sample::Index;
use protomcp_server::FencingToken;
use protomcp_types::{JsonBuf, Params};

mod log;
mod sequences;
mod step;

use self::log::{Log, texts};
use self::step::{Step, steps};
use super::*;
use crate::get::{after_dropped, is_short};
use crate::store::memory::MemoryStore;
use crate::store::{EventKey, EventStore, Replayed};

/// A connection of the client.
struct Connection {
    stream_ref: StreamRef,
    is_stream: bool,
    /// The server has not noticed that the connection is closed.
    is_dead: bool,
    /// The events in flight: the number of an event, and its text.
    wire: VecDeque<(u64, String)>,
    /// The last event that the client has read here.
    last: u64,
}

/// The promises of one stream, and the part of it that the client knows.
#[derive(Default)]
struct Promise {
    said: Vec<String>,
    read: BTreeMap<u64, String>,
    /// The last event that was dropped from the queue. The client may miss it and those before.
    dropped: u64,
    /// The client knows that it is a stream of events, and can come back to it.
    is_known: bool,
    /// No client can fetch the rest, and the rest is not promised.
    is_broken: bool,
}

struct World {
    streams: Streams<Message, Log>,
    store: Arc<MemoryStore>,
    connections: Vec<Connection>,
    promises: BTreeMap<StreamId, Promise>,
    /// The unanswered requests, and the stream of each answer.
    open: BTreeMap<u64, StreamId>,
    requests: u64,
    words: usize,
}

impl World {
    fn new(store: MemoryStore, max_queued: usize) -> Self {
        let store = Arc::new(store);
        let mut streams = Streams::new(1000, None, Log(Arc::clone(&store)));
        streams.max_queued = max_queued;
        Self {
            streams,
            store,
            connections: Vec::new(),
            promises: BTreeMap::from([(STANDALONE, Promise { is_known: true, ..Promise::default() })]),
            open: BTreeMap::new(),
            requests: 0,
            words: 0,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Post(count) => self.post(count as u64),
            Step::Report(index) => self.during(index, Self::report),
            Step::Happen => self.happen(),
            Step::Answer(index) => self.during(index, Self::answer),
            Step::Cancel(index) => self.during(index, |world, request| {
                world.open.remove(&request);
                drop(world.streams.request_cancelled(&RequestId::from(request)));
            }),
            Step::Pause(index) => {
                self.during(index, |world, request| drop(world.streams.close_stream(&RequestId::from(request))));
            }
            Step::Hurry(index) => self.with(&index, Self::begin_stream),
            Step::Take(index) => self.with(&index, Self::take),
            Step::Arrive(index) => self.with(&index, |world, at| world.arrive(at, 1)),
            Step::Break(index) => self.with(&index, Self::lose),
            Step::Hang(index) => self.with(&index, |world, at| {
                world.connections[at].is_dead = true;
                world.connections[at].wire.clear();
            }),
            Step::Listen => self.listen(),
            Step::Return(index) => {
                if let Some(stream) = self.known(&index) {
                    let last = self.last_read(stream);
                    self.come_back(stream, last);
                }
            }
            Step::ReturnEarlier(index, number) => {
                if let Some(stream) = self.known(&index) {
                    let last = number.index(usize::try_from(self.last_read(stream)).unwrap() + 1);
                    self.come_back(stream, last as u64);
                }
            }
        }
    }

    fn promise(&mut self, stream: StreamId) -> &mut Promise {
        self.promises.entry(stream).or_default()
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("w{}", self.words)
    }

    fn during(&mut self, index: Index, act: impl FnOnce(&mut Self, u64)) {
        let open: Vec<_> = self.open.keys().copied().collect();
        if !open.is_empty() {
            act(self, open[index.index(open.len())]);
        }
    }

    fn with(&mut self, index: &Index, act: impl FnOnce(&mut Self, usize)) {
        if !self.connections.is_empty() {
            let at = index.index(self.connections.len());
            act(self, at);
        }
    }

    /// A stream to which the client can come back.
    fn known(&self, index: &Index) -> Option<StreamId> {
        let known: Vec<_> = self.promises.iter().filter(|(_, promise)| promise.is_known).map(|(id, _)| *id).collect();
        (!known.is_empty()).then(|| known[index.index(known.len())])
    }

    fn last_read(&self, stream: StreamId) -> u64 {
        self.promises[&stream].read.last_key_value().map_or(0, |(number, _)| *number)
    }

    fn post(&mut self, count: u64) {
        let requests: Vec<u64> = (1..=count).map(|number| self.requests + number).collect();
        let ids: Vec<_> = requests.iter().map(|number| RequestId::from(*number)).collect();
        let stream_ref = self.streams.open(&ids.iter().collect::<Vec<_>>(), Vec::new()).unwrap();
        self.requests += count;
        self.open.extend(requests.iter().map(|request| (*request, stream_ref.stream)));
        self.promise(stream_ref.stream);
        let wire = VecDeque::new();
        self.connections.push(Connection { stream_ref, is_stream: false, is_dead: false, wire, last: 0 });
    }

    /// The number of messages in the queue of a stream.
    fn queued(&self, stream: StreamId) -> usize {
        self.streams.open.get(&stream).map_or(0, |stream| stream.queue.len())
    }

    fn happen(&mut self) {
        let word = self.word();
        if self.queued(STANDALONE) >= self.streams.max_queued {
            let (phase, oldest) = (self.streams.open[&STANDALONE].phase, self.streams.next_number(STANDALONE));
            match phase {
                // It never gets a number.
                Phase::Waiting => drop(self.promise(STANDALONE).said.remove(0)),
                Phase::Streaming | Phase::Lost => self.promise(STANDALONE).dropped = oldest.unwrap(),
            }
        }
        self.promise(STANDALONE).said.push(word.clone());
        drop(self.streams.route(Message::notification(word, Params::Absent), None));
    }

    fn report(&mut self, request: u64) {
        let word = self.word();
        let stream = self.open[&request];
        if self.queued(stream) < self.streams.max_queued {
            self.promise(stream).said.push(word.clone());
        }
        drop(self.streams.route(Message::notification(word, Params::Absent), Some(&RequestId::from(request))));
    }

    fn answer(&mut self, request: u64) {
        let stream = self.open.remove(&request).unwrap();
        self.promise(stream).said.push(format!("={request}"));
        let answer = Message::result(RequestId::from(request), JsonBuf::empty_object());
        drop(self.streams.route(answer, Some(&RequestId::from(request))));
    }

    /// The response becomes a stream of events, as the client sees from its opening.
    fn begin_stream(&mut self, at: usize) {
        let Connection { stream_ref, is_stream, is_dead, .. } = &mut self.connections[at];
        if !std::mem::replace(is_stream, true) {
            let (stream_ref, is_dead) = (*stream_ref, *is_dead);
            self.streams.stream(stream_ref);
            self.promise(stream_ref.stream).is_known |= !is_dead;
        }
    }

    fn take(&mut self, at: usize) {
        let Connection { stream_ref, is_stream, is_dead, .. } = self.connections[at];
        if !is_stream {
            match self.streams.first(stream_ref, Waker::noop()) {
                First::Pending => {}
                First::Events => self.begin_stream(at),
                First::Answers(answers) => {
                    self.connections.remove(at);
                    let promise = self.promise(stream_ref.stream);
                    promise.is_broken = is_dead;
                    if !is_dead {
                        let answers = answers.iter().map(text);
                        promise.read.extend(answers.enumerate().map(|(index, text)| (index as u64 + 1, text)));
                    }
                }
            }
            return;
        }
        match self.streams.next(stream_ref, Waker::noop()) {
            Next::Pending => {}
            // Events sent before the end of a response arrive before it.
            Next::End => {
                self.arrive(at, usize::MAX);
                self.connections.remove(at);
                self.streams.detach(stream_ref, Some(later()));
                let promise = self.promise(stream_ref.stream);
                promise.is_broken |= !promise.is_known;
            }
            Next::Event(number, message) => {
                if !is_dead {
                    self.connections[at].wire.push_back((number, text(&message)));
                }
            }
        }
    }

    /// This many events reach the client.
    fn arrive(&mut self, at: usize, count: usize) {
        for _ in 0..count {
            let connection = &mut self.connections[at];
            let Some((number, text)) = connection.wire.pop_front() else { return };
            let promise = self.promises.get_mut(&connection.stream_ref.stream).unwrap();
            assert!(number > connection.last, "an event comes twice");
            assert!(number - 1 <= connection.last.max(promise.dropped), "an event is missing");
            connection.last = number;
            let before = promise.read.insert(number, text.clone());
            assert!(before.is_none_or(|before| before == text), "two events have the same id");
        }
    }

    fn lose(&mut self, at: usize) {
        let Connection { stream_ref, is_stream, .. } = self.connections.remove(at);
        self.streams.detach(stream_ref, Some(later()));
        // A response that might have been JSON has no events to come back to. The client cannot know more than that.
        let promise = self.promise(stream_ref.stream);
        promise.is_broken |= !is_stream || !promise.is_known;
    }

    fn listen(&mut self) {
        if self.streams.has_listener() {
            return;
        }
        let stream_ref = self.streams.attach(STANDALONE).unwrap();
        let last = self.streams.next_number(STANDALONE).unwrap() - 1;
        // The new stream promises nothing about earlier messages.
        let promise = self.promise(STANDALONE);
        for (index, said) in promise.said.iter().take(usize::try_from(last).unwrap()).enumerate() {
            promise.read.entry(index as u64 + 1).or_insert_with(|| said.clone());
        }
        self.connections.push(Connection { stream_ref, is_stream: true, is_dead: false, wire: VecDeque::new(), last });
    }

    /// Resumes as GET with `Last-Event-ID` does.
    fn come_back(&mut self, stream: StreamId, last: u64) {
        let stream_ref = self.streams.attach(stream);
        let end = stream_ref.map_or(u64::MAX, |stream_ref| self.streams.next_number(stream_ref.stream).unwrap());
        let mut replayed = self.replayed(stream, last, end);
        let mut from = last;
        let dropped = self.streams.dropped(stream);
        if let (Some(_), Some(number)) = (stream_ref, after_dropped(&replayed, last, end, dropped)) {
            from = number;
            replayed = self.replayed(stream, from, end);
        }
        let is_refused = match stream_ref {
            None => !matches!(replayed, Replayed::Events(_)),
            Some(_) => is_short(&replayed, from, end),
        };
        if is_refused {
            // The client gets an error for the missing events: the rest is no longer promised.
            if let Some(stream_ref) = stream_ref {
                self.streams.detach(stream_ref, Some(later()));
            }
            let has_unread = self.promises[&stream].said.len() as u64 > last;
            self.promise(stream).is_broken |= has_unread;
            return;
        }
        let wire: VecDeque<_> = (from + 1..).zip(texts(replayed)).collect();
        match stream_ref {
            Some(stream_ref) => {
                self.connections.push(Connection { stream_ref, is_stream: true, is_dead: false, wire, last });
            }
            None => {
                let promise = self.promise(stream);
                for (number, text) in wire {
                    let before = promise.read.insert(number, text.clone());
                    assert!(before.is_none_or(|before| before == text), "two events have the same id");
                }
            }
        }
    }

    fn replayed(&self, stream: StreamId, number: u64, end: u64) -> Replayed {
        let replay = self.store.replay(EventKey { session: "s", stream, number }, end);
        replay.now_or_never().expect("memory is ready immediately").unwrap()
    }

    /// Everything is answered, and the client fetches the events that it can.
    fn settle(&mut self) {
        for request in self.open.keys().copied().collect::<Vec<_>>() {
            self.answer(request);
        }
        while let Some(at) = self.connections.len().checked_sub(1) {
            let Connection { is_dead, is_stream, stream_ref, .. } = self.connections[at];
            if is_dead || is_stream && stream_ref.stream == STANDALONE {
                self.lose(at);
            } else {
                self.take(at);
            }
        }
        for stream in self.promises.keys().copied().collect::<Vec<_>>() {
            if self.promises[&stream].is_known {
                self.come_back(stream, self.last_read(stream));
                while let Some(at) = self.connections.len().checked_sub(1) {
                    let count = self.connections[at].wire.len();
                    self.take(at);
                    if self.connections.len() > at && self.connections[at].wire.len() == count {
                        self.arrive(at, usize::MAX);
                        self.lose(at);
                    }
                }
            }
        }
    }

    fn check(&self, may_forget: bool) {
        for (stream, promise) in &self.promises {
            for (number, text) in &promise.read {
                assert_eq!(Some(text), promise.said.get(usize::try_from(*number).unwrap() - 1), "stream {stream}");
            }
            let is_read = |number| number <= promise.dropped || promise.read.contains_key(&number);
            let is_whole = (1..=promise.said.len() as u64).all(is_read);
            assert!(is_whole || promise.is_broken, "stream {stream} has lost {:?}", promise.said);
            assert!(may_forget || is_whole || *stream != STANDALONE, "the session's own stream has lost something");
            if !may_forget && promise.is_known && !promise.is_broken {
                assert_eq!(texts(self.replayed(*stream, 0, u64::MAX)), promise.said, "each is in the store");
            }
        }
        let log = self.store.log("s", FencingToken::FIRST).now_or_never().expect("memory is ready immediately");
        let mut of_events: Vec<_> = self.streams.open.iter().filter(|(_, stream)| stream.next > 0).collect();
        of_events.sort_unstable_by_key(|(id, _)| **id);
        let of_events: Vec<_> = of_events.into_iter().map(|(id, stream)| (*id, stream.next - 1)).collect();
        let logged: Vec<_> = log.unwrap().into_iter().map(|stream| (stream.stream, stream.last)).collect();
        assert_eq!(logged, of_events, "the store knows the streams without an end");
        // Events are kept for clients that might come back, and did not or could not.
        let is_kept = |id: &StreamId| *id == STANDALONE || self.promises[id].is_broken;
        assert!(self.streams.owners.is_empty() && self.streams.open.keys().all(is_kept), "something is left behind");
    }
}

fn text(message: &Message) -> String {
    match message {
        Message::Notification(notice) => notice.method.to_string(),
        Message::Response(answer) => format!("={}", answer.id.as_ref().unwrap()),
        Message::Request(_) => unreachable!("nothing is asked here"),
    }
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_promised_is_lost_and_nothing_comes_twice(steps in steps(), max_queued in limits()) {
        run(steps, 10_000, max_queued, false);
    }

    #[test]
    fn a_forgotten_event_is_reported_as_missing(steps in steps(), kept in 1..6_usize, max_queued in limits()) {
        run(steps, kept, max_queued, true);
    }
}

/// Limits of a queue: one that is never reached, and some that often are.
fn limits() -> impl Strategy<Value = usize> {
    prop_oneof![Just(MAX_QUEUED), 1..5_usize]
}

fn run(steps: Vec<Step>, kept: usize, max_queued: usize, may_forget: bool) {
    let mut world = World::new(MemoryStore::new(kept, 1 << 20), max_queued);
    steps.into_iter().for_each(|step| world.step(step));
    world.settle();
    world.check(may_forget);
}

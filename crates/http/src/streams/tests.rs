//! Streams as tables of steps.

use std::task::Waker;
use std::time::Duration;

use proptest::prelude::*;
use protomcp_types::{JsonBuf, Params, RequestId};

use super::queue::{MAX_QUEUED, MAX_QUEUED_BYTES};
use super::stream_id::first_of;
use super::*;

fn id(number: u64) -> RequestId {
    RequestId::from(number)
}

fn answer(number: u64) -> Message {
    Message::result(id(number), JsonBuf::empty_object())
}

fn notice(name: &'static str) -> Message {
    Message::notification(name, Params::Absent)
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Drives one session that may have 4 streams.
struct Game(Streams);

impl Game {
    fn new() -> Self {
        Self(Streams::new(4, None, ()))
    }

    fn open(&mut self, requests: &[u64]) -> Result<StreamRef, Refused> {
        let ids: Vec<_> = requests.iter().map(|number| id(*number)).collect();
        self.0.open(&ids.iter().collect::<Vec<_>>(), Vec::new())
    }

    fn say(&mut self, message: Message, during: Option<u64>) {
        let during = during.map(id);
        drop(self.0.route(message, during.as_ref()));
    }

    fn first(&mut self, stream_ref: StreamRef) -> First {
        self.0.first(stream_ref, Waker::noop())
    }

    /// The same as [`Game::rest`], without numbers.
    fn methods(&mut self, stream_ref: StreamRef) -> String {
        let rest = self.rest(stream_ref);
        let words = rest.split(' ').filter(|word| *word != "…");
        words
            .map(|word| word.split_once(':').map_or(word, |(_, name)| name.trim_end_matches('1')))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The messages of the stream for this connection: methods and ids, then its state.
    fn rest(&mut self, stream_ref: StreamRef) -> String {
        let mut text = String::new();
        loop {
            match self.0.next(stream_ref, Waker::noop()) {
                Next::Event(number, Message::Notification(notice)) => text += &format!("{number}:{} ", notice.method),
                Next::Event(number, Message::Response(answer)) => text += &format!("{number}:={} ", answer.id.unwrap()),
                Next::Event(_, Message::Request(_)) => unreachable!("nothing is asked here"),
                Next::Pending => return text + "…",
                Next::End => return text + "end",
            }
        }
    }
}

#[test]
fn answers_alone_are_taken_together_when_all_are_there() {
    let mut game = Game::new();
    let stream_ref = game.open(&[1, 2]).unwrap();
    assert_eq!(game.first(stream_ref), First::Pending);
    game.say(answer(2), Some(2));
    assert_eq!(game.first(stream_ref), First::Pending);
    game.say(answer(1), Some(1));
    assert_eq!(game.first(stream_ref), First::Answers(vec![answer(2), answer(1)]));
    assert!(game.0.open.is_empty() && game.0.owners.is_empty());
}

#[test]
fn a_report_turns_the_response_into_events() {
    let mut game = Game::new();
    let stream_ref = game.open(&[1]).unwrap();
    game.say(notice("a"), Some(1));
    assert_eq!(game.first(stream_ref), First::Events);
    game.0.stream(stream_ref);
    assert_eq!(game.rest(stream_ref), "1:a …");
    game.say(notice("elsewhere"), None);
    game.say(answer(1), Some(1));
    assert_eq!(game.rest(stream_ref), "2:=1 end");
    let listening = game.0.attach(STANDALONE).unwrap();
    assert_eq!(game.rest(listening), "1:elsewhere …");
}

#[test]
fn a_report_without_its_request_belongs_to_the_session() {
    let mut game = Game::new();
    game.say(notice("late"), Some(9));
    game.say(answer(9), Some(9));
    let listening = game.0.attach(STANDALONE).unwrap();
    assert_eq!(game.rest(listening), "1:late …");
}

#[test]
fn messages_left_by_a_lost_connection_wait_for_the_next() {
    let mut game = Game::new();
    let stream_ref = game.open(&[1]).unwrap();
    game.say(notice("a"), Some(1));
    game.0.stream(stream_ref);
    assert_eq!(game.rest(stream_ref), "1:a …");
    game.0.detach(stream_ref, Some(later()));
    game.say(notice("b"), Some(1));
    game.say(answer(1), Some(1));
    assert_eq!(game.rest(stream_ref), "end");
    let again = game.0.attach(stream_ref.stream).unwrap();
    assert_eq!(game.rest(again), "2:b 3:=1 end");
    assert_eq!(game.0.attach(stream_ref.stream), None);
}

#[test]
fn nothing_waits_for_a_client_that_cannot_come_back() {
    for (resumable, streaming) in [(false, true), (true, false)] {
        let mut game = Game::new();
        let stream_ref = game.open(&[1]).unwrap();
        game.say(notice("a"), Some(1));
        if streaming {
            game.0.stream(stream_ref);
        }
        game.0.detach(stream_ref, resumable.then(later));
        assert_eq!(game.0.attach(stream_ref.stream), None);
        game.say(answer(1), Some(1));
        assert!(game.0.open.is_empty() && game.0.owners.is_empty());
    }
}

#[test]
fn a_late_client_cannot_be_asked_but_may_take_the_answer() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut game = Game::new();
    let (late, later) = (game.open(&[1, 2]).unwrap(), game.open(&[3]).unwrap());
    for stream_ref in [late, later] {
        game.0.stream(stream_ref);
    }
    assert!(game.0.detach(late, Some(at(10))).is_empty() && game.0.detach(later, Some(at(20))).is_empty());
    assert_eq!(game.0.next_loss(), Some(at(10)));
    assert!(game.0.give_up(at(9)).is_empty() && game.0.is_deliverable(&id(1)));
    let mut lost = game.0.give_up(at(10));
    lost.sort_by_key(RequestId::as_integer);
    assert_eq!((lost, game.0.next_loss()), (vec![id(1), id(2)], Some(at(20))));
    assert!(!game.0.is_deliverable(&id(1)) && !game.0.is_deliverable(&id(2)) && game.0.is_deliverable(&id(3)));
    // The client comes back late.
    let again = game.0.attach(late.stream).unwrap();
    assert!(game.0.is_deliverable(&id(1)));
    game.say(answer(1), Some(1));
    assert_eq!(game.rest(again), "1:=1 …");
    game.0.attach(later.stream).unwrap();
    assert!(game.0.give_up(at(30)).is_empty() && game.0.is_deliverable(&id(3)));
    assert_eq!(game.0.next_loss(), None);
}

#[test]
fn without_resuming_a_broken_connection_is_a_loss_immediately() {
    let mut game = Game::new();
    let (json, events) = (game.open(&[1]).unwrap(), game.open(&[2]).unwrap());
    game.0.stream(events);
    assert_eq!(game.0.detach(json, Some(later())), [id(1)]);
    assert_eq!(game.0.detach(events, None), [id(2)]);
    assert!(!game.0.is_deliverable(&id(1)) && !game.0.is_deliverable(&id(2)) && game.0.is_deliverable(&id(3)));
}

#[test]
fn the_last_connection_takes_the_stream() {
    let mut game = Game::new();
    let first = game.0.attach(STANDALONE).unwrap();
    let second = game.0.attach(STANDALONE).unwrap();
    game.0.detach(first, Some(later()));
    assert!(game.0.has_listener());
    game.say(notice("a"), None);
    assert_eq!(game.rest(first), "end");
    assert_eq!(game.rest(second), "1:a …");
    game.0.detach(second, Some(later()));
    assert!(!game.0.has_listener());
}

#[test]
fn a_pause_ends_the_connection_and_not_the_stream() {
    let mut game = Game::new();
    let stream_ref = game.open(&[1]).unwrap();
    drop(game.0.close_stream(&id(1)));
    assert_eq!(game.first(stream_ref), First::Events);
    game.0.stream(stream_ref);
    assert_eq!(game.rest(stream_ref), "end");
    game.0.detach(stream_ref, Some(later()));
    let again = game.0.attach(stream_ref.stream).unwrap();
    assert_eq!(game.rest(again), "…");
    game.say(answer(1), Some(1));
    assert_eq!(game.rest(again), "1:=1 end");
}

#[test]
fn a_cancelled_request_ends_its_stream() {
    let mut game = Game::new();
    let stream_ref = game.open(&[1]).unwrap();
    drop(game.0.request_cancelled(&id(1)));
    drop(game.0.request_cancelled(&id(1)));
    assert_eq!(game.first(stream_ref), First::Answers(Vec::new()));
}

#[test]
fn ids_and_streams_are_limited() {
    let mut game = Game::new();
    game.open(&[1]).unwrap();
    assert_eq!(game.open(&[2, 1]), Err(Refused::Duplicate(id(1))));
    assert_eq!(game.open(&[2, 2]), Err(Refused::Duplicate(id(2))));
    for number in 2..5 {
        game.open(&[number]).unwrap();
    }
    assert_eq!(game.open(&[5]), Err(Refused::TooMany));
    drop(game.0.close());
    assert_eq!(game.open(&[6]), Err(Refused::Closed));
    assert_eq!(game.0.attach(STANDALONE), None);
}

#[test]
fn queues_are_limited_but_answers_are_kept() {
    let mut game = Game::new();
    let stream_ref = game.open(&[1]).unwrap();
    for _ in 0..MAX_QUEUED * 2 {
        game.say(notice("report"), Some(1));
        game.say(notice("change"), None);
    }
    game.say(notice("newest"), None);
    game.say(answer(1), Some(1));
    assert_eq!(game.0.open[&stream_ref.stream].queue.len(), MAX_QUEUED + 1);
    assert_eq!(game.0.open[&STANDALONE].queue.len(), MAX_QUEUED);
    game.0.stream(stream_ref);
    assert!(game.rest(stream_ref).ends_with(&format!("{}:=1 end", MAX_QUEUED + 1)));
    let listening = game.0.attach(STANDALONE).unwrap();
    assert!(game.rest(listening).ends_with(&format!("{MAX_QUEUED}:newest …")));
}

#[test]
fn what_waits_in_a_stream_is_weighed() {
    let data = "x".repeat(MAX_QUEUED_BYTES / 4);
    let large = Message::notification("large", Params::of(&serde_json::json!({ "data": data })).unwrap());
    let quarter = || large.clone();
    let mut game = Game::new();
    let stream_ref = game.open(&[1]).unwrap();
    game.0.stream(stream_ref);
    let listening = game.0.attach(STANDALONE).unwrap();
    for _ in 0..2 {
        for _ in 0..10 {
            game.say(quarter(), Some(1));
            game.say(quarter(), None);
        }
        game.say(notice("small"), Some(1));
        game.say(notice("small"), None);
        let kept = "large large large large";
        assert_eq!(game.methods(stream_ref), kept, "what comes too late for an answer is dropped");
        assert_eq!(game.methods(listening), "large large large small", "without one, what is oldest");
    }
    game.say(quarter(), Some(1));
    game.say(answer(1), Some(1));
    assert_eq!(game.methods(stream_ref), "large = end");
}

#[test]
fn unclaimed_answers_are_limited() {
    let mut game = Game(Streams::new(1000, None, ()));
    let mut stream_refs = Vec::new();
    for number in 0..MAX_DETACHED as u64 + 3 {
        let stream_ref = game.open(&[number]).unwrap();
        game.0.stream(stream_ref);
        game.0.detach(stream_ref, Some(later()));
        game.say(answer(number), Some(number));
        stream_refs.push(stream_ref);
    }
    assert_eq!(game.0.open.len(), MAX_DETACHED);
    assert_eq!(game.0.attach(stream_refs[2].stream), None);
    assert!(game.0.attach(stream_refs[3].stream).is_some());
}

#[test]
fn a_single_stream_carries_every_message() {
    let mut single = Game(Streams::new(1, Some(FIRST), ()));
    let stream_ref = single.open(&[1]).unwrap();
    single.say(notice("a"), None);
    single.0.stream(stream_ref);
    single.say(answer(1), Some(1));
    assert_eq!(single.rest(stream_ref), "1:a 2:=1 end");
    let mut legacy = Game(Streams::new(1, Some(STANDALONE), ()));
    let stream_ref = legacy.0.attach(STANDALONE).unwrap();
    legacy.say(notice("a"), Some(1));
    legacy.say(answer(1), Some(1));
    assert_eq!(legacy.rest(stream_ref), "1:a 2:=1 …");
}

#[test]
fn a_single_stream_drops_only_notifications() {
    let mut legacy = Game(Streams::new(1, Some(STANDALONE), ()));
    let stream_ref = legacy.0.attach(STANDALONE).unwrap();
    legacy.say(notice("a"), None);
    for number in 0..MAX_QUEUED as u64 - 1 {
        legacy.say(answer(number), Some(number));
    }
    assert!(!legacy.0.is_full());
    for number in 1000..1003 {
        legacy.say(answer(number), Some(number));
        legacy.say(notice("b"), None);
        assert!(legacy.0.is_full());
    }
    let rest = legacy.rest(stream_ref);
    // The first number went to a notification that was dropped later.
    assert!(rest.starts_with("2:=0 3:=1 ") && rest.ends_with("257:=1000 258:=1001 259:=1002 …"), "{rest}");
    assert!(!rest.contains('a') && !rest.contains('b') && !legacy.0.is_full());
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The call reports progress.
    Say,
    /// The connection takes an event out.
    Take,
    /// The events in flight arrive.
    Arrive,
    /// The connection breaks, the events in flight are lost, and the client comes back.
    Cut,
}

/// A client that always comes back, and the store that it resumes from.
struct Traveller {
    game: Game,
    stream_ref: Option<StreamRef>,
    stream: StreamId,
    store: Vec<(u64, Message)>,
    wire: Vec<(u64, Message)>,
    read: Vec<Message>,
    last: u64,
}

impl Traveller {
    fn take(&mut self) -> bool {
        let next = self.stream_ref.map(|stream_ref| self.game.0.next(stream_ref, Waker::noop()));
        let Some(Next::Event(number, message)) = next else { return false };
        self.store.push((number, message.clone()));
        self.wire.push((number, message));
        true
    }

    fn arrive(&mut self) {
        for (number, message) in self.wire.drain(..) {
            assert_eq!(number, self.last + 1);
            self.last = number;
            self.read.push(message);
        }
    }

    fn cut(&mut self) {
        self.wire.clear();
        if let Some(stream_ref) = self.stream_ref {
            self.game.0.detach(stream_ref, Some(later()));
        }
        self.stream_ref = self.game.0.attach(self.stream);
        let end = self.stream_ref.map_or(u64::MAX, |_| self.game.0.next_number(self.stream).unwrap());
        let missed = self.store.iter().filter(|(number, _)| *number > self.last && *number < end);
        self.wire.extend(missed.cloned());
    }
}

proptest! {
    /// Whenever the connection breaks, the client reads everything once and in order.
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(
        steps in prop::collection::vec(prop::sample::select(vec![Step::Say, Step::Take, Step::Arrive, Step::Cut]), 0..100),
    ) {
        let mut game = Game::new();
        let stream_ref = game.open(&[1]).unwrap();
        game.0.stream(stream_ref);
        let (store, wire, read) = (Vec::new(), Vec::new(), Vec::new());
        let mut host = Traveller { game, stream_ref: Some(stream_ref), stream: stream_ref.stream, store, wire, read, last: 0 };
        let mut said = Vec::new();
        for step in steps {
            match step {
                Step::Say => {
                    let text = format!("n{}", said.len());
                    let message = Message::notification(text, Params::Absent);
                    said.push(message.clone());
                    host.game.say(message, Some(1));
                }
                Step::Take => drop(host.take()),
                Step::Arrive => host.arrive(),
                Step::Cut => host.cut(),
            }
        }
        said.push(answer(1));
        host.game.say(answer(1), Some(1));
        while host.take() {}
        host.cut();
        while host.take() {}
        host.arrive();
        prop_assert_eq!(host.read, said);
    }
}

#[test]
fn another_holder_continues_the_numbers() {
    let mut game = Game::new();
    game.0.restore(first_of(2), Some(7));
    let listening = game.0.attach(STANDALONE).unwrap();
    game.say(notice("a"), None);
    assert_eq!(game.rest(listening), "7:a …");
    let stream_ref = game.open(&[1]).unwrap();
    assert!(stream_ref.stream == first_of(2) && first_of(1) == FIRST && first_of(3) > first_of(2));
    // Nothing is sent from the time at which another process may serve the session.
    game.0.stream(stream_ref);
    drop(game.0.lose());
    game.say(notice("b"), Some(1));
    game.say(notice("c"), None);
    game.say(answer(1), Some(1));
    assert_eq!((game.rest(stream_ref), game.rest(listening)), ("end".to_owned(), "end".to_owned()));
}

#[test]
fn the_undelivered_requests_of_a_stream_are_taken_once() {
    let mut game = Game::new();
    let (stream_ref, other) = (game.open(&[1, 2, 3]).unwrap(), game.open(&[4]).unwrap());
    game.0.stream(stream_ref);
    game.say(answer(1), Some(1));
    game.say(notice("a"), Some(3));
    game.say(answer(2), Some(2));
    let Next::Event(1, taken) = game.0.next(stream_ref, Waker::noop()) else { panic!("an answer waits") };
    assert_eq!(taken, answer(1), "which is not stored, for example");
    let mut left = game.0.take_undelivered(stream_ref);
    left.sort_by_key(ToString::to_string);
    assert_eq!(left, [id(2), id(3)], "one has its answer in the queue, one has none");
    drop(game.0.lose());
    // An answer that is late.
    game.say(answer(3), Some(3));
    assert_eq!(game.rest(stream_ref), "end");
    assert_eq!((game.0.take_undelivered(stream_ref), &*game.rest(other)), (vec![], "end"));
}

//! Streams as tables of what happens to them.

use std::task::Waker;

use protomcp_types::{Body, Params, RequestId};

use super::*;

fn id(number: u64) -> RequestId {
    RequestId::from(number)
}

fn answer(number: u64) -> Message {
    Message::result(id(number), Body::empty_object())
}

fn notice(name: &'static str) -> Message {
    Message::notification(name, Params::Absent)
}

/// Plays with one session that may have 4 streams.
struct Game(Streams);

impl Game {
    fn new() -> Self {
        Self(Streams::new(4, None))
    }

    fn open(&mut self, requests: &[u64]) -> Result<Place, Refused> {
        let ids: Vec<_> = requests.iter().map(|number| id(*number)).collect();
        self.0.open(&ids.iter().collect::<Vec<_>>(), Vec::new())
    }

    fn say(&mut self, message: Message, during: Option<u64>) {
        let during = during.map(id);
        drop(self.0.route(message, during.as_ref()));
    }

    fn first(&mut self, place: Place) -> First {
        self.0.first(place, true, Waker::noop())
    }

    /// What the stream holds for this connection: methods and ids, then how it goes on.
    fn rest(&mut self, place: Place) -> String {
        let mut text = String::new();
        loop {
            match self.0.next(place, Waker::noop()) {
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
fn answers_alone_are_taken_at_once_when_all_are_there() {
    let mut game = Game::new();
    let place = game.open(&[1, 2]).unwrap();
    assert_eq!(game.first(place), First::Pending);
    game.say(answer(2), Some(2));
    assert_eq!(game.first(place), First::Pending);
    game.say(answer(1), Some(1));
    assert_eq!(game.first(place), First::Answers(vec![answer(2), answer(1)]));
    assert!(game.0.open.is_empty() && game.0.owners.is_empty());
}

#[test]
fn a_report_makes_it_events() {
    let mut game = Game::new();
    let place = game.open(&[1]).unwrap();
    game.say(notice("a"), Some(1));
    assert_eq!(game.first(place), First::Events);
    game.0.stream(place);
    assert_eq!(game.rest(place), "1:a …");
    game.say(notice("elsewhere"), None);
    game.say(answer(1), Some(1));
    assert_eq!(game.rest(place), "2:=1 end");
    let listening = game.0.attach(STANDALONE).unwrap();
    assert_eq!(game.rest(listening), "1:elsewhere …");
}

#[test]
fn a_report_without_its_request_is_of_the_session() {
    let mut game = Game::new();
    game.say(notice("late"), Some(9));
    game.say(answer(9), Some(9));
    let listening = game.0.attach(STANDALONE).unwrap();
    assert_eq!(game.rest(listening), "1:late …");
}

#[test]
fn what_a_lost_connection_had_not_taken_waits_for_the_next() {
    let mut game = Game::new();
    let place = game.open(&[1]).unwrap();
    game.say(notice("a"), Some(1));
    game.0.stream(place);
    assert_eq!(game.rest(place), "1:a …");
    game.0.detach(place, true);
    game.say(notice("b"), Some(1));
    game.say(answer(1), Some(1));
    assert_eq!(game.rest(place), "end");
    let again = game.0.attach(place.stream).unwrap();
    assert_eq!(game.rest(again), "2:b 3:=1 end");
    assert_eq!(game.0.attach(place.stream), None);
}

#[test]
fn nothing_waits_for_a_host_that_cannot_come_back() {
    for (resumable, streaming) in [(false, true), (true, false)] {
        let mut game = Game::new();
        let place = game.open(&[1]).unwrap();
        game.say(notice("a"), Some(1));
        if streaming {
            game.0.stream(place);
        }
        game.0.detach(place, resumable);
        assert_eq!(game.0.attach(place.stream), None);
        game.say(answer(1), Some(1));
        assert!(game.0.open.is_empty() && game.0.owners.is_empty());
    }
}

#[test]
fn the_last_to_come_has_the_stream() {
    let mut game = Game::new();
    let first = game.0.attach(STANDALONE).unwrap();
    let second = game.0.attach(STANDALONE).unwrap();
    game.0.detach(first, true);
    assert!(game.0.has_listener());
    game.say(notice("a"), None);
    assert_eq!(game.rest(first), "end");
    assert_eq!(game.rest(second), "1:a …");
    game.0.detach(second, true);
    assert!(!game.0.has_listener());
}

#[test]
fn a_pause_ends_the_connection_and_not_the_stream() {
    let mut game = Game::new();
    let place = game.open(&[1]).unwrap();
    drop(game.0.pause(&id(1)));
    assert_eq!(game.0.first(place, false, Waker::noop()), First::Pending);
    assert_eq!(game.first(place), First::Events);
    game.0.stream(place);
    assert_eq!(game.rest(place), "end");
    game.0.detach(place, true);
    let again = game.0.attach(place.stream).unwrap();
    assert_eq!(game.rest(again), "…");
    game.say(answer(1), Some(1));
    assert_eq!(game.rest(again), "1:=1 end");
}

#[test]
fn a_cancelled_request_ends_its_stream() {
    let mut game = Game::new();
    let place = game.open(&[1]).unwrap();
    drop(game.0.unanswered(&id(1)));
    drop(game.0.unanswered(&id(1)));
    assert_eq!(game.first(place), First::Answers(Vec::new()));
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
    let place = game.open(&[1]).unwrap();
    for _ in 0..MAX_QUEUED * 2 {
        game.say(notice("report"), Some(1));
        game.say(notice("change"), None);
    }
    game.say(notice("newest"), None);
    game.say(answer(1), Some(1));
    assert_eq!(game.0.open[&place.stream].queue.len(), MAX_QUEUED + 1);
    assert_eq!(game.0.open[&STANDALONE].queue.len(), MAX_QUEUED);
    game.0.stream(place);
    assert!(game.rest(place).ends_with(&format!("{}:=1 end", MAX_QUEUED + 1)));
    let listening = game.0.attach(STANDALONE).unwrap();
    assert!(game.rest(listening).ends_with(&format!("{MAX_QUEUED}:newest …")));
}

#[test]
fn answers_that_nobody_comes_for_are_limited() {
    let mut game = Game(Streams::new(1000, None));
    let mut places = Vec::new();
    for number in 0..MAX_DETACHED as u64 + 3 {
        let place = game.open(&[number]).unwrap();
        game.0.stream(place);
        game.0.detach(place, true);
        game.say(answer(number), Some(number));
        places.push(place);
    }
    assert_eq!(game.0.open.len(), MAX_DETACHED);
    assert_eq!(game.0.attach(places[2].stream), None);
    assert!(game.0.attach(places[3].stream).is_some());
}

#[test]
fn everything_leaves_by_one_way_where_there_is_only_one() {
    let mut single = Game(Streams::new(1, Some(FIRST)));
    let place = single.open(&[1]).unwrap();
    single.say(notice("a"), None);
    single.0.stream(place);
    single.say(answer(1), Some(1));
    assert_eq!(single.rest(place), "1:a 2:=1 end");
    let mut legacy = Game(Streams::new(1, Some(STANDALONE)));
    let place = legacy.0.attach(STANDALONE).unwrap();
    legacy.say(notice("a"), Some(1));
    legacy.say(answer(1), Some(1));
    assert_eq!(legacy.rest(place), "1:a 2:=1 …");
}

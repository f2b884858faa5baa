//! Notices between processes, and the failures that they meet.

use std::sync::{Arc, Weak};
use std::time::Duration;

use protomcp_redis::RedisNotices;
use protomcp_server::{Audience, List, NodeId, NoticeBus, NoticeReceiver, NoticeRecord, Owner, SessionNotice};
use protomcp_testing::{Log, in_time, until};
use protomcp_types::{Level, RawJson};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::server::{RedisServer, connect, connect_within};

const CHANNEL: &str = "pmcp:bus:0";

/// More notices than a queue has.
const MANY: usize = 3_000;

/// The notices that a receiver of a bus gets, as JSON if they come from another process.
pub(crate) struct Inbox {
    notices: UnboundedReceiver<String>,
    /// The bus does not keep it.
    _recorder: Arc<Recorder>,
}

struct Recorder(UnboundedSender<String>);

impl NoticeReceiver for Recorder {
    fn deliver(&self, audience: &Audience, notice: SessionNotice<'_>) {
        let record = NoticeRecord::of(audience, notice).map(|record| record.to_json().into_raw().as_str().to_owned());
        // The test may be over.
        drop(self.0.send(record.unwrap_or_else(|| format!("{notice:?}"))));
    }
}

impl Inbox {
    pub(crate) fn of(bus: &RedisNotices) -> Self {
        let (sender, notices) = unbounded_channel();
        let recorder = Arc::new(Recorder(sender));
        let receiver: Weak<Recorder> = Arc::downgrade(&recorder);
        bus.subscribe(receiver);
        Self { notices, _recorder: recorder }
    }

    /// The next notice that is not about the resource of [`arrives`].
    pub(crate) async fn next(&mut self) -> String {
        loop {
            let next = in_time(self.notices.recv()).await.expect("a notice arrives").expect("its sender lives");
            if !next.contains("file:///probe") {
                return next;
            }
        }
    }
}

/// Sends notices until one arrives, behind the first gap: whatever came before the connection was missed.
pub(crate) async fn connects(from: &RedisNotices, to: &mut Inbox) {
    assert_eq!(to.next().await, "Missed");
    arrives(from, to).await;
}

/// Sends notices until one arrives.
pub(crate) async fn arrives(from: &RedisNotices, to: &mut Inbox) {
    let probe = "file:///probe";
    let arrived = async {
        loop {
            from.notify(Audience::Everyone, SessionNotice::ResourceUpdated(probe));
            let next = timeout(Duration::from_millis(50), to.notices.recv()).await;
            if matches!(next, Ok(Some(text)) if text.contains(probe)) {
                return;
            }
        }
    };
    in_time(arrived).await.expect("a notice arrives");
}

async fn bus(server: &RedisServer, node: &str) -> Arc<RedisNotices> {
    connect(server, "secret").await.notices(&NodeId::new(node))
}

/// The number of connections that receive notices.
fn subscriptions(server: &RedisServer) -> i64 {
    let (_channel, count): (String, i64) = server.ask(&["PUBSUB", "NUMSUB", CHANNEL]);
    count
}

fn lines(log: &Log, text: &str) -> usize {
    log.text().lines().filter(|line| line.contains(text)).count()
}

#[tokio::test]
async fn a_channel_shows_no_notice() {
    let server = RedisServer::start(&[]);
    let notices = bus(&server, "hunter2-node").await;
    until("the bus is connected", || subscriptions(&server) == 1).await;
    let mut connection = server.connection();
    let received = spawn_blocking(move || {
        connection.set_read_timeout(Some(Duration::from_secs(10))).expect("it is a time");
        let mut channel = connection.as_pubsub();
        channel.subscribe(CHANNEL).expect("the server answers");
        let mut next = || channel.get_message().expect("a notice arrives").get_payload_bytes().to_vec();
        [next(), next(), next()]
    });
    until("the test is connected", || subscriptions(&server) == 2).await;
    let data = RawJson::text("hunter2-data");
    let hunter = Audience::Owner(Owner::Principal("hunter2".into()));
    notices.notify(hunter, SessionNotice::Log { level: Level::Error, logger: Some("hunter2-logger"), data: &data });
    notices.notify(Audience::Everyone, SessionNotice::ResourceUpdated("file:///hunter2"));
    notices.notify(Audience::Everyone, SessionNotice::TaskChanged("hunter2-task"));
    for message in received.await.expect("the notices arrive") {
        let has = |text: &str| message.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!has("hunter2") && !has("level") && !has("task") && !has("file"), "{message:?}");
        assert!(message.len() > 40, "{message:?}");
    }
}

/// A process may have missed changes while it was not connected.
#[tokio::test]
async fn sessions_are_told_of_a_gap() {
    let mut server = RedisServer::start(&[]);
    let (a, b) = (bus(&server, "a").await, bus(&server, "b").await);
    let mut inbox = Inbox::of(&b);
    connects(&a, &mut inbox).await;
    for _ in 0..2 {
        server.kill();
        server.restart();
        assert_eq!(inbox.next().await, "Missed");
        arrives(&a, &mut inbox).await;
    }
}

/// A session may begin before the first connection is there.
#[tokio::test]
async fn sessions_are_told_of_a_gap_before_the_first_connection() {
    let server = RedisServer::start(&[]);
    let notices = bus(&server, "a").await;
    // Nothing has been awaited in between, so that this thread has not connected.
    let mut inbox = Inbox::of(&notices);
    assert_eq!(inbox.next().await, "Missed");
}

/// The server is away when the process begins, and sessions begin before it is back.
#[tokio::test]
async fn sessions_are_told_of_a_gap_at_the_beginning() {
    let mut server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    server.kill();
    let log = Log::capture();
    let notices = stores.notices(&NodeId::new("a"));
    let mut inbox = Inbox::of(&notices);
    until("its connection has failed", || log.has("notices of other servers do not arrive")).await;
    server.restart();
    assert_eq!(inbox.next().await, "Missed");
}

/// The connection of a server that does not answer is given up.
#[tokio::test]
async fn a_silent_server_is_left_for_another_one() {
    let mut server = RedisServer::start(&[]);
    let limit = Duration::from_secs(1);
    let a = connect_within(&server.url(), limit).await.notices(&NodeId::new("a"));
    let b = connect_within(&server.url(), limit).await.notices(&NodeId::new("b"));
    let mut inbox = Inbox::of(&b);
    connects(&a, &mut inbox).await;
    server.replace();
    arrives(&a, &mut inbox).await;
}

#[tokio::test]
async fn a_store_that_is_away_costs_the_oldest_notices() {
    let mut server = RedisServer::start(&[]);
    let (a, b) = (bus(&server, "a").await, bus(&server, "b").await);
    let mut inbox = Inbox::of(&b);
    connects(&a, &mut inbox).await;
    server.kill();
    let log = Log::capture();
    for number in 0..MANY {
        a.notify(Audience::Everyone, SessionNotice::TaskChanged(&number.to_string()));
    }
    let lost = lines(&log, "a notice is not sent to other servers");
    assert!((1..MANY / 2).contains(&lost), "{}", log.text());
    drop(log);
    let log = Log::capture();
    for number in 0..MANY {
        b.notify(Audience::Everyone, SessionNotice::ListChanged(List::ALL[number % List::ALL.len()]));
    }
    assert_eq!(lines(&log, "not sent to other servers"), 0, "equal changes wait as one: {}", log.text());
    server.restart();
    arrives(&a, &mut inbox).await;
}

#[tokio::test]
async fn a_large_notice_is_not_sent() {
    let server = RedisServer::start(&[]);
    let (a, b) = (bus(&server, "a").await, bus(&server, "b").await);
    let mut inbox = Inbox::of(&b);
    connects(&a, &mut inbox).await;
    let send = |bytes: usize| {
        let data = RawJson::text(&"x".repeat(bytes));
        a.notify(Audience::Everyone, SessionNotice::Log { level: Level::Info, logger: None, data: &data });
    };
    let log = Log::capture();
    send(64 << 10);
    assert_eq!(lines(&log, "a notice above 64 KiB is not sent"), 1, "{}", log.text());
    send(60 << 10);
    assert!(inbox.next().await.len() > 60 << 10, "the smaller one is the next");
}

/// Another program may write to the channel, and other processes may have other keys.
#[tokio::test]
async fn messages_without_a_key_of_the_process_are_ignored() {
    let server = RedisServer::start(&[]);
    let (a, b) = (bus(&server, "a").await, bus(&server, "b").await);
    let mut inbox = Inbox::of(&b);
    connects(&a, &mut inbox).await;
    let log = Log::capture();
    let large = "x".repeat(1 << 20);
    for text in ["", "short", "sixteen bytes or a few more", &large] {
        for _ in 0..20 {
            server.ask::<i64>(&["PUBLISH", CHANNEL, text]);
        }
    }
    a.notify(Audience::Everyone, SessionNotice::TaskChanged("7"));
    assert_eq!(inbox.next().await, r#"{"task":"7"}"#);
    // One line for each of both processes.
    let warned = lines(&log, "were sealed with another key");
    assert!((1..=2).contains(&warned), "{}", log.text());
}

#[tokio::test]
async fn a_bus_ends_with_its_last_user() {
    let server = RedisServer::start(&[]);
    let (a, b) = (bus(&server, "a").await, bus(&server, "b").await);
    until("both are connected", || subscriptions(&server) == 2).await;
    drop(a);
    until("one has ended", || subscriptions(&server) == 1).await;
    drop(b);
    until("both have ended", || subscriptions(&server) == 0).await;
}

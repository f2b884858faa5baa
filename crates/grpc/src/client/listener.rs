//! The notices of a conversation over gRPC: one call of `Listen` has all its subscriptions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join;
use futures_util::stream::{Stream, StreamExt};
use prost::Message;
use protomcp_bufmcp::RawMessage;
use protomcp_bufmcp::message::{ListChanged, Listening, ResourceUpdated};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tonic::Status;

use crate::client::numbers;

/// A message of the server that answers no request, or the end of its notices.
#[derive(Debug)]
pub(super) enum Heard {
    Message(RawMessage),
    /// The call of `Listen` is over, and has to be made again.
    Ended,
}

/// The call of `Listen` of a conversation.
#[derive(Debug, Default)]
pub(super) struct Listener {
    /// The lists of which the server announces changes.
    announced: ListChanged,
    /// The resources of the call. A notice of another one is dropped.
    uris: watch::Sender<BTreeSet<String>>,
    /// The least severe level of log messages that a call has asked for; 0: none has.
    log_level: i32,
    /// Passes the notices of the call on; empty without one.
    passing: JoinSet<()>,
    /// Set when the notices of the call have ended.
    is_over: Arc<AtomicBool>,
}

impl Listener {
    /// Notes the lists of which the server announces changes. Returns true if there are any.
    pub(super) fn announce(&mut self, announced: ListChanged) -> bool {
        self.announced = announced;
        announced != ListChanged::default()
    }

    /// The resources of the call.
    pub(super) fn uris(&self) -> BTreeSet<String> {
        self.uris.borrow().clone()
    }

    /// The level of log messages of no call.
    pub(super) fn log_level(&self) -> i32 {
        self.log_level
    }

    /// Wants log messages of no call from this level on.
    pub(super) fn set_log_level(&mut self, level: i32) {
        self.log_level = level;
    }

    /// True for a level from which on the call does not have log messages.
    pub(super) fn lacks(&self, level: i32) -> bool {
        level != 0 && (self.log_level == 0 || level < self.log_level)
    }

    /// The resources with this one, or without it; `None` if that changes nothing.
    pub(super) fn changed(&self, uri: &str, is_wanted: bool) -> Option<BTreeSet<String>> {
        let mut uris = self.uris();
        let has_changed = if is_wanted { uris.insert(uri.to_owned()) } else { uris.remove(uri) };
        has_changed.then_some(uris)
    }

    /// True if a call for these resources and log messages would hear of nothing.
    pub(super) fn is_idle(&self, uris: &BTreeSet<String>, log_level: i32) -> bool {
        uris.is_empty() && self.announced == ListChanged::default() && log_level == 0
    }

    /// Ends the call.
    pub(super) fn stop(&mut self) {
        self.uris.send_replace(BTreeSet::new());
        self.is_over = Arc::default();
        self.passing = JoinSet::new();
    }

    /// Passes these notices on, in place of the ones before, of which the last ones have a second to arrive. If those have
    /// ended, some were missed, and everything that the call before was about counts as changed. Resources that are not
    /// there are left out, and count as changed.
    pub(super) fn follow<S>(&mut self, call: Followed<S>, heard: mpsc::Sender<Heard>)
    where
        S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
    {
        let Followed { mut uris, missing, notices } = call;
        let missing = missing.iter().filter(|uri| uris.remove(*uri)).collect::<Vec<_>>();
        for uri in &missing {
            tracing::warn!("a server over gRPC no longer has a resource, of which no change is heard: {uri:?}");
        }
        let missed = if self.is_over.load(Ordering::Acquire) {
            self.all(self.uris.borrow().iter().filter(|uri| uris.contains(*uri) || missing.contains(uri)))
        } else {
            missing.into_iter().map(|uri| updated(uri)).collect()
        };
        self.uris.send_replace(uris);
        let wanted = self.uris.subscribe();
        self.is_over = Arc::default();
        let mut before = std::mem::take(&mut self.passing);
        let is_over = Arc::clone(&self.is_over);
        self.passing.spawn(async move {
            let rest = async {
                drop(tokio::time::timeout(PAUSE, before.join_next()).await);
                before.abort_all();
            };
            let passing = async {
                for message in missed {
                    drop(heard.send(Heard::Message(message)).await);
                }
                pass(notices, &wanted, &heard).await;
                is_over.store(true, Ordering::Release);
            };
            join(passing, rest).await;
            // A server that ends each call has its rest.
            tokio::time::sleep(PAUSE).await;
            drop(heard.send(Heard::Ended).await);
        });
    }

    /// Notices of a change of all lists, and of these resources.
    fn all<'a>(&self, uris: impl Iterator<Item = &'a String>) -> Vec<RawMessage> {
        let lists = Some(self.announced).filter(|announced| *announced != ListChanged::default());
        let lists = lists.map(|lists| notice(numbers::LIST_CHANGED, lists.encode_to_vec().into()));
        lists.into_iter().chain(uris.map(|uri| updated(uri))).collect()
    }
}

/// A call of `Listen` that has begun.
pub(super) struct Followed<S> {
    /// The resources that it asks for.
    pub(super) uris: BTreeSet<String>,
    /// The ones that are not there.
    pub(super) missing: Vec<String>,
    /// The notices after the first one.
    pub(super) notices: S,
}

/// Passes notices on until they end, without the ones of resources that are not wanted.
async fn pass<S>(mut notices: S, wanted: &watch::Receiver<BTreeSet<String>>, heard: &mpsc::Sender<Heard>)
where
    S: Stream<Item = Result<Bytes, Status>> + Unpin,
{
    loop {
        match notices.next().await {
            Some(Ok(notice)) => {
                if let Some(message) = message_of(notice)
                    && updated_uri(&message).is_none_or(|uri| wanted.borrow().contains(&uri))
                {
                    // Without a receiver the conversation is over.
                    drop(heard.send(Heard::Message(message)).await);
                }
            }
            None => return,
            Some(Err(status)) => {
                tracing::debug!("the notices of a server over gRPC have ended: {status}");
                return;
            }
        }
    }
}

/// `Notice`, with the bytes of its messages as they are.
#[derive(Clone, PartialEq, Message)]
struct Notice {
    #[prost(bytes = "bytes", optional, tag = "1")]
    listening: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    list_changed: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    resource_updated: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    log: Option<Bytes>,
}

/// The resources that are not there, by the first notice of a call; `None`: it is another notice.
pub(super) fn missing_of(notice: Bytes) -> Option<Vec<String>> {
    let listening = Notice::decode(notice).ok()?.listening?;
    Some(Listening::decode(listening).ok()?.missing)
}

/// The notice of a resource that has changed.
fn updated(uri: &str) -> RawMessage {
    notice(numbers::RESOURCE_UPDATED, ResourceUpdated { uri: uri.to_owned() }.encode_to_vec().into())
}

/// The resource that has changed; `None`: the message is about something else, or cannot be read.
fn updated_uri(message: &RawMessage) -> Option<String> {
    let updated = (message.payload == numbers::RESOURCE_UPDATED).then(|| ResourceUpdated::decode(message.body.clone()));
    Some(updated?.ok()?.uri)
}

/// The message of a notice; `None`: it has none that is known.
fn message_of(bytes: Bytes) -> Option<RawMessage> {
    let Notice { list_changed, resource_updated, log, .. } = Notice::decode(bytes).ok()?;
    let bodies = [
        (numbers::LIST_CHANGED, list_changed),
        (numbers::RESOURCE_UPDATED, resource_updated),
        (numbers::CALL_LOG, log),
    ];
    bodies.into_iter().find_map(|(payload, body)| Some(notice(payload, body?)))
}

/// A message that belongs to no request.
fn notice(payload: u32, body: Bytes) -> RawMessage {
    RawMessage { id: 0, payload, body }
}

/// The time between the end of a call of `Listen` and the next one.
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use protomcp_bufmcp::message::{self, CallLog, notice};

    use super::*;

    #[test]
    fn notices_are_messages_without_a_request() {
        let tools = ListChanged { tools: true, ..ListChanged::default() };
        let updated = ResourceUpdated { uri: "a:b".to_owned() };
        for (notice, payload, body) in [
            (notice::Notice::ListChanged(tools), 100, tools.encode_to_vec()),
            (notice::Notice::ResourceUpdated(updated.clone()), 124, updated.encode_to_vec()),
            (notice::Notice::Log(CallLog::default()), 103, Vec::new()),
        ] {
            let bytes = Bytes::from(message::Notice { notice: Some(notice) }.encode_to_vec());
            assert_eq!(missing_of(bytes.clone()), None);
            assert_eq!(message_of(bytes), Some(RawMessage { id: 0, payload, body: body.into() }));
        }
        let listening = Listening { missing: vec!["a:b".to_owned()] };
        let first = message::Notice { notice: Some(notice::Notice::Listening(listening.clone())) }.encode_to_vec();
        assert_eq!(missing_of(first.clone().into()), Some(listening.missing));
        for other in [first, Vec::new(), b"\xff".to_vec(), b"\x2a\x00".to_vec()] {
            assert_eq!(message_of(other.into()), None);
        }
    }

    #[test]
    fn a_subscription_changes_the_resources_once() {
        let set = |uris: &[&str]| uris.iter().map(|uri| (*uri).to_owned()).collect::<BTreeSet<_>>();
        let mut listener = Listener { uris: watch::Sender::new(set(&["a", "b"])), ..Listener::default() };
        for (uri, is_wanted, expected) in [
            ("c", true, Some(set(&["a", "b", "c"]))),
            ("a", true, None),
            ("a", false, Some(set(&["b"]))),
            ("c", false, None),
        ] {
            assert_eq!(listener.changed(uri, is_wanted), expected, "{uri} {is_wanted}");
        }
        assert!(listener.is_idle(&set(&[]), 0) && !listener.is_idle(&set(&["a"]), 0));
        assert!(listener.lacks(3) && !listener.lacks(0));
        listener.set_log_level(3);
        assert!(listener.lacks(2) && !listener.lacks(3) && !listener.is_idle(&set(&[]), 3));
        listener.set_log_level(0);
        assert_eq!(listener.all(set(&["a", "b"]).iter()).len(), 2);
        assert!(listener.announce(ListChanged { tools: true, ..ListChanged::default() }));
        assert!(!listener.is_idle(&set(&[]), 0));
        assert_eq!(listener.all(set(&["a"]).iter()).iter().map(|one| one.payload).collect::<Vec<_>>(), [100, 124]);
    }

    /// The bytes of the notice of a resource that has changed.
    fn changed(uri: &str) -> Result<Bytes, Status> {
        let updated = notice::Notice::ResourceUpdated(ResourceUpdated { uri: uri.to_owned() });
        Ok(message::Notice { notice: Some(updated) }.encode_to_vec().into())
    }

    /// A call for these resources, of which these are not there, and the sender of its notices.
    fn call(uris: &[&str], missing: &[&str]) -> (mpsc::Sender<Result<Bytes, Status>>, Followed<ReceiverOf>) {
        let (sender, mut receiver) = mpsc::channel(8);
        let notices = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context)).boxed();
        let owned = |uris: &[&str]| uris.iter().map(|uri| (*uri).to_owned()).collect::<Vec<_>>();
        (sender, Followed { uris: owned(uris).into_iter().collect(), missing: owned(missing), notices })
    }

    type ReceiverOf = futures_util::stream::BoxStream<'static, Result<Bytes, Status>>;

    async fn next_uri(heard: &mut mpsc::Receiver<Heard>) -> Option<String> {
        match heard.recv().await.unwrap() {
            Heard::Message(message) => Some(ResourceUpdated::decode(message.body).unwrap().uri),
            Heard::Ended => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_notices_of_the_call_before_have_a_second() {
        let mut listener = Listener::default();
        let (heard, mut hears) = mpsc::channel(8);
        let (first, of_first) = call(&["a"], &[]);
        listener.follow(of_first, heard.clone());
        let (second, of_second) = call(&["a", "b"], &[]);
        listener.follow(of_second, heard.clone());
        for uri in ["c", "a"] {
            first.send(changed(uri)).await.unwrap();
        }
        assert_eq!(next_uri(&mut hears).await.as_deref(), Some("a"));
        let (begun, elapsed) = (tokio::time::Instant::now(), PAUSE);
        first.closed().await;
        assert_eq!(begun.elapsed().as_secs(), elapsed.as_secs(), "the call before is over");
        second.send(changed("b")).await.unwrap();
        assert_eq!(next_uri(&mut hears).await.as_deref(), Some("b"));
        drop(second);
        assert_eq!(next_uri(&mut hears).await, None);
        let (_third, of_third) = call(&["a", "b"], &["b"]);
        listener.follow(of_third, heard);
        assert_eq!(next_uri(&mut hears).await.as_deref(), Some("a"), "some changes were missed");
        assert_eq!(next_uri(&mut hears).await.as_deref(), Some("b"), "also of one that has gone");
        assert!(listener.uris().iter().eq(["a"]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_ends_early_has_missed_changes() {
        let mut listener = Listener::default();
        let (heard, mut hears) = mpsc::channel(8);
        let (_first, of_first) = call(&["a"], &[]);
        listener.follow(of_first, heard.clone());
        let (second, of_second) = call(&["a"], &[]);
        listener.follow(of_second, heard.clone());
        drop(second);
        // The call before has its second.
        tokio::time::sleep(PAUSE / 2).await;
        let (_third, of_third) = call(&["a"], &[]);
        listener.follow(of_third, heard);
        assert_eq!(next_uri(&mut hears).await.as_deref(), Some("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_resource_that_has_gone_has_one_change() {
        let mut listener = Listener::default();
        let (heard, mut hears) = mpsc::channel(8);
        let (_first, of_first) = call(&["a", "b"], &[]);
        listener.follow(of_first, heard.clone());
        let (second, of_second) = call(&["a", "b", "c"], &["b"]);
        listener.follow(of_second, heard);
        assert_eq!(next_uri(&mut hears).await.as_deref(), Some("b"));
        second.send(changed("c")).await.unwrap();
        assert_eq!(next_uri(&mut hears).await.as_deref(), Some("c"));
    }
}

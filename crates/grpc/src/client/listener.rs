//! The notices of a conversation over gRPC: one call of `Listen` has all its subscriptions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join;
use prost::Message;
use protomcp_bufmcp::RawMessage;
use protomcp_bufmcp::message::{ListChanged, ResourceUpdated};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tonic::Streaming;

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
    /// The resources of the call.
    uris: BTreeSet<String>,
    /// The least severe level of log messages that a call has asked for; 0: none has.
    log_level: i32,
    /// True if the server has refused log messages of no call.
    refuses_logs: bool,
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
    pub(super) fn uris(&self) -> &BTreeSet<String> {
        &self.uris
    }

    /// The level of log messages of no call.
    pub(super) fn log_level(&self) -> i32 {
        self.log_level
    }

    /// Wants log messages of no call from this level on.
    pub(super) fn set_log_level(&mut self, level: i32) {
        self.log_level = level;
    }

    /// Asks for no log messages of no call again.
    pub(super) fn refuse_logs(&mut self) {
        self.refuses_logs = true;
    }

    /// True for a level from which on the call does not have log messages, and may have them.
    pub(super) fn lacks(&self, level: i32) -> bool {
        !self.refuses_logs && level != 0 && (self.log_level == 0 || level < self.log_level)
    }

    /// The resources with this one, or without it; `None` if that changes nothing.
    pub(super) fn changed(&self, uri: &str, is_wanted: bool) -> Option<BTreeSet<String>> {
        if self.uris.contains(uri) == is_wanted {
            return None;
        }
        let mut uris = self.uris.clone();
        if is_wanted {
            uris.insert(uri.to_owned());
        } else {
            uris.remove(uri);
        }
        Some(uris)
    }

    /// True if a call for these resources and log messages would hear of nothing.
    pub(super) fn is_idle(&self, uris: &BTreeSet<String>, log_level: i32) -> bool {
        uris.is_empty() && self.announced == ListChanged::default() && log_level == 0
    }

    /// Ends the call.
    pub(super) fn stop(&mut self) {
        self.uris.clear();
        self.is_over = Arc::default();
        self.passing = JoinSet::new();
    }

    /// Passes these notices on, in place of the ones before, of which the last ones have a second to arrive. If those have
    /// ended, some were missed, and everything counts as changed.
    pub(super) fn follow(&mut self, uris: BTreeSet<String>, notices: Streaming<Bytes>, heard: mpsc::Sender<Heard>) {
        let missed = if self.is_over.load(Ordering::Acquire) { self.all(&uris) } else { Vec::new() };
        self.uris = uris;
        self.is_over = Arc::default();
        let mut before = std::mem::take(&mut self.passing);
        let is_over = Arc::clone(&self.is_over);
        self.passing.spawn(async move {
            let rest = async {
                drop(tokio::time::timeout(PAUSE, before.join_next()).await);
                before.abort_all();
            };
            join(pass(missed, notices, &heard), rest).await;
            is_over.store(true, Ordering::Release);
            // A server that ends each call has its rest.
            tokio::time::sleep(PAUSE).await;
            drop(heard.send(Heard::Ended).await);
        });
    }

    /// Notices of a change of everything.
    fn all(&self, uris: &BTreeSet<String>) -> Vec<RawMessage> {
        let lists = Some(self.announced).filter(|announced| *announced != ListChanged::default());
        let lists = lists.map(|lists| notice(numbers::LIST_CHANGED, lists.encode_to_vec().into()));
        let updated = |uri: &String| {
            notice(numbers::RESOURCE_UPDATED, ResourceUpdated { uri: uri.clone() }.encode_to_vec().into())
        };
        lists.into_iter().chain(uris.iter().map(updated)).collect()
    }
}

/// Passes notices on until they end.
async fn pass(missed: Vec<RawMessage>, mut notices: Streaming<Bytes>, heard: &mpsc::Sender<Heard>) {
    for message in missed {
        drop(heard.send(Heard::Message(message)).await);
    }
    loop {
        match notices.message().await {
            Ok(Some(notice)) => {
                if let Some(message) = message_of(notice) {
                    // Without a receiver the conversation is over.
                    drop(heard.send(Heard::Message(message)).await);
                }
            }
            Ok(None) => return,
            Err(status) => {
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

/// True for the first notice of a call.
pub(super) fn has_begun(notice: Bytes) -> bool {
    Notice::decode(notice).is_ok_and(|notice| notice.listening.is_some())
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
    use protomcp_bufmcp::message::{self, CallLog, Listening, notice};

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
            assert!(!has_begun(bytes.clone()));
            assert_eq!(message_of(bytes), Some(RawMessage { id: 0, payload, body: body.into() }));
        }
        let first = message::Notice { notice: Some(notice::Notice::Listening(Listening {})) }.encode_to_vec();
        assert!(has_begun(first.clone().into()));
        for other in [first, Vec::new(), b"\xff".to_vec(), b"\x2a\x00".to_vec()] {
            assert_eq!(message_of(other.into()), None);
        }
    }

    #[test]
    fn a_subscription_changes_the_resources_once() {
        let set = |uris: &[&str]| uris.iter().map(|uri| (*uri).to_owned()).collect::<BTreeSet<_>>();
        let mut listener = Listener { uris: set(&["a", "b"]), ..Listener::default() };
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
        assert_eq!(listener.all(&set(&["a", "b"])).len(), 2);
        assert!(listener.announce(ListChanged { tools: true, ..ListChanged::default() }));
        assert!(!listener.is_idle(&set(&[]), 0));
        listener.refuse_logs();
        assert!(!listener.lacks(3), "the server has refused them");
        assert_eq!(listener.all(&set(&["a"])).iter().map(|one| one.payload).collect::<Vec<_>>(), [100, 124]);
    }
}

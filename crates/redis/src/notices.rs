//! Notices for the sessions of other processes, on a channel of a store.
//!
//! ```text
//!  notify ─▶ queue ─▶ sealed ─▶ PUBLISH ─▶ store ─▶ subscription ─▶ opened ─▶ sessions
//!              │ full: the oldest is dropped             │ ended: it is made again, and all counts as changed
//! ```
//!
//! A message is the name of its sender, and the sealed notice. The sender skips its own messages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use protomcp_fair::{LeftOut, LogRate};
use protomcp_server::{
    Audience, FencingToken, NodeId, NoticeBus, NoticeReceiver, NoticeRecord, SessionNotice, StoreError,
};
use protomcp_types::RawJson;
use redis::{RedisError, Value};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::connect_error::ConnectError;
use crate::connection::{Connection, pause};
use crate::keys::{NAME, SenderName};
use crate::notice_queue::NoticeQueue;
use crate::script::Call;
use crate::seal::{OVERHEAD, Seal};
use crate::subscription::Subscription;
use crate::task_writes::TaskWrites;

/// The most bytes of a notice.
const LARGEST: usize = 64 << 10;

/// Notices for the sessions of other processes, on a channel of a Redis or Valkey.
///
/// A notice waits in a queue of 1,024 notices and 1 MiB until it is sent. A change that waits already is not queued
/// again. While the store is away or too slow, the oldest notices are dropped, with a line in the log, and changes of lists
/// and tasks after all others; a notice above 64 KiB is not sent. A notice may arrive twice, when the connection ends while it is sent.
///
/// Notices are received over a separate connection, which is made again when it has ended, for as long as the bus is
/// there. Some may have been missed before each connection, the first one included: the sessions that this process has then
/// get [`SessionNotice::Missed`].
#[derive(Debug)]
pub struct RedisNotices {
    channel: Arc<Channel>,
    /// They send and receive.
    carriers: [JoinHandle<()>; 3],
}

#[derive(Debug)]
struct Channel {
    connection: Arc<Connection>,
    seal: Arc<Seal>,
    /// Its tasks are in the store before notices of them are sent.
    tasks: Arc<TaskWrites>,
    name: String,
    /// This process.
    sender: SenderName,
    queue: Mutex<NoticeQueue>,
    /// Wakes the task that sends.
    queued: Notify,
    losses: LogRate,
    receivers: Mutex<Vec<Weak<dyn NoticeReceiver>>>,
}

impl RedisNotices {
    pub(crate) fn new(connection: Arc<Connection>, seal: Arc<Seal>, tasks: Arc<TaskWrites>, node: &NodeId) -> Self {
        let runtime = connection.runtime().clone();
        let name = tasks.names().bus(connection.url().database);
        let channel = Arc::new(Channel {
            connection,
            seal,
            tasks,
            name,
            sender: SenderName::of(node),
            queue: Mutex::default(),
            queued: Notify::new(),
            losses: LogRate::default(),
            receivers: Mutex::default(),
        });
        let carriers = [
            runtime.spawn(Arc::clone(&channel).send()),
            runtime.spawn(Arc::clone(&channel).receive()),
            runtime.spawn(Arc::clone(&channel).send_again()),
        ];
        Self { channel, carriers }
    }
}

impl Drop for RedisNotices {
    fn drop(&mut self) {
        for carrier in &self.carriers {
            carrier.abort();
        }
    }
}

impl NoticeBus for RedisNotices {
    fn notify(&self, audience: Audience, notice: SessionNotice<'_>) {
        if let Some(record) = NoticeRecord::of(&audience, notice) {
            let counts_each_time = matches!(notice, SessionNotice::Log { .. });
            self.channel.enter(record.to_json().into_raw().into_bytes(), counts_each_time);
        }
    }

    fn subscribe(&self, receiver: Weak<dyn NoticeReceiver>) {
        let mut receivers = self.channel.lock_receivers();
        receivers.retain(|receiver| receiver.strong_count() > 0);
        receivers.push(receiver);
    }
}

impl Channel {
    /// Queues a notice. One that does not count each time replaces an equal one.
    fn enter(&self, text: Bytes, counts_each_time: bool) {
        let (is_large, has_loss, dropped) = {
            let mut queue = self.queue();
            let is_large = text.len() > LARGEST;
            let has_loss = if is_large {
                queue.refuse();
                true
            } else if counts_each_time {
                queue.push(text)
            } else {
                queue.push_change(text)
            };
            (is_large, has_loss, queue.dropped())
        };
        self.queued.notify_one();
        if has_loss && let Some(LeftOut(left_out)) = self.losses.permit(Instant::now().into_std()) {
            if is_large {
                tracing::warn!(dropped, left_out, "a notice above 64 KiB is not sent to other servers");
            } else {
                tracing::warn!(
                    dropped,
                    left_out,
                    "the store is away or too slow: a notice is not sent to other servers"
                );
            }
        }
    }

    /// Sends the notices of the queue, one after the other.
    async fn send(self: Arc<Self>) {
        loop {
            let next = self.queue().pop();
            let Some(text) = next else {
                self.queued.notified().await;
                continue;
            };
            if let Some(id) = read(text.clone()).as_ref().and_then(NoticeRecord::task_id) {
                self.tasks.settled(id).await;
            }
            // A notice has no holder.
            let sealed = self.seal.keys().seal(&self.sender, &self.name, FencingToken::FIRST, &text);
            let message = [self.sender.as_bytes(), sealed.as_slice()].concat();
            let call = Call::Command(redis::cmd("PUBLISH")).arg(self.name.as_str()).arg(message);
            let answer = self.answer(&call).await;
            // A refusal has its line in the log.
            let receivers: Result<i64, StoreError> = self.connection.read(&answer);
            if receivers.is_err() {
                self.queue().refuse();
            }
        }
    }

    /// Sends the notices of tasks again that were written after a failure: others have read them as they were before.
    async fn send_again(self: Arc<Self>) {
        loop {
            let id = self.tasks.late().await;
            if let Some(record) = NoticeRecord::of(&Audience::Everyone, SessionNotice::TaskChanged(&id)) {
                self.enter(record.to_json().into_raw().into_bytes(), false);
            }
        }
    }

    /// The answer to a call, when there is one.
    async fn answer(&self, call: &Call) -> Value {
        loop {
            if let Ok(answer) = self.connection.call(call.clone(), self.connection.deadline()).await {
                return answer;
            }
        }
    }

    /// Receives the notices of other processes.
    async fn receive(self: Arc<Self>) {
        let (mut url, limit) = (self.connection.url().clone(), self.connection.limit());
        let (mut failures, mut is_away) = (0_u32, false);
        loop {
            sleep(pause(failures)).await;
            failures = failures.saturating_add(1);
            let channel = Arc::clone(&self);
            match Subscription::new(&url, limit, &self.name, move |message| channel.deliver(message)).await {
                Ok(mut subscription) => {
                    if std::mem::take(&mut is_away) {
                        tracing::info!(url = %self.connection.url(), "notices of other servers arrive again");
                    }
                    // Sessions may have begun before the first subscription, too.
                    self.missed();
                    while subscription.lasts().await {
                        failures = 0;
                    }
                }
                Err(error) => {
                    if !std::mem::replace(&mut is_away, true) {
                        let error = self.reason(&error);
                        tracing::warn!(%error, "notices of other servers do not arrive");
                    }
                }
            }
            url.rotate_nodes();
        }
    }

    fn reason(&self, error: &RedisError) -> ConnectError {
        let url = self.connection.url();
        match error.clone().into_server_errors().as_deref() {
            Some([(_, error), ..]) => ConnectError::of_answer(url, error),
            Some([]) | None => ConnectError::of(url, error, self.connection.limit()),
        }
    }

    /// Delivers the notice of a message, if another process has sent it with a key of this one.
    fn deliver(&self, message: &[u8]) {
        let Some((sender, sealed)) = message.split_first_chunk::<NAME>() else { return };
        let sender = SenderName(*sender);
        if sender == self.sender || sealed.len() > LARGEST + OVERHEAD {
            return;
        }
        let opened = self.seal.open(&sender, &self.name, sealed);
        let Some(record) = opened.and_then(read) else { return };
        for receiver in self.receivers() {
            record.deliver_to(&*receiver);
        }
    }

    /// Notices may have been missed.
    fn missed(&self) {
        for receiver in self.receivers() {
            receiver.deliver(&Audience::Everyone, SessionNotice::Missed);
        }
    }

    fn receivers(&self) -> Vec<Arc<dyn NoticeReceiver>> {
        self.lock_receivers().iter().filter_map(Weak::upgrade).collect()
    }

    fn lock_receivers(&self) -> MutexGuard<'_, Vec<Weak<dyn NoticeReceiver>>> {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, NoticeQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The notice of a text.
fn read(text: impl Into<Bytes>) -> Option<NoticeRecord> {
    NoticeRecord::from_json(&RawJson::parse(text).ok()?)
}

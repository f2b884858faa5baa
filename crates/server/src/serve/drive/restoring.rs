//! Continues a session of another process, and keeps the state of this one for the next.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use protomcp_types::RequestId;
use tokio_util::task::AbortOnDropHandle;

use crate::call::call_info::CallInfo;
use crate::call::context::Context;
use crate::call::mrtr::ReplyTarget;
use crate::serve::drive::Driver;
use crate::serve::listened_resources::{subscribe, tell};
use crate::service::Service;
use protomcp_session::{ClientInfo, Extensions, RequestKey, RestoredSession, SessionState, SessionView, Topic};
use protomcp_transport::Sink;

/// The number of no request: requests count from 0.
const NO_REQUEST: u64 = u64::MAX;

/// The subscriptions that the service is told of concurrently.
const CONCURRENT: usize = 16;

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// Continues a session, which has a handshake already.
    pub(super) fn restore(&mut self, session: RestoredSession) {
        let SessionState { client, level, subscriptions, selection } = session.state;
        self.opening.is_done = true;
        self.queue.introduce(Arc::clone(&client));
        let owner = self.connection.peer.owner.clone();
        let view = SessionView { id: self.id, owner, client: Arc::clone(&client) };
        self.server.observers.restored(&view, selection.as_ref());
        if self.queue.set_level(level) {
            self.server.observers.log_level_set(self.id, level);
        }
        if !subscriptions.is_empty() {
            self.opening.subscribing = Some(self.subscribe_again(client, subscriptions));
        }
    }

    /// Tells the service of the subscriptions. The client is notified of each: the resource may have changed while no
    /// process served the session.
    fn subscribe_again(&self, client: Arc<ClientInfo>, uris: Vec<String>) -> AbortOnDropHandle<()> {
        let key = RequestKey { number: NO_REQUEST, id: RequestId::from(0_u64) };
        let info = Arc::new(CallInfo::new(key, client, Extensions::default()));
        let target = ReplyTarget { queue: Arc::clone(&self.queue), info };
        let context = Context::new(self.connection.peer.in_session(self.id), self.id, target, None);
        let (service, queue) = (Arc::clone(&self.server.service), Arc::clone(&self.queue));
        let (subscriptions, id) = (Arc::clone(self.session.subscriptions()), self.id);
        // From here on the service may report changes.
        let (kept, left_out): (Vec<_>, Vec<_>) =
            uris.into_iter().partition(|uri| subscriptions.subscribe(NO_REQUEST, uri).is_some());
        if !left_out.is_empty() {
            tracing::warn!(session = %id, left_out = left_out.len(), "no room for subscriptions that were taken over");
        }
        AbortOnDropHandle::new(tokio::spawn(async move {
            let (service, context, queue, subscriptions) = (&*service, &context, &queue, &subscriptions);
            let subscribed = stream::iter(kept).for_each_concurrent(CONCURRENT, |uri| async move {
                match tell(service, subscribe(&uri), context).await {
                    Ok(_) => queue.updated(Topic::Resource, &uri),
                    Err(why) => {
                        tracing::warn!(session = %id, uri, why, "a subscription that was taken over is lost");
                        subscriptions.unsubscribe(&uri);
                    }
                }
            });
            subscribed.await;
        }))
    }

    /// Keeps the state for another process if it has changed. To be called before the answer to the request that has
    /// changed it.
    pub(super) fn keep_changed(&mut self) {
        if self.session.take_changed() {
            self.keep_state();
        }
    }

    /// Keeps the state for another process, if one can continue the session.
    pub(super) fn keep_state(&mut self) {
        if !self.connection.sink.delivery().is_some_and(|delivery| delivery.keeps_state()) {
            return;
        }
        let selection = self.server.observers.selection(self.id);
        if let Some(state) = self.session.state(selection)
            && let Some(delivery) = self.connection.sink.delivery()
        {
            delivery.keep(state);
        }
    }
}

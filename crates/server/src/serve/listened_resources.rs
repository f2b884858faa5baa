//! Resources to which requests listen, for all connections together: the service is told of the first request that
//! listens to one and when the last has ended, as a session tells it with `resources/subscribe` and
//! `resources/unsubscribe`.
//!
//! No lock is held while the service answers, so a request whose answer takes long holds up no other. For the same
//! reason the service can be told of a resource by several requests that begin at the same time, and an `unsubscribe`
//! can reach it after the `subscribe` of a later request. Then it is told `subscribe` once more: a request counts before
//! the service is told of it, so that the end of another one sees it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use protomcp_types::{ErrorObject, Subscribe, SubscriptionFilter, Unsubscribe};

use crate::call::catch_unwind::catch_unwind;
use crate::call::context::Context;
use crate::call::listen_guard::ListenGuard;
use crate::records::store_future::StoreFuture;
use crate::service::Service;
use crate::state::handle::ServerHandle;
use crate::state::resource_listeners::ResourceListeners;
use protomcp_session::{ServerRequest, ServerResult};

/// The time for which the service may take to answer.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// The resources that one request listens to. Dropping it ends that.
struct ListenedResources {
    uris: Vec<String>,
    close: Option<Box<dyn FnOnce(Vec<String>) + Send>>,
}

impl ListenedResources {
    /// Listens to as many of these as the service knows.
    async fn open<S: Service>(
        listeners: Arc<ResourceListeners>,
        service: Arc<S>,
        uris: Vec<String>,
        context: Context,
    ) -> Self {
        let known = join_all(uris.iter().map(|uri| enter(&listeners, uri, &*service, &context))).await;
        let uris = uris.into_iter().zip(known).filter_map(|(uri, is_known)| is_known.then_some(uri)).collect();
        let close = move |uris: Vec<String>| {
            // Without a runtime everything has ended.
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            runtime.spawn(async move {
                join_all(uris.iter().map(|uri| leave(&listeners, uri, &*service, &context))).await;
            });
        };
        Self { uris, close: Some(Box::new(close)) }
    }

    fn uris(&self) -> Vec<String> {
        self.uris.clone()
    }
}

/// Opens a watch for the resources of a filter, and sends it to the connection of `context` with the rest of the filter.
pub(super) fn listen_to_resources<S: Service>(
    sessions: &ServerHandle,
    service: &Arc<S>,
    mut filter: Box<SubscriptionFilter>,
    context: Context,
    tasks: Option<StoreFuture<'static, Vec<String>>>,
) {
    let (listeners, service) = (Arc::clone(sessions.resource_listeners()), Arc::clone(service));
    let (queue, key) = (Arc::clone(context.queue()), context.key().clone());
    tokio::spawn(async move {
        let uris = std::mem::take(&mut filter.resource_subscriptions);
        let watch = ListenedResources::open(listeners, service, uris, context).await;
        filter.resource_subscriptions = watch.uris();
        if let Some(tasks) = tasks {
            filter.task_ids = tasks.await;
        }
        queue.listening(key, filter, ListenGuard::new(watch));
    });
}

impl Drop for ListenedResources {
    fn drop(&mut self) {
        if let Some(close) = self.close.take().filter(|_| !self.uris.is_empty()) {
            close(std::mem::take(&mut self.uris));
        }
    }
}

impl fmt::Debug for ListenedResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenedResources").field("uris", &self.uris).finish_non_exhaustive()
    }
}

/// A request begins to listen. `false`: the service does not know the resource.
async fn enter(listeners: &ResourceListeners, uri: &str, service: &impl Service, context: &Context) -> bool {
    let begun = listeners.begin(uri);
    let counts = listeners.counts();
    let has_joined = counts.join(uri).await;
    // The service may refuse a request that others wait for.
    if has_joined && begun.is_only {
        return true;
    }
    if !has_joined {
        counts.add(uri).await;
    }
    let Err(why) = tell(service, subscribe(uri), context).await else { return true };
    tracing::debug!(uri, why, "requests cannot listen to this resource");
    // The service still tells of a resource if the end of another request has counted on this one.
    if counts.remove(uri).await && listeners.has_ended(uri) {
        end(listeners, uri, service, context).await;
    }
    false
}

/// A request does not listen to this resource from now on.
async fn leave(listeners: &ResourceListeners, uri: &str, service: &impl Service, context: &Context) {
    listeners.note_end(uri);
    if listeners.counts().remove(uri).await {
        end(listeners, uri, service, context).await;
    }
}

/// Tells the service that no request listens, until it knows the last that is true.
async fn end(listeners: &ResourceListeners, uri: &str, service: &impl Service, context: &Context) {
    let counts = listeners.counts();
    loop {
        let request = ServerRequest::Unsubscribe(Unsubscribe { uri: uri.to_owned(), meta: None });
        if let Err(why) = tell(service, request, context).await {
            tracing::debug!(uri, why, "the service refuses to be told that no request listens to this resource");
        }
        if !counts.contains(uri).await {
            return;
        }
        // Others have begun in between.
        if let Err(why) = tell(service, subscribe(uri), context).await {
            tracing::warn!(uri, why, "requests listen to a resource that the service does not know again");
        }
        if counts.contains(uri).await {
            return;
        }
    }
}

pub(super) fn subscribe(uri: &str) -> ServerRequest {
    ServerRequest::Subscribe(Subscribe { uri: uri.to_owned(), meta: None })
}

/// Tells the service of a subscription or its end, within a bounded time.
pub(super) async fn tell(
    service: &impl Service,
    request: ServerRequest,
    context: &Context,
) -> Result<ServerResult, String> {
    let call = catch_unwind(|| service.call(request, context.for_same_client()));
    match tokio::time::timeout(WAIT_LIMIT, call).await {
        Ok(Ok(outcome)) => outcome.map_err(|ErrorObject { message, .. }| message.into_owned()),
        Ok(Err(why)) => Err(format!("the service panicked: {why}")),
        Err(_) => Err(format!("the service did not answer within {WAIT_LIMIT:?}")),
    }
}

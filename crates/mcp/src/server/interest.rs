//! Resources to which requests listen, for all connections together: the service is told of the first that wants to hear
//! of one, and when the last has gone, as a session tells it with `resources/subscribe` and `resources/unsubscribe`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use protomcp_types::{ErrorObject, Subscribe, Unsubscribe};

use crate::context::Context;
use crate::panics::panic_as_value;
use crate::request::{ServerRequest, ServerResult};
use crate::server::sessions::Sessions;
use crate::service::Service;

/// How long the service may take to say whether there is a resource, or that nobody listens any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many listen to each resource. A count is locked while the service is told.
#[derive(Debug, Default)]
pub(super) struct Interest(Mutex<HashMap<Arc<str>, Count>>);

type Count = Arc<tokio::sync::Mutex<usize>>;

/// What one request listens to. Dropping it ends that.
pub(crate) struct Watch {
    uris: Vec<String>,
    close: Option<Box<dyn FnOnce(Vec<String>) + Send>>,
}

impl Watch {
    /// Listens to as many of these as the service knows.
    pub(super) async fn open<S: Service>(
        sessions: Sessions,
        service: Arc<S>,
        uris: Vec<String>,
        context: Context,
    ) -> Self {
        let known = join_all(uris.iter().map(|uri| sessions.interest().enter(uri, &*service, &context))).await;
        let uris = uris.into_iter().zip(known).filter_map(|(uri, is_known)| is_known.then_some(uri)).collect();
        let close = move |uris: Vec<String>| {
            // Without a runtime everything has ended.
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            runtime.spawn(async move {
                join_all(uris.iter().map(|uri| sessions.interest().leave(uri, &*service, &context))).await;
            });
        };
        Self { uris, close: Some(Box::new(close)) }
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.uris.clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(close) = self.close.take().filter(|_| !self.uris.is_empty()) {
            close(std::mem::take(&mut self.uris));
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("uris", &self.uris).finish_non_exhaustive()
    }
}

impl Interest {
    /// One more listens. `false`: the service does not know the resource.
    async fn enter(&self, uri: &str, service: &impl Service, context: &Context) -> bool {
        let count = self.count(uri);
        let mut listening = count.lock().await;
        if *listening == 0 {
            let request = ServerRequest::Subscribe(Subscribe { uri: uri.to_owned(), meta: None });
            if let Err(why) = tell(service, request, context).await {
                tracing::debug!(uri, why, "nobody can listen to this resource");
                drop(listening);
                self.tidy(uri, &count);
                return false;
            }
        }
        *listening += 1;
        true
    }

    /// One less listens.
    async fn leave(&self, uri: &str, service: &impl Service, context: &Context) {
        let count = self.count(uri);
        let mut listening = count.lock().await;
        *listening -= 1;
        if *listening == 0 {
            let request = ServerRequest::Unsubscribe(Unsubscribe { uri: uri.to_owned(), meta: None });
            if let Err(why) = tell(service, request, context).await {
                tracing::debug!(uri, why, "the service does not take note that nobody listens any more");
            }
        }
        drop(listening);
        self.tidy(uri, &count);
    }

    fn count(&self, uri: &str) -> Count {
        Arc::clone(self.all().entry(uri.into()).or_default())
    }

    /// Forgets a count of nothing that nobody is about to change.
    fn tidy(&self, uri: &str, count: &Count) {
        let mut all = self.all();
        if Arc::strong_count(count) == 2 && count.try_lock().is_ok_and(|listening| *listening == 0) {
            all.remove(uri);
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Arc<str>, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn tell(service: &impl Service, request: ServerRequest, context: &Context) -> Result<ServerResult, String> {
    let call = panic_as_value(|| service.call(request, context.anew()));
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(Ok(outcome)) => outcome.map_err(|ErrorObject { message, .. }| message.into_owned()),
        Ok(Err(why)) => Err(format!("the service panicked: {why}")),
        Err(_) => Err(format!("the service did not answer within {PATIENCE:?}")),
    }
}

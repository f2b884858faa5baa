//! The lists of all servers as one. A server that is down is left out.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use protomcp_client::RequestError;
use protomcp_server::{Audience, Context, ServerResult};
use protomcp_types::{ErrorObject, Level, RawJson, code};

use crate::failure::{Failure, Why};
use crate::inner::Inner;
use crate::interner::Interned;
use crate::list::{self, ListKind, Merged, ServerList};
use crate::owed_lists;
use crate::pool::Pool;
use crate::reach::now;
use crate::translate;
use crate::upstream_session::UpstreamSession;

/// The elements of one server; `None` if it has no such list.
pub(crate) type Listed = Option<Arc<Interned<ServerList>>>;

/// The time for a list that has had no answer before.
const OWED_TIMEOUT: Duration = Duration::from_secs(1);

impl Inner {
    /// A page of a list.
    ///
    /// # Errors
    /// −32602 for a cursor that no page has ended with; −32603 if no server can be reached.
    pub(crate) async fn list(
        &self,
        kind: ListKind,
        cursor: Option<String>,
        context: &Context,
    ) -> Result<ServerResult, ErrorObject> {
        let key = (context.session(), kind);
        let cursor = cursor.filter(|cursor| !cursor.is_empty());
        let unread = cursor.as_ref().and_then(|_| self.unread().get(&key).cloned());
        if let Some(merged) = unread {
            let (page, has_more) = merged.page(kind, cursor.as_deref())?;
            if !has_more {
                self.unread().remove(&key);
            }
            return Ok(shown(page, context));
        }
        let merged = self.merged(kind, context).await?;
        let (page, has_more) = merged.page(kind, cursor.as_deref())?;
        let page = shown(page, context);
        if context.is_cancelled() {
            // The list may lack servers that would have answered, and its client may be gone.
            return Ok(page);
        }
        // Without room the next page is cut out of a fresh list: its cursor names the last element of this one.
        let interned = has_more.then(|| self.environment.merged.share(merged)).filter(|merged| merged.may_be_kept());
        let mut unread = self.unread();
        match interned {
            Some(merged) => drop(unread.insert(key, merged)),
            None => drop(unread.remove(&key)),
        }
        Ok(page)
    }

    async fn merged(&self, kind: ListKind, context: &Context) -> Result<Merged, ErrorObject> {
        // A request that is cancelled, or ends with its session, has the lists that are there.
        let lists = self.pools.iter().map(|pool| async move {
            tokio::select! {
                biased;
                list = self.elements(pool, kind, context) => list,
                () = context.cancelled() => Err(pool.reach.failure(Why::Late)),
            }
        });
        let lists = join_all(lists).await;
        let (mut merged, mut is_answered, mut failures) = (Merged::default(), false, Vec::new());
        for (pool, list) in self.pools.iter().zip(lists) {
            let upstream = &pool.reach.upstream;
            match list {
                Ok(Some(elements)) => {
                    is_answered = true;
                    let is_own = |name: &str| self.route(name).is_some_and(|(owner, _)| Arc::ptr_eq(owner, pool));
                    merged.add(kind, upstream, &elements, is_own);
                }
                Ok(None) => {}
                Err(failure) => failures.push(failure),
            }
        }
        for failure in &failures {
            tracing::warn!(?kind, %failure, "a list is left out");
            // The reason may quote the server, and is not for each of its clients.
            let text = RawJson::text(&format!("a list is incomplete: server \"{}\" does not answer", failure.server));
            context.log(Level::Warning, Some("gateway"), &text);
        }
        match failures.into_iter().next() {
            // An empty list would say that there is nothing.
            Some(failure) if !is_answered => Err(match failure.refusal() {
                Some(refusal) => refusal.clone(),
                None => failure.into_error(),
            }),
            _ => Ok(merged),
        }
    }

    /// The elements of one server.
    async fn elements(&self, pool: &Arc<Pool>, kind: ListKind, context: &Context) -> Result<Listed, Failure> {
        let upstream = pool.session_of(context).inspect_err(|_| pool.announce_room(context))?;
        listed(&upstream, kind).await
    }
}

/// The elements of a list in one session, in the time of lists. Members that requests depend on are remembered. A list
/// that is not whole in time is asked for in the background until it is.
pub(crate) async fn listed(upstream: &Arc<UpstreamSession>, kind: ListKind) -> Result<Listed, Failure> {
    if let Some(list) = upstream.newest().known().fresh(kind, now()) {
        return Ok(Some(list));
    }
    let all = upstream.environment.limits.list_timeout;
    // The server is slow, and asked in the background.
    let is_owed = upstream.known().owed.contains(&kind);
    let list = listed_within(upstream, kind, if is_owed { all.min(OWED_TIMEOUT) } else { all }).await;
    if list.is_err() {
        owed_lists::owe(upstream, kind);
    }
    list
}

/// Like [`listed`], in this time in all, from the connection to the last page. If the session is lost, the next one is
/// asked.
pub(crate) async fn listed_within(
    upstream: &Arc<UpstreamSession>,
    kind: ListKind,
    limit: Duration,
) -> Result<Listed, Failure> {
    let twice = async {
        match pages(upstream, kind).await {
            Err(failure) if failure.is_lost() => pages(upstream, kind).await,
            outcome => outcome,
        }
    };
    match tokio::time::timeout(limit, twice).await {
        Ok(Err(Failure { why: Why::Request(RequestError::TimedOut(_)), .. })) | Err(_) => {
            Err(upstream.reach.failure(Why::ListLate(limit)))
        }
        Ok(outcome) => outcome,
    }
}

async fn pages(upstream: &Arc<UpstreamSession>, kind: ListKind) -> Result<Listed, Failure> {
    let (upstream, session) = &upstream.enter().await?;
    let server = session.server();
    if server.capabilities.as_ref().is_some_and(|capabilities| !kind.is_offered(capabilities)) {
        return Ok(None);
    }
    let outcome = list::fetch(kind, session, &upstream.environment.limits).await;
    if upstream.learn(&outcome) {
        upstream.environment.lists_changed(&Audience::Everyone);
    }
    match outcome {
        Ok(list) => {
            let list = upstream.environment.lists.share(list);
            upstream.known().learn(kind, &list);
            Ok(Some(list))
        }
        Err(RequestError::Refused(ErrorObject { code: code::METHOD_NOT_FOUND, .. })) => Ok(None),
        Err(error) => Err(upstream.reach.failure(Why::Request(error))),
    }
}

/// A page as the revision of the client has it.
fn shown(page: ServerResult, context: &Context) -> ServerResult {
    if context.is_stateless() { page } else { translate::listed(page) }
}

//! The lists of all servers as one. A server that is down is left out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use protomcp_client::RequestError;
use protomcp_server::{Audience, Context, ServerResult};
use protomcp_types::{ErrorObject, JsonObject, Level, RawJson, TaskSupport, UriTemplate, code};

use crate::failure::{Failure, Why};
use crate::inner::Inner;
use crate::list::{self, Elements, ListKind, Merged};
use crate::owed_lists;
use crate::pool::Pool;
use crate::upstream_session::UpstreamSession;

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
        let merged = match unread {
            Some(merged) => merged,
            None => Arc::new(self.merged(kind, context).await?),
        };
        let (page, rest) = merged.page(kind, cursor.as_deref())?;
        if let Some(rest) = rest {
            self.unread().insert(key, rest);
        }
        Ok(page)
    }

    async fn merged(&self, kind: ListKind, context: &Context) -> Result<Merged, ErrorObject> {
        let lists = join_all(self.pools.iter().map(|pool| self.elements(pool, kind, context)));
        let lists = tokio::select! {
            biased;
            () = context.cancelled() => return Err(ErrorObject::internal("the request was cancelled")),
            lists = lists => lists,
        };
        let (mut merged, mut is_answered, mut failures) = (Merged::default(), false, Vec::new());
        for (pool, list) in self.pools.iter().zip(lists) {
            let upstream = &pool.reach.upstream;
            match list {
                Ok(Some(elements)) => {
                    is_answered = true;
                    merged.add(kind, upstream.name(), upstream.name_prefix(), elements);
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

    /// The elements of one server; `None` if it has no such list. A list without an answer is asked for in the
    /// background until there is one.
    async fn elements(&self, pool: &Pool, kind: ListKind, context: &Context) -> Result<Option<Elements>, Failure> {
        let upstream = pool.session_of(context)?;
        let list = listed(&upstream, kind).await;
        match &list {
            Err(failure) if failure.refusal().is_none() => owed_lists::owe(&upstream, kind),
            Ok(_) | Err(_) => {}
        }
        list
    }
}

/// The elements of a list in one session, in the time of lists. Members that requests depend on are remembered.
pub(crate) async fn listed(upstream: &Arc<UpstreamSession>, kind: ListKind) -> Result<Option<Elements>, Failure> {
    let all = upstream.environment.limits.list_timeout;
    // The server is slow, and asked in the background.
    let is_owed = upstream.known().owed.contains(&kind);
    listed_within(upstream, kind, if is_owed { all.min(OWED_TIMEOUT) } else { all }).await
}

/// As [`listed`], in this time in all, from the connection to the last page. If the session is lost, the next one is
/// asked.
pub(crate) async fn listed_within(
    upstream: &Arc<UpstreamSession>,
    kind: ListKind,
    limit: Duration,
) -> Result<Option<Elements>, Failure> {
    let twice = async {
        match pages(upstream, kind).await {
            Err(failure) if failure.is_lost() => pages(upstream, kind).await,
            outcome => outcome,
        }
    };
    match tokio::time::timeout(limit, twice).await {
        Ok(outcome) => outcome,
        Err(_) => Err(upstream.reach.failure(Why::Request(RequestError::TimedOut(limit)))),
    }
}

async fn pages(upstream: &Arc<UpstreamSession>, kind: ListKind) -> Result<Option<Elements>, Failure> {
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
        Ok(elements) => {
            remember(upstream, kind, &elements);
            Ok(Some(elements))
        }
        Err(RequestError::Refused(ErrorObject { code: code::METHOD_NOT_FOUND, .. })) => Ok(None),
        Err(error) => Err(upstream.reach.failure(Why::Request(error))),
    }
}

fn remember(upstream: &UpstreamSession, kind: ListKind, elements: &Elements) {
    let names = || elements.iter().map(|(name, _)| name.clone());
    match kind {
        ListKind::Tools => {
            let support = |item: &RawJson| {
                let execution = JsonObject::from_raw(item).ok().and_then(|mut item| item.take("execution"));
                TaskSupport::of(execution.as_ref())
            };
            let tasks = elements.iter().map(|(name, item)| (name.clone(), support(item)));
            let tasks: HashMap<_, _> = tasks.filter(|(_, support)| *support != TaskSupport::Forbidden).collect();
            let tools = if upstream.client.is_none() { elements.iter().cloned().collect() } else { HashMap::new() };
            let mut known = upstream.known();
            known.tasks = Some(tasks);
            known.tools = tools;
        }
        ListKind::Resources => upstream.known().uris = names().collect::<HashSet<_>>(),
        ListKind::Templates => {
            upstream.known().templates = names().filter_map(|text| UriTemplate::parse(&text).ok()).collect();
        }
        ListKind::Prompts => {}
    }
}

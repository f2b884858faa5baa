//! Resources, prompts and completion. A resource has no prefix: the server that has listed it is asked first.

use std::sync::Arc;

use protomcp_client::RequestError;
use protomcp_server::{Context, ServerRequest, ServerResult, SessionId};
use protomcp_types::{Complete, ErrorObject, GetPrompt, ReadResource, Reference, Subscribe, code};

use crate::failure::{Failure, Why};
use crate::inner::Inner;
use crate::pool::Pool;
use crate::relay::{Answer, TaskWish};
use crate::translate::{self, Hints};
use crate::upstream_session::UpstreamSession;

impl Inner {
    pub(crate) async fn read_resource(
        &self,
        request: ReadResource,
        context: &Context,
    ) -> Result<ServerResult, ErrorObject> {
        let uri = request.uri.clone();
        let answer = self.first_that_knows(&uri, context, ServerRequest::ReadResource(request)).await?;
        let hints = if !context.is_stateless() {
            Hints::Absent
        } else if answer.has_asked {
            Hints::Never
        } else {
            Hints::Given
        };
        translate::contents(&answer.raw, hints)
    }

    /// Asks the servers one after another until one knows the resource.
    async fn first_that_knows(
        &self,
        uri: &str,
        context: &Context,
        request: ServerRequest,
    ) -> Result<Answer, ErrorObject> {
        let mut outcome = None;
        for (pool, has_listed) in self.pools_by_uri(uri, context) {
            let answer = match pool.lease(context).await {
                Ok(mut lease) => self.relay(&mut lease, context, request.clone(), TaskWish::None).await,
                Err(failure) => Err(failure),
            };
            match answer {
                Ok(answer) => return Ok(answer),
                Err(failure) => {
                    let is_final = !is_unknown(&failure);
                    // It is this server's own resource, whatever others have.
                    if is_final && has_listed || matches!(failure.why, Why::Gone) {
                        return Err(error(failure, Some(uri), context));
                    }
                    // A server that is down may have had it.
                    if is_final || outcome.is_none() {
                        outcome = Some(failure);
                    }
                }
            }
        }
        Err(outcome.map_or_else(|| ErrorObject::resource_not_found(uri), |failure| error(failure, Some(uri), context)))
    }

    /// The servers, with true for those that have listed the resource, which are first.
    fn pools_by_uri(&self, uri: &str, context: &Context) -> Vec<(&Arc<Pool>, bool)> {
        let has_listed =
            |pool: &Arc<Pool>| pool.present_session_of(context).is_some_and(|session| session.known().has(uri));
        let mut pools: Vec<_> = self.pools.iter().map(|pool| (pool, has_listed(pool))).collect();
        pools.sort_by_key(|(_, has_listed)| !has_listed);
        pools
    }

    /// Subscribes at the first server that knows the resource, once for all clients that share its session.
    pub(crate) async fn subscribe(&self, request: Subscribe, context: &Context) -> Result<(), ErrorObject> {
        let (uri, holder) = (request.uri, context.session());
        let mut outcome = None;
        for (pool, has_listed) in self.pools_by_uri(&uri, context) {
            let outcome_here = match pool.session_of(context) {
                Ok(upstream) => watch(&upstream, &uri, holder).await,
                Err(failure) => Err(failure),
            };
            match outcome_here {
                Ok(()) => return Ok(()),
                Err(failure) => {
                    let is_final = !is_unknown(&failure);
                    if is_final && has_listed || matches!(failure.why, Why::Gone) {
                        return Err(error(failure, Some(&uri), context));
                    }
                    if is_final || outcome.is_none() {
                        outcome = Some(failure);
                    }
                }
            }
        }
        Err(outcome
            .map_or_else(|| ErrorObject::resource_not_found(&uri), |failure| error(failure, Some(&uri), context)))
    }

    /// Ends a subscription where it was made.
    pub(crate) async fn unsubscribe(&self, uri: &str, context: &Context) -> Result<(), ErrorObject> {
        let holder = context.session();
        for (pool, _) in self.pools_by_uri(uri, context) {
            // Without a session there is no subscription.
            let Some(upstream) = pool.present_session_of(context) else { continue };
            let is_last = upstream.holders().remove(uri, holder);
            if is_last {
                let outcome = upstream.unwatch(uri).await;
                outcome.map_err(|refusal| error(upstream.reach.failure(Why::Request(refusal)), Some(uri), context))?;
            }
        }
        Ok(())
    }

    pub(crate) async fn get_prompt(&self, request: GetPrompt, context: &Context) -> Result<ServerResult, ErrorObject> {
        let Some((pool, name)) = self.route(&request.name) else {
            return Err(ErrorObject::unknown_prompt(&request.name));
        };
        let request = ServerRequest::GetPrompt(GetPrompt { name: name.to_owned(), ..request });
        self.pass(pool, request, context).await
    }

    pub(crate) async fn complete(&self, request: Complete, context: &Context) -> Result<ServerResult, ErrorObject> {
        match &request.reference {
            Reference::Prompt { name } => {
                let Some((pool, name)) = self.route(name) else { return Err(ErrorObject::unknown_prompt(name)) };
                let reference = Reference::Prompt { name: name.to_owned() };
                let request = ServerRequest::Complete(Complete { reference, ..request });
                self.pass(pool, request, context).await
            }
            Reference::Resource { uri } => {
                let uri = uri.clone();
                let answer = self.first_that_knows(&uri, context, ServerRequest::Complete(request)).await?;
                Ok(ServerResult::Body(translate::result(&answer.raw)?.to_body()))
            }
        }
    }

    /// Passes on a request of any other kind.
    pub(crate) async fn pass(
        &self,
        pool: &Arc<Pool>,
        request: ServerRequest,
        context: &Context,
    ) -> Result<ServerResult, ErrorObject> {
        let mut lease = pool.lease(context).await.map_err(Failure::into_error)?;
        let answer = self.relay(&mut lease, context, request, TaskWish::None).await;
        let answer = answer.map_err(|failure| error(failure, None, context))?;
        Ok(ServerResult::Body(translate::result(&answer.raw)?.to_body()))
    }
}

async fn watch(upstream: &Arc<UpstreamSession>, uri: &str, holder: SessionId) -> Result<(), Failure> {
    let (upstream, session) = upstream.enter().await?;
    let can_watch = |server: &protomcp_client::ServerView| {
        server.capabilities.as_ref().is_none_or(|can| can.resources.is_some_and(|resources| resources.subscribe))
    };
    if !can_watch(&session.server()) {
        let refusal = RequestError::Refused(ErrorObject::method_not_found("resources/subscribe"));
        return Err(upstream.reach.failure(Why::Request(refusal)));
    }
    // Before the server is told, so that a client that leaves ends no subscription that has just begun. A subscription
    // that another client waits for may fail, so the server is told of this one as well.
    if !upstream.holders().add(uri, holder) {
        return Ok(());
    }
    let mut joining = Joining { upstream: &upstream, uri, holder, is_answered: false };
    let mut outcome = session.subscribe(uri).await;
    // The session that has taken its place by now may have begun before the resource was in the list.
    if let Some(session) = upstream.replacement() {
        outcome = session.subscribe(uri).await;
    }
    joining.is_answered = true;
    match outcome {
        Ok(()) => {
            upstream.holders().confirm(uri);
            Ok(())
        }
        Err(error) => {
            upstream.holders().remove(uri, holder);
            Err(upstream.reach.failure(Why::Request(error)))
        }
    }
}

/// A subscription without an answer. Dropping it ends the subscription.
struct Joining<'a> {
    upstream: &'a Arc<UpstreamSession>,
    uri: &'a str,
    holder: SessionId,
    is_answered: bool,
}

impl Drop for Joining<'_> {
    fn drop(&mut self) {
        if self.is_answered || !self.upstream.holders().remove(self.uri, self.holder) {
            return;
        }
        // The server may have made it.
        let (upstream, uri) = (Arc::clone(self.upstream), self.uri.to_owned());
        tokio::spawn(async move { drop(upstream.unwatch(&uri).await) });
    }
}

/// True if another server may know what this one does not.
fn is_unknown(failure: &Failure) -> bool {
    let codes = [code::RESOURCE_NOT_FOUND, code::INVALID_PARAMS, code::METHOD_NOT_FOUND];
    failure.refusal().is_some_and(|error| codes.contains(&error.code))
}

fn error(failure: Failure, uri: Option<&str>, context: &Context) -> ErrorObject {
    match failure.refusal() {
        Some(refusal) => translate::refusal(refusal.clone(), uri, context.is_stateless()),
        None => failure.into_error(),
    }
}

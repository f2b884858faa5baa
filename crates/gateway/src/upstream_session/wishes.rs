//! The requests of clients that outlast a session: levels of log messages, and subscriptions.

use std::sync::{Arc, MutexGuard};

use protomcp_client::{ClientSession, RequestError};
use protomcp_server::{ServerRequest, SessionId};
use protomcp_types::{Level, Method, Params, SetLevel};

use crate::holders::Holders;
use crate::upstream_session::{UpstreamSession, lock};

impl UpstreamSession {
    /// Asks a new session for everything that the last one was asked for.
    pub(super) fn restore(&self, session: &ClientSession) {
        if let Some(level) = *lock(&self.memory.level) {
            send_level(session, level);
        }
        for uri in lock(&self.memory.holders).uris() {
            let (session, notices) = (session.clone(), Arc::clone(&self.notices));
            tokio::spawn(async move {
                if let Err(error) = session.subscribe(uri.clone()).await {
                    tracing::warn!(uri, %error, "a subscription was lost with its session");
                }
                // It may have changed while there was no subscription.
                notices.resource_updated(&uri);
            });
        }
    }

    /// Asks for log messages from this level on, where a session has a level.
    pub(crate) fn set_level(self: &Arc<Self>, level: Level) {
        *lock(&self.memory.level) = Some(level);
        if let Some(session) = self.newest().open_session() {
            send_level(&session, level);
        }
    }

    /// Like [`UpstreamSession::set_level`], if that brings more messages.
    pub(crate) fn lower_level(self: &Arc<Self>, level: Level) {
        if lock(&self.memory.level).is_none_or(|least| level < least) {
            self.set_level(level);
        }
    }

    /// The sessions of clients that watch resources.
    pub(crate) fn holders(&self) -> MutexGuard<'_, Holders> {
        lock(&self.memory.holders)
    }

    /// A session of a client is over.
    pub(crate) fn leave(self: &Arc<Self>, client: SessionId) {
        for uri in lock(&self.memory.holders).leave(client) {
            let this = Arc::clone(self);
            tokio::spawn(async move { drop(this.unwatch(&uri).await) });
        }
    }

    /// No client watches a resource: ends the subscription. If another one has begun to watch it, the subscription may have
    /// ended after that, so it is made once more.
    ///
    /// # Errors
    /// The refusal of the server.
    pub(crate) async fn unwatch(self: &Arc<Self>, uri: &str) -> Result<(), RequestError> {
        loop {
            let Some(session) = self.newest().open_session() else { return Ok(()) };
            session.unsubscribe(uri).await?;
            if !self.holders().has(uri) {
                return Ok(());
            }
            session.subscribe(uri).await?;
            if self.holders().has(uri) {
                // It may have changed in between.
                self.notices.resource_updated(uri);
                return Ok(());
            }
        }
    }
}

/// Sends the level immediately. Its answer concerns no client.
fn send_level(session: &ClientSession, level: Level) {
    let server = session.server();
    let has_levels = server.capabilities.as_ref().is_some_and(|can| can.logging.is_some());
    if !server.is_stateful() || !has_levels {
        return;
    }
    let request = ServerRequest::Other {
        method: SetLevel::NAME.into(),
        params: Params::of(&SetLevel { level }).unwrap_or_default(),
    };
    let answer = session.forward(request).raw();
    tokio::spawn(async move {
        if let Err(error) = answer.await {
            tracing::debug!(%error, "the server refuses a log level");
        }
    });
}

//! The facts about a request and its sender.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use protomcp_types::{Notification, Progress, ProgressToken, RequestId};

use protomcp_fair::Reservation;
use protomcp_session::{ClientInfo, Extensions, RequestKey, StatelessInfo};

/// The facts about a request and its sender, for the [`Outlet`](crate::Outlet) of its call.
#[derive(Debug, Clone)]
pub struct CallInfo {
    pub(crate) key: RequestKey,
    pub(crate) client: Arc<ClientInfo>,
    pub(crate) token: Option<ProgressToken>,
    pub(crate) stateless: Option<StatelessInfo>,
    pub(crate) known: Extensions,
    /// The bytes of the request, unless its transport has reserved them.
    #[expect(dead_code, reason = "it gives its bytes back when the call has ended")]
    pub(crate) reservation: Option<Arc<Reservation>>,
    /// Its slot among the calls that are admitted, if a task goes on with the call.
    pub(crate) slot: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl CallInfo {
    /// The id of the request, as the client chose it.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.key.id
    }

    /// The token under which the client wants progress; `None`: it wants none.
    #[must_use]
    pub fn progress_token(&self) -> Option<&ProgressToken> {
        self.token.as_ref()
    }

    /// A request of a session. Its client wants no progress, and its transport has reserved its bytes.
    pub(crate) fn new(key: RequestKey, client: Arc<ClientInfo>, known: Extensions) -> Self {
        Self { key, client, token: None, stateless: None, known, reservation: None, slot: OnceLock::new() }
    }

    /// A request that listens: it asks for no progress and no log messages, and brings no answers.
    pub(crate) fn of_listener(key: RequestKey, client: Arc<ClientInfo>, known: Extensions) -> Self {
        Self { stateless: Some(StatelessInfo { log_level: None }), ..Self::new(key, client, known) }
    }

    /// The notification of this progress, if the client wants any.
    pub(crate) fn progress(&self, progress: &Progress) -> Option<Notification> {
        progress.to_notification(self.token.as_ref()?, self.client.version)
    }
}

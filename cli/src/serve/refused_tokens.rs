//! Tokens that their issuer refuses at one server: the others ask about them again.

use std::sync::Arc;

use protomcp_auth::Introspection;
use protomcp_server::{Audience, NoticeBus, NoticeReceiver, SessionNotice};

/// Brings the refusals of other servers to the tokens of this one, for as long as it is there.
#[derive(Debug)]
pub(super) struct RefusedTokens(Arc<Introspection>);

impl RefusedTokens {
    /// Tells the other servers of refusals, and learns of theirs.
    pub(super) fn share(tokens: Arc<Introspection>, bus: Arc<dyn NoticeBus>) -> Arc<Self> {
        let shared = Arc::new(Self(tokens));
        let receiver = Arc::downgrade(&shared);
        bus.subscribe(receiver);
        shared.0.report_refusals(move |digest| bus.notify(Audience::Everyone, SessionNotice::TokenRefused(digest)));
        shared
    }
}

impl NoticeReceiver for RefusedTokens {
    fn deliver(&self, _: &Audience, notice: SessionNotice<'_>) {
        if let SessionNotice::TokenRefused(digest) = notice
            && self.0.forget(digest)
        {
            tracing::debug!("another server was refused a token: the issuer is asked about it again");
        }
    }
}

//! Requests of the stateless revision in a connection that also carries sessions: each names its revision and the
//! capabilities of its client, and depends on no earlier request (MCP 2026-07-28, basic).

use protomcp_types::{Message, Request, RequestMeta};

use crate::pending::{Era, OnSuccess};
use crate::server::stateless_revision::{Stateless, StatelessRequest};
use crate::server::{Inbound, Session};
use crate::stateless_meta::StatelessMeta;

impl Session {
    /// True if a request is one of the stateless revision.
    #[must_use]
    pub fn is_stateless(request: &Request) -> bool {
        Stateless::has(&request.method, &RequestMeta::of(&request.params))
    }

    pub(super) fn stateless_request(
        &mut self,
        Request { id, method, params }: Request,
        meta: &StatelessMeta,
    ) -> Inbound {
        let request = match self.stateless.read(method, params, meta) {
            Ok(StatelessRequest::Listen(client, filter)) => {
                return match self.listen(id, &filter) {
                    Ok(key) => Inbound::Listen(key, client, filter),
                    Err((id, error)) => Inbound::Reply(Message::error(Some(id), error)),
                };
            }
            Ok(StatelessRequest::Discovered(result)) => return Inbound::Reply(Message::result(id, result)),
            Ok(request @ (StatelessRequest::Call(_) | StatelessRequest::Task(_))) => request,
            Err(error) => return Inbound::Reply(Message::error(Some(id), error)),
        };
        match self.pending.open_with(request.extra_room(), id, OnSuccess::Nothing, Era::Stateless) {
            Ok(key) => Inbound::Stateless(key, Box::new(request)),
            Err(id) => Inbound::Reply(Message::error(Some(id), Self::overloaded())),
        }
    }
}

//! Requests of the stateless revision in a connection that also carries sessions: each names its revision and the
//! capabilities of its client, and depends on no earlier request (MCP 2026-07-28, basic).

use protomcp_types::{Message, Request, RequestMeta, Response};

use crate::info::Limits;
use crate::pending::{Attempt, Era, OnSuccess};
use crate::server::stateless_revision::{Stateless, StatelessCall, StatelessRequest};
use crate::server::{Inbound, IncomingCall, Session};
use crate::stateless_meta::StatelessMeta;

impl Session {
    /// True if a request is one of the stateless revision.
    #[must_use]
    pub fn is_stateless(request: &Request) -> bool {
        Stateless::has(&request.method, &RequestMeta::of(&request.params))
    }

    pub(super) fn stateless(&mut self, Request { id, method, params }: Request, meta: &StatelessMeta) -> Inbound {
        let answer = match self.stateless.read(method, params, meta) {
            Ok(StatelessRequest::Discovered(result)) => Ok(result),
            Ok(StatelessRequest::Listen(client, filter)) => match self.listen(id, &filter) {
                Ok(key) => return Inbound::Listen(key, client, filter),
                Err((id, error)) => return Inbound::Reply(Message::error(Some(id), error)),
            },
            Ok(StatelessRequest::Task(request)) => {
                let (more, era) = (Limits::CONTROL_ROOM, Era::Stateless(Attempt::First));
                return match self.pending.open_with(more, id, OnSuccess::Nothing, era) {
                    Ok(key) => Inbound::Task(key, request),
                    Err(id) => Inbound::Reply(Message::error(Some(id), Self::overloaded())),
                };
            }
            Ok(StatelessRequest::Call(call)) => {
                let attempt = call.attempt();
                let StatelessCall { request, client, progress_token, info, inputs } = call;
                let more = request.extra_room();
                return match self.pending.open_with(more, id, OnSuccess::Nothing, Era::Stateless(attempt)) {
                    Ok(key) => Inbound::Call(IncomingCall {
                        key,
                        request,
                        progress_token,
                        client,
                        stateless: Some(info),
                        inputs: inputs.map(Box::new),
                    }),
                    Err(id) => Inbound::Reply(Message::error(Some(id), Self::overloaded())),
                };
            }
            Err(error) => Err(error),
        };
        Inbound::Reply(Response { id: Some(id), outcome: answer }.into())
    }
}

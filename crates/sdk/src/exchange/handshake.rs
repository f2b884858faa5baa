//! The end of a handshake: middleware is registered, one after the other, and then the tools are in service.

use std::collections::VecDeque;

use protomcp_envelope::{Envelope, RegisterMiddlewareRequest, RegisterMiddlewareResponse, ReloadResponse};

use crate::exchange::Exchange;
use crate::step::Step;

/// A handshake that has sent the list of tools.
#[derive(Debug)]
pub(super) struct Registering {
    /// The id of the reload that it belongs to; empty: the first one.
    reload: String,
    /// The middleware that the bridge has not acknowledged, the current one first.
    left: VecDeque<(String, i32)>,
    /// The messages after it.
    after: Vec<Step>,
}

impl Exchange {
    /// The list of tools is sent: registers the middleware, and ends the handshake.
    pub(super) fn end_handshake(&mut self, reload: String, after: Vec<Step>) -> Vec<Step> {
        let left = self.config.middleware.iter().map(|known| (known.name.clone(), known.priority)).collect();
        self.registering = Some(Registering { reload, left, after });
        self.register_next()
    }

    /// The bridge has acknowledged a middleware.
    pub(super) fn registered(&mut self, response: RegisterMiddlewareResponse) -> Vec<Step> {
        let Some(registering) = &mut self.registering else { return Vec::new() };
        let name = registering.left.pop_front().map(|(name, _)| name).unwrap_or_default();
        if !response.success {
            tracing::error!(name, "the bridge has refused a middleware, which does not run");
        }
        self.register_next()
    }

    /// Registers one middleware: the bridge acknowledges it before the next one is sent.
    fn register_next(&mut self) -> Vec<Step> {
        let next = self.registering.as_ref().and_then(|registering| registering.left.front().cloned());
        if let Some((name, priority)) = next {
            return vec![Step::send(Envelope::new("", RegisterMiddlewareRequest { name, priority }))];
        }
        let Some(Registering { reload, after, .. }) = self.registering.take() else { return Vec::new() };
        let response = ReloadResponse { success: true, ..ReloadResponse::default() };
        [Step::send(Envelope::new(reload, response))].into_iter().chain(after).collect()
    }
}

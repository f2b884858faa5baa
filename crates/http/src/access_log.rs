//! The lines of the access log for requests that are refused before the MCP server reads them. It logs the others itself.

use std::net::IpAddr;

use http::request::Parts;
use http::{Response, StatusCode};
use protomcp_server::ACCESS_TARGET;
use tokio::time::Instant;

use crate::caller::Caller;
use crate::endpoint::Endpoint;
use crate::reply::Body;

/// The most characters of a path in a line.
const MAX_PATH: usize = 200;

/// A request that may still be refused.
#[derive(Debug)]
pub(crate) struct Visit {
    method: String,
    path: String,
    address: Option<IpAddr>,
    began: Instant,
}

/// Marks the answer of the MCP server, in the extensions of the response: it is not a refusal of this crate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered;

impl Visit {
    /// A request with this head, if there is an access log.
    pub(crate) fn begin(endpoint: &Endpoint, parts: &Parts) -> Option<Self> {
        endpoint.sessions.logs_access().then(|| Self {
            method: parts.method.as_str().chars().take(MAX_PATH).collect(),
            path: parts.uri.path().chars().take(MAX_PATH).collect(),
            address: Caller::of(parts).address,
            began: Instant::now(),
        })
    }

    /// Writes the line if this response refuses the request.
    pub(crate) fn end(&self, response: &Response<Body>) {
        if is_refusal(response) {
            self.refused(response.status());
        }
    }

    /// Writes the line of a request that was refused with this status.
    pub(crate) fn refused(&self, status: StatusCode) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            target: ACCESS_TARGET,
            http = self.method.as_str(),
            path = self.path.as_str(),
            outcome = "refused",
            status = status.as_u16(),
            ms,
            address = self.address.map(display),
            "request"
        );
    }
}

fn is_refusal<B>(response: &Response<B>) -> bool {
    let is_failure = response.status().is_client_error() || response.status().is_server_error();
    is_failure && response.extensions().get::<Answered>().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_without_an_answer_is_a_refusal() {
        for (status, is_answered, refused) in [
            (200, false, false),
            (202, false, false),
            (401, false, true),
            (404, true, false),
            (404, false, true),
            (503, false, true),
        ] {
            let mut response = Response::new(());
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            if is_answered {
                response.extensions_mut().insert(Answered);
            }
            assert_eq!(is_refusal(&response), refused, "{status}");
        }
    }
}

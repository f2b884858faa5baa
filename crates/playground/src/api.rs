//! The requests of the page other than MCP, behind the same checks.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use protomcp_http::{Body, BoxBody, Protocol, Responding};

use crate::body::{Events, Whole};
use crate::calls::Calls;
use crate::host_views::HostViews;
use crate::journal::Journal;
use crate::requests::{Answer, Requests, error};
use crate::service::Reload;
use crate::websocket::Sockets;

/// The paths below `/api`, and `/ws`.
pub(crate) struct Api {
    journal: Journal,
    reload: Reload,
    requests: Arc<Requests>,
    sockets: Sockets,
}

impl Api {
    pub(crate) fn new(calls: Calls, journal: Journal, reload: Reload, hosts: HostViews) -> Self {
        let requests = Arc::new(Requests::new(calls.clone(), journal.clone(), hosts));
        let sockets = Sockets::new(calls, journal.clone());
        Self { journal, reload, requests, sockets }
    }
}

impl Protocol for Api {
    fn is_meant(&self, head: &Parts) -> bool {
        head.uri.path().starts_with("/api/") || head.uri.path() == "/ws"
    }

    fn respond(&self, request: Request<BoxBody>) -> Responding {
        if Requests::method(request.uri().path()).as_ref() == Some(request.method()) {
            let requests = Arc::clone(&self.requests);
            return Box::pin(async move { json(requests.answer(request).await) });
        }
        let response = match (request.method(), request.uri().path()) {
            (_, "/ws") => match self.sockets.open(request.into_parts().0) {
                Ok(response) => response.map(|()| Body::default()),
                Err((status, why)) => json(error(status, why)),
            },
            (&Method::GET, "/api/events") => {
                let events = Events::new(self.journal.reader(from(request.uri().query())));
                of_type("text/event-stream", Body::new(events))
            }
            (&Method::GET, "/api/trace") => json((StatusCode::OK, self.journal.all())),
            (&Method::POST, "/api/reload") => {
                self.journal.reload();
                self.reload.begin();
                json((StatusCode::OK, r#"{"status":"ok"}"#.to_owned()))
            }
            (_, path) => {
                let is_known = matches!(path, "/api/events" | "/api/trace" | "/api/reload");
                if is_known || Requests::method(path).is_some() {
                    json(error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"))
                } else {
                    json(error(StatusCode::NOT_FOUND, "not found"))
                }
            }
        };
        Box::pin(std::future::ready(response))
    }
}

/// The number of the first event that is asked for: `from=7`, or 0.
fn from(query: Option<&str>) -> u64 {
    let pairs = query.unwrap_or_default().split('&');
    pairs.filter_map(|pair| pair.strip_prefix("from=")).find_map(|number| number.parse().ok()).unwrap_or(0)
}

fn json((status, text): Answer) -> Response<Body> {
    let mut response = of_type("application/json", Body::new(Whole(Some(text.into()))));
    *response.status_mut() = status;
    response
}

fn of_type(kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_is_in_the_query() {
        for (query, first) in [(None, 0), (Some("from=7"), 7), (Some("a=1&from=12"), 12), (Some("from=x"), 0)] {
            assert_eq!(from(query), first, "{query:?}");
        }
    }
}

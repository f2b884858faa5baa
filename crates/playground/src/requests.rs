//! The requests below `/api` that lists and calls are made with, as in the older program in Go.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use protomcp_http::BoxBody;
use protomcp_types::{JsonObject, null_as_default, without_byte_order_mark};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::calls::Calls;
use crate::export::{Export, MAX_EXPORT};
use crate::host_views::HostViews;
use crate::journal::Journal;

/// The most bytes of a body.
const MAX_BODY: usize = 8 << 20;
/// The time for a body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The most concurrent requests.
const MAX_REQUESTS: usize = 32;

/// Answers `/api/tools`, `/api/resources`, `/api/prompts`, `/api/call`, `/api/resource/read`, `/api/prompt/get`,
/// `/api/export`, `/api/hosts` and `/api/host-view`.
#[derive(Debug)]
pub(crate) struct Requests {
    calls: Calls,
    journal: Journal,
    hosts: HostViews,
    permits: Semaphore,
}

/// A status, and a body of JSON.
pub(crate) type Answer = (StatusCode, String);

#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default, deserialize_with = "null_as_default")]
    args: JsonObject,
}

#[derive(Deserialize)]
struct Read {
    uri: String,
}

#[derive(Deserialize)]
struct HostView {
    host: String,
    tools: Box<RawValue>,
}

#[derive(Deserialize)]
struct Prompt {
    name: String,
    #[serde(default, deserialize_with = "null_as_default")]
    arguments: JsonObject,
}

impl Requests {
    pub(crate) fn new(calls: Calls, journal: Journal, hosts: HostViews) -> Self {
        Self { calls, journal, hosts, permits: Semaphore::new(MAX_REQUESTS) }
    }

    /// The method of a path; `None` if the path is not one of these.
    pub(crate) fn method(path: &str) -> Option<Method> {
        match path {
            "/api/tools" | "/api/resources" | "/api/prompts" | "/api/hosts" => Some(Method::GET),
            "/api/call" | "/api/resource/read" | "/api/prompt/get" | "/api/export" | "/api/host-view" => {
                Some(Method::POST)
            }
            _ => None,
        }
    }

    /// Answers a request whose path and method are right. Dropping the future cancels the request at the server.
    pub(crate) async fn answer(&self, request: Request<BoxBody>) -> Answer {
        let Ok(_permit) = self.permits.try_acquire() else {
            return error(StatusCode::SERVICE_UNAVAILABLE, "there are too many requests; try again later");
        };
        match self.outcome(request).await {
            Ok(Ok(body)) => (StatusCode::OK, body),
            Ok(Err(why)) => error(StatusCode::INTERNAL_SERVER_ERROR, &why),
            Err(refused) => refused,
        }
    }

    async fn outcome(&self, request: Request<BoxBody>) -> Result<Result<String, String>, Answer> {
        // The head holds the proof that the request was let in, until it is answered.
        let (head, body) = request.into_parts();
        Ok(match head.uri.path() {
            "/api/tools" => self.calls.tools().await.and_then(|items| array(&items)),
            "/api/resources" => self.calls.resources().await.and_then(|items| array(&items)),
            "/api/prompts" => self.calls.prompts().await.and_then(|items| array(&items)),
            "/api/hosts" => Ok(self.hosts.list()),
            "/api/host-view" => {
                let HostView { host, tools } = read(body, MAX_BODY).await?;
                self.hosts.view(host, tools.get().to_owned()).await
            }
            "/api/export" => {
                let export: Export = read(body, MAX_EXPORT).await?;
                tokio::task::spawn_blocking(|| export.answer()).await.map_err(|error| error.to_string())
            }
            "/api/call" => {
                let Call { name, args } = read(body, MAX_BODY).await?;
                self.calls.call(name, &args, &self.journal).await
            }
            "/api/resource/read" => {
                let Read { uri } = read(body, MAX_BODY).await?;
                self.calls.read(uri).await
            }
            _ => {
                let Prompt { name, arguments } = read(body, MAX_BODY).await?;
                self.calls.prompt(name, &arguments).await
            }
        })
    }
}

/// Reads a body of at most this many bytes.
async fn read<T: DeserializeOwned>(body: BoxBody, most: usize) -> Result<T, Answer> {
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, most).collect()).await;
    let late = |_| error(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time");
    let body: Bytes = match collected.map_err(late)? {
        Ok(body) => body.to_bytes(),
        Err(why) if why.is::<http_body_util::LengthLimitError>() => {
            return Err(error(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body has at most {most} bytes")));
        }
        Err(why) => return Err(error(StatusCode::BAD_REQUEST, &format!("the body did not arrive: {why}"))),
    };
    serde_json::from_slice(without_byte_order_mark(&body))
        .map_err(|why| error(StatusCode::BAD_REQUEST, &format!("invalid body: {why}")))
}

fn array(items: &[impl Serialize]) -> Result<String, String> {
    serde_json::to_string(items).map_err(|why| why.to_string())
}

pub(crate) fn error(status: StatusCode, why: &str) -> Answer {
    (status, json!({"error": why}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_null_are_none() {
        let call: Call = serde_json::from_str(r#"{"name":"a","args":null}"#).unwrap();
        assert!(call.args.is_empty());
        let prompt: Prompt = serde_json::from_str(r#"{"name":"a","arguments":null}"#).unwrap();
        assert!(prompt.arguments.is_empty());
    }
}

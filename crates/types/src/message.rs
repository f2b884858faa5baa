//! The three kinds of JSON-RPC message, and their serialization.

use std::borrow::Cow;

use crate::error::ErrorObject;
use crate::id::RequestId;
use crate::json_buf::JsonBuf;
use crate::output::{Output, put_text};
use crate::params::Params;

/// One JSON-RPC 2.0 message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Expects a response.
    Request(Request),
    /// Expects no response.
    Notification(Notification),
    /// Answers a request.
    Response(Response),
}

/// A message with a method and an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the sender; unique among its pending requests.
    pub id: RequestId,
    /// The method.
    pub method: Cow<'static, str>,
    /// The parameters.
    pub params: Params,
}

/// A message with a method and no id. It is never answered, even when it is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The method.
    pub method: Cow<'static, str>,
    /// The parameters.
    pub params: Params,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The request's id; `None` if it was unreadable.
    pub id: Option<RequestId>,
    /// `result` or `error`.
    pub outcome: Result<JsonBuf, ErrorObject>,
}

impl Message {
    /// A request.
    #[must_use]
    pub fn request(id: impl Into<RequestId>, method: impl Into<Cow<'static, str>>, params: Params) -> Self {
        Self::Request(Request { id: id.into(), method: method.into(), params })
    }

    /// A notification.
    #[must_use]
    pub fn notification(method: impl Into<Cow<'static, str>>, params: Params) -> Self {
        Self::Notification(Notification { method: method.into(), params })
    }

    /// A response with a result.
    #[must_use]
    pub fn result(id: RequestId, result: JsonBuf) -> Self {
        Self::Response(Response { id: Some(id), outcome: Ok(result) })
    }

    /// A response with an error.
    #[must_use]
    pub fn error(id: Option<RequestId>, error: ErrorObject) -> Self {
        Self::Response(Response { id, outcome: Err(error) })
    }

    /// Writes the JSON text, without a line break at the end. Big parts are shared, see [`Output`].
    pub fn write_to(&self, out: &mut impl Output) {
        match self {
            Self::Request(Request { id, method, params }) => {
                out.put(b"{\"jsonrpc\":\"2.0\",\"id\":");
                id.write_to(out);
                out.put(b",\"method\":");
                put_text(out, method);
                params.write_to(out);
            }
            Self::Notification(Notification { method, params }) => {
                out.put(b"{\"jsonrpc\":\"2.0\",\"method\":");
                put_text(out, method);
                params.write_to(out);
            }
            Self::Response(Response { id, outcome }) => {
                out.put(b"{\"jsonrpc\":\"2.0\",\"id\":");
                match id {
                    Some(id) => id.write_to(out),
                    None => out.put(b"null"),
                }
                match outcome {
                    Ok(result) => {
                        out.put(b",\"result\":");
                        result.write_to(out);
                    }
                    Err(error) => {
                        out.put(b",\"error\":");
                        error.write_to(out);
                    }
                }
            }
        }
        out.put(b"}");
    }

    /// The JSON text in a new buffer; for tests and logs.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = Vec::new();
        self.write_to(&mut text);
        String::from_utf8(text).expect("messages are UTF-8")
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Notification> for Message {
    fn from(notification: Notification) -> Self {
        Self::Notification(notification)
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

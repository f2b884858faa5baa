//! The meaning of the head of a response. A value: no I/O.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};

/// The kind of body that follows a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// One JSON text.
    Json,
    /// A stream of events.
    Events,
    /// Anything else.
    Other,
}

impl Content {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/json") {
            Self::Json
        } else if kind.eq_ignore_ascii_case("text/event-stream") {
            Self::Events
        } else {
            Self::Other
        }
    }
}

/// The reaction to the head of the response to a GET that resumes a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// The stream continues.
    Continues,
    /// A later attempt can succeed.
    Later,
    /// No attempt can succeed.
    Never,
}

impl Resumed {
    pub(crate) fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        match status {
            StatusCode::OK if Content::of(headers) == Content::Events => Self::Continues,
            // A conflict lasts until the server notices that the earlier connection is gone.
            StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => Self::Later,
            StatusCode::NOT_IMPLEMENTED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => Self::Never,
            _ if status.is_server_error() => Self::Later,
            _ => Self::Never,
        }
    }
}

/// True if a server that speaks the transport of 2024-11-05 alone may reply to `initialize` with this status (MCP
/// 2025-03-26, basic/transports, backwards compatibility).
pub(crate) fn may_be_old(status: StatusCode) -> bool {
    [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED].contains(&status)
}

/// True if a server may reply with this status to a request in a session that it does not know any longer. MCP 2025-11-25,
/// basic/transports, session management, has 404; some servers have one of the others.
pub(crate) fn may_mean_lost_session(status: StatusCode) -> bool {
    [StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST, StatusCode::GONE].contains(&status)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(kind: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))])
    }

    #[test]
    fn a_type_is_read_without_its_parameters() {
        for (kind, content) in [
            ("application/json", Content::Json),
            ("Application/JSON; charset=utf-8", Content::Json),
            ("text/event-stream;charset=utf-8", Content::Events),
            ("application/jsonl", Content::Other),
            ("text/html", Content::Other),
            ("", Content::Other),
        ] {
            assert_eq!(Content::of(&headers(kind)), content, "{kind}");
        }
        assert_eq!(Content::of(&HeaderMap::new()), Content::Other);
    }

    #[test]
    fn a_stream_is_resumed_later_unless_that_is_hopeless() {
        for (status, kind, resumed) in [
            (200, "text/event-stream", Resumed::Continues),
            (200, "application/json", Resumed::Never),
            (204, "", Resumed::Never),
            (302, "", Resumed::Never),
            (400, "application/json", Resumed::Never),
            (401, "", Resumed::Never),
            (404, "", Resumed::Never),
            (405, "", Resumed::Never),
            (408, "", Resumed::Later),
            (409, "", Resumed::Later),
            (429, "", Resumed::Later),
            (500, "", Resumed::Later),
            (501, "", Resumed::Never),
            (502, "", Resumed::Later),
            (503, "application/json", Resumed::Later),
        ] {
            assert_eq!(Resumed::of(StatusCode::from_u16(status).unwrap(), &headers(kind)), resumed, "{status} {kind}");
        }
    }
}

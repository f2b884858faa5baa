//! The handshake of a server: RFC 6455, section 4.2, and RFC 8441 over HTTP/2.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use hyper::ext::Protocol;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::SUBPROTOCOL;

/// The name of the protocol.
const WEBSOCKET: &str = "websocket";

/// True if a request asks for WebSocket.
pub(crate) fn is_meant(head: &Parts) -> bool {
    is_extended_connect(head) || has_token(&head.headers, &header::UPGRADE, WEBSOCKET)
}

fn is_extended_connect(head: &Parts) -> bool {
    let protocol = head.extensions.get::<Protocol>().map(Protocol::as_str);
    head.method == Method::CONNECT && protocol.is_some_and(|name| name.eq_ignore_ascii_case(WEBSOCKET))
}

/// A handshake that is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) why: &'static str,
}

impl Refused {
    const fn new(status: StatusCode, why: &'static str) -> Self {
        Self { status, why }
    }

    const fn bad(why: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }
}

/// The response to a handshake that has passed the checks of the server. `is_listed`: the page of the request was allowed
/// by name.
pub(crate) fn respond(head: &Parts, is_listed: bool) -> Result<Response<()>, Refused> {
    check_page(head, is_listed)?;
    let headers = &head.headers;
    if single(headers, &header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(Refused::new(StatusCode::UPGRADE_REQUIRED, "the version of WebSocket must be 13"));
    }
    let offers = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let has_offer = offers.iter().next().is_some();
    if has_offer && !has_token(headers, &header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL) {
        return Err(Refused::bad("the subprotocol of WebSocket must be proto-mcp.v1, or none"));
    }
    let mut response = Response::new(());
    if is_extended_connect(head) {
        *response.status_mut() = StatusCode::OK;
    } else {
        if head.method != Method::GET {
            return Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "the handshake of WebSocket is a GET"));
        }
        if !has_token(headers, &header::CONNECTION, "upgrade") {
            return Err(Refused::bad("the header Connection must be Upgrade"));
        }
        let key = single(headers, &header::SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
        let key = key.filter(|key| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16));
        let key = key.ok_or(Refused::bad("Sec-WebSocket-Key must be 16 bytes in base64"))?;
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let accept = HeaderValue::try_from(derive_accept_key(key)).expect("base64 is a value of a header");
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static(WEBSOCKET));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if has_offer {
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    }
    Ok(response)
}

/// A browser shows all messages of a connection to the page that opens it, whatever its origin (RFC 6455, section
/// 10.2). So pages of other origins have to be listed, the pages of the local machine included.
fn check_page(head: &Parts, is_listed: bool) -> Result<(), Refused> {
    let Some(origin) = head.headers.get(header::ORIGIN) else { return Ok(()) };
    let own = head.headers.get(header::HOST).map(HeaderValue::as_bytes);
    let own = own.or_else(|| head.uri.authority().map(|authority| authority.as_str().as_bytes()));
    let page = origin.as_bytes();
    let page = page.strip_prefix(b"http://").or_else(|| page.strip_prefix(b"https://"));
    let is_own = page.zip(own).is_some_and(|(page, own)| page.eq_ignore_ascii_case(own));
    if is_listed || is_own {
        return Ok(());
    }
    Err(Refused::new(StatusCode::FORBIDDEN, "pages of other origins may use WebSocket only if their origin is allowed"))
}

/// True if one of the values of a header that is a list has this token.
fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(token))
}

/// The value of a header that may be there once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// A handshake with these headers in place of the usual ones; without a value the header is left out.
    fn head(changes: &[(&'static str, &'static str)]) -> Parts {
        let (mut head, ()) = Request::get("/mcp").body(()).unwrap().into_parts();
        for (name, value) in [
            ("host", "localhost:8080"),
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
            // The example of RFC 6455, section 1.3.
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ] {
            head.headers.insert(name, HeaderValue::from_static(value));
        }
        for (name, value) in changes {
            if value.is_empty() {
                head.headers.remove(*name);
            } else {
                head.headers.insert(*name, HeaderValue::from_static(value));
            }
        }
        head
    }

    #[test]
    fn a_handshake_is_answered_as_the_rfc_says() {
        let response = respond(&head(&[]), false).unwrap();
        assert_eq!(response.status(), 101);
        assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(
            (&response.headers()["upgrade"], &response.headers()["connection"]),
            (&"websocket".parse().unwrap(), &"Upgrade".parse().unwrap())
        );
        assert!(!response.headers().contains_key("sec-websocket-protocol"));
        let response = respond(&head(&[("sec-websocket-protocol", "chat, proto-mcp.v1")]), false).unwrap();
        assert_eq!(response.headers()["sec-websocket-protocol"], SUBPROTOCOL);
    }

    #[test]
    fn over_http_2_the_response_is_an_ordinary_one() {
        let mut head = head(&[("connection", ""), ("upgrade", ""), ("sec-websocket-key", "")]);
        head.method = Method::CONNECT;
        assert!(!is_meant(&head));
        head.extensions.insert(Protocol::from_static("websocket"));
        assert!(is_meant(&head));
        let response = respond(&head, false).unwrap();
        assert_eq!((response.status(), response.headers().len()), (StatusCode::OK, 0));
    }

    #[test]
    fn wrong_handshakes_are_refused() {
        for (changes, status) in [
            (&[("sec-websocket-version", "8")][..], 426),
            (&[("sec-websocket-version", "")], 426),
            (&[("connection", "close")], 400),
            (&[("sec-websocket-key", "")], 400),
            (&[("sec-websocket-key", "c2hvcnQ=")], 400),
            (&[("sec-websocket-key", "not base64 of 16 bytes!!")], 400),
            (&[("sec-websocket-protocol", "chat")], 400),
        ] {
            assert_eq!(respond(&head(changes), false).unwrap_err().status, status, "{changes:?}");
        }
        let mut post = head(&[]);
        post.method = Method::POST;
        assert_eq!(respond(&post, false).unwrap_err().status, 405);
    }

    #[test]
    fn pages_of_other_origins_need_to_be_listed() {
        for (origin, is_listed, is_allowed) in [
            ("http://localhost:8080", false, true),
            ("https://LOCALHOST:8080", false, true),
            ("http://localhost:3000", false, false),
            ("http://localhost", false, false),
            ("http://localhost:3000", true, true),
            ("null", false, false),
            ("localhost:8080", false, false),
        ] {
            let head = head(&[("origin", origin)]);
            assert_eq!(respond(&head, is_listed).is_ok(), is_allowed, "{origin} {is_listed}");
        }
    }

    #[test]
    fn only_requests_for_websocket_are_meant() {
        assert!(is_meant(&head(&[])));
        assert!(is_meant(&head(&[("upgrade", "h2c, websocket")])));
        assert!(!is_meant(&head(&[("upgrade", "")])));
        assert!(!is_meant(&head(&[("upgrade", "h2c")])));
    }
}

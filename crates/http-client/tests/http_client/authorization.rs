//! The requests of an OAuth client.

use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method};
use protomcp_http_client::HttpTransport;
use protomcp_oauth::{HttpExchange, HttpRequest, MAX_DOCUMENT, Url};

use super::script::{Script, response};

fn request(method: Method, url: &str, body: &str) -> HttpRequest {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))]);
    HttpRequest { method, url: Url::parse(url).unwrap(), headers, body: body.to_owned() }
}

#[tokio::test]
async fn a_request_has_the_proxy_of_the_transport() {
    let proxy = Script::new(|_| response(400, "", "")).await;
    let url = format!("http://ann:s3cret@{}", proxy.address);
    let http = HttpTransport::new("https://tools.example/mcp").unwrap().proxy(&url).unwrap().authorization();
    http.send(request(Method::GET, "https://login.example/x", "")).await.unwrap_err();
    let tunnel = &proxy.requests()[0];
    assert_eq!((tunnel.method.as_str(), tunnel.path.as_str()), ("CONNECT", "login.example:443"));
    assert_eq!(tunnel.headers["proxy-authorization"], "Basic YW5uOnMzY3JldA==");
    // Secrets for this machine do not leave it in clear text.
    let server = Script::new(|_| response(400, "dpop-nonce: n\r\n", "{\"error\":\"use_dpop_nonce\"}")).await;
    let token = format!("http://{}/token", server.address);
    let answer = http.send(request(Method::POST, &token, "grant_type=x")).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.headers["dpop-nonce"]), (400, &HeaderValue::from_static("n")));
    assert_eq!(answer.body, b"{\"error\":\"use_dpop_nonce\"}");
    let seen = &server.requests()[0];
    assert_eq!((seen.method.as_str(), seen.path.as_str(), seen.body.as_str()), ("POST", "/token", "grant_type=x"));
    assert_eq!(seen.headers["content-type"], "application/x-www-form-urlencoded");
    assert!(!seen.headers.contains_key("proxy-authorization"));
    assert_eq!(proxy.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_a_long_body_is_cut() {
    let server = Script::new(|request| match request.path.as_str() {
        "/moved" => response(307, "location: /long\r\n", ""),
        _ => response(200, "", &"x".repeat(3 * MAX_DOCUMENT)),
    })
    .await;
    let http = HttpTransport::new(&server.url()).unwrap().without_proxy().authorization();
    let url = |path: &str| format!("http://{}{path}", server.address);
    let moved = http.send(request(Method::GET, &url("/moved"), "")).await.unwrap();
    assert_eq!((moved.status.as_u16(), &moved.headers[LOCATION]), (307, &HeaderValue::from_static("/long")));
    assert_eq!(server.requests().len(), 1);
    let long = http.send(request(Method::GET, &url("/long"), "")).await.unwrap();
    assert_eq!(long.body.len(), MAX_DOCUMENT + 1);
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn the_certificates_of_the_transport_are_trusted() {
    use protomcp_http_client::Tls;

    let (_server, url, certificate) = super::tls::server().await;
    let get = || request(Method::GET, &url, "");
    let transport = || HttpTransport::new(&url).unwrap();
    let error = transport().authorization().send(get()).await.unwrap_err();
    assert!(error.0.contains("certificate"), "{error}");
    let tls = Tls::default().trust_pem(&certificate).unwrap();
    let answer = transport().tls(tls).authorization().send(get()).await.unwrap();
    assert!(answer.status.is_client_error(), "{answer:?}");
}

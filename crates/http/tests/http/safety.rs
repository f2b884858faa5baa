//! Access: host names, origins, secrets.

use protomcp_http::{Config, Credential};

use super::client::{Host, full, initialize};
use super::handler::Stage;

async fn status(host: &Host) -> u16 {
    host.post(&initialize("2025-11-25", "{}")).await.status
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let stage = Stage::local().await;
    let own = format!("http://{}", stage.host.address);
    for (host, origin, expected) in [
        ("", "", None),
        ("", own.as_str(), None),
        ("", "http://localhost:5173", None),
        ("", "http://evil.example.com", Some(r#"origin \"http://evil.example.com\" is not allowed"#)),
        ("", "null", Some("only pages of http and https")),
        ("evil.example.com", "", Some(r#"host \"evil.example.com\" is not allowed"#)),
        ("evil.example.com", "http://evil.example.com", Some(r#"host \"evil.example.com\" is not allowed"#)),
    ] {
        let mut client = stage.host.clone();
        if !host.is_empty() {
            client = client.with("host", host);
        }
        if !origin.is_empty() {
            client = client.with("origin", origin);
        }
        for method in ["POST", "GET", "DELETE", "OPTIONS"] {
            let answer = client.send(method, &full(&initialize("2025-11-25", "{}"))).await;
            assert_eq!(answer.status == 403, expected.is_some(), "{method} {host} {origin}");
            assert!(!answer.headers.contains_key("access-control-allow-origin"));
            if let (403, Some(reason)) = (answer.status, expected) {
                let text = answer.text().await;
                assert!(text.contains(reason), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn an_allowed_page_may_preflight_and_read_responses() {
    let app = "https://app.example.com";
    let stage = Stage::new(Config::default().allow_origin(app).require(Credential::token("t"))).await;
    let page = stage.host.with("origin", app);
    let wish = "content-type, Authorization, mcp-session-id, mcp-param-region, x-evil";
    let asked = page
        .with("access-control-request-method", "POST")
        .with("access-control-request-headers", wish)
        .send("OPTIONS", "")
        .await;
    assert_eq!((asked.status, asked.headers["access-control-allow-origin"].as_str()), (204, app));
    assert_eq!(asked.headers["access-control-allow-methods"], "GET, POST, DELETE");
    assert_eq!(
        asked.headers["access-control-allow-headers"],
        "content-type, authorization, mcp-session-id, mcp-param-region"
    );
    let refused = page.post(&initialize("2025-11-25", "{}")).await;
    assert_eq!((refused.status, refused.headers["access-control-allow-origin"].as_str()), (401, app));
    let answer = page.with("authorization", "Bearer t").post(&initialize("2025-11-25", "{}")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.headers["access-control-expose-headers"].contains("mcp-session-id"));
    assert_eq!(answer.headers["vary"], "origin");
    assert!(!stage.host.send("OPTIONS", "").await.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn every_request_needs_the_secrets() {
    let config = Config::default().require(Credential::token("t0ken")).require(Credential::api_key("k3y"));
    let stage = Stage::new(config).await;
    let (token, key) = (("authorization", "Bearer t0ken"), ("x-api-key", "k3y"));
    let with = |headers: &[(&str, &str)]| {
        headers.iter().fold(stage.host.clone(), |host, (name, value)| host.with(name, value))
    };
    for headers in [&[][..], &[token], &[key], &[("authorization", "Bearer wrong"), key], &[token, ("x-api-key", "k3")]]
    {
        for method in ["POST", "GET", "DELETE"] {
            let answer = with(headers).send(method, &full(&initialize("2025-11-25", "{}"))).await;
            assert_eq!(answer.status, 401, "{method} {headers:?}");
            let challenge = &answer.headers["www-authenticate"];
            let expected = if headers.contains(&token) { "ApiKey" } else { "Bearer" };
            assert!(challenge.starts_with(expected), "{challenge}");
            assert!(answer.text().await.contains("unauthorized"));
        }
    }
    let host = with(&[token, key]).hello("2025-11-25").await;
    assert_eq!(host.say(r#"{"id":1,"method":"ping"}"#).await.0, 200);
    // The id of a session grants nothing by itself.
    let mut thief = host.clone();
    thief.headers.retain(|(name, _)| name != "authorization");
    assert_eq!(status(&thief).await, 401);
    // A token in the query is ignored.
    assert_eq!(stage.host.at("/mcp?access_token=t0ken&token=t0ken").get().await.status, 401);
}

#[tokio::test]
async fn other_names_are_served_when_they_are_allowed() {
    let stage = Stage::new(Config::default().allow_host("tools.example.com")).await;
    assert_eq!(status(&stage.host.with("host", "tools.example.com:8080")).await, 200);
    assert_eq!(status(&stage.host.with("host", "tools.example.org")).await, 403);
}

#[tokio::test]
async fn probes_need_no_secrets_and_are_off_by_default() {
    let stage = Stage::with_probes(Config::default().require(Credential::token("t"))).await;
    let probe = stage.host.with("host", "10.0.0.7");
    assert_eq!(probe.at("/healthz").get().await.status, 200);
    assert_eq!(probe.at("/readyz").get().await.status, 503);
    stage.readiness.set_ready();
    assert_eq!(probe.at("/readyz").get().await.status, 200);
    // No new request begins from here on, so balancers should send none.
    stage.sessions.shutdown();
    assert_eq!((probe.at("/readyz").get().await.status, probe.at("/healthz").get().await.status), (503, 200));
    let stage = Stage::local().await;
    assert_eq!(stage.host.at("/healthz").get().await.status, 404);
}

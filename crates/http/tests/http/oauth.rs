//! Tokens: authentication, scopes, and the sessions of their users.

use std::time::{Duration, UNIX_EPOCH};

use protomcp_auth::{Identity, ResourceServer, Scopes, TokenError, Verifier};
use protomcp_http::{Config, Credential};
use serde_json::{Value, json};

use super::client::{Answer, Host, call, done, full, initialize};
use super::eras::tool;
use super::handler::Stage;

const METADATA: &str = "/.well-known/oauth-protected-resource";

/// Accepts tokens such as `ann.use.deploy`: a user and scopes. With `~` and a number behind it the token expires this
/// many milliseconds after 1970; requests are admitted with it after that time too, so that only open streams can end
/// with it.
pub(crate) struct Plain;

impl Verifier for Plain {
    async fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        let (token, end) = token.split_once('~').map_or((token, None), |(token, end)| (token, end.parse().ok()));
        let (user, scopes) = token.split_once('.').ok_or(TokenError::Invalid("the token is not active"))?;
        if user == "away" {
            return Err(TokenError::Unavailable("no answer".to_owned()));
        }
        let claims = json!({"sub": user, "scope": scopes.replace('.', " ")});
        let end = end.map(|end| UNIX_EPOCH + Duration::from_millis(end));
        Ok(Identity::of(claims.as_object().unwrap().clone(), None, end).unwrap())
    }
}

pub(crate) fn config() -> Config {
    let scopes = |text: &str| text.parse::<Scopes>().unwrap();
    let server = ResourceServer::new("https://tools.example.com/mcp", "https://login.example.com", Plain)
        .unwrap()
        .require(&scopes("use"))
        .supported(&scopes("deploy"))
        .scopes_for(move |operation| match (operation.method, operation.name) {
            ("tools/call", Some("echo deploy")) => scopes("deploy"),
            ("resources/read", Some("skill://deploy/SKILL.md" | "skill://deploy")) => scopes("deploy"),
            _ => Scopes::default(),
        });
    Config::default().protect(server)
}

pub(crate) async fn stage() -> Stage {
    Stage::new(config()).await
}

pub(crate) fn bearer(host: &Host, token: &str) -> Host {
    host.with("authorization", &format!("Bearer {token}"))
}

fn challenge(answer: &Answer) -> &str {
    answer.headers.get("www-authenticate").map_or("", String::as_str)
}

#[tokio::test]
async fn every_request_needs_a_token() {
    let stage = stage().await;
    let url = "resource_metadata=\"https://tools.example.com/.well-known/oauth-protected-resource/mcp\"";
    for method in ["POST", "GET", "DELETE"] {
        let none = stage.host.send(method, &full(&initialize("2025-11-25", "{}"))).await;
        assert_eq!((none.status, challenge(&none)), (401, format!("Bearer scope=\"use\", {url}").as_str()));
        for (value, status, error) in [
            ("Bearer nonsense", 401, "error=\"invalid_token\""),
            ("Bearer a b", 400, "error=\"invalid_request\""),
            ("Bearer ann.other", 403, "error=\"insufficient_scope\""),
            ("Basic YTpi", 401, "Bearer scope="),
        ] {
            let host = stage.host.with("authorization", value);
            let answer = host.send(method, &full(&initialize("2025-11-25", "{}"))).await;
            assert_eq!(answer.status, status, "{method} {value}");
            assert!(challenge(&answer).contains(error) && challenge(&answer).contains(url), "{}", challenge(&answer));
        }
        let away = bearer(&stage.host, "away.use").send(method, "{}").await;
        assert_eq!((away.status, challenge(&away)), (503, ""));
        assert_eq!(away.headers.get("retry-after").map(String::as_str), Some("5"));
    }
    assert_eq!(stage.service.sessions(), 0);
    let ann = bearer(&stage.host, "ann.use").hello("2025-11-25").await;
    assert_eq!(ann.say(&call(1, "echo x")).await, (200, done(1, "x")));
    let again = ann.with("authorization", "");
    assert_eq!(again.post(&call(2, "echo x")).await.status, 401, "the session alone opens nothing");
}

#[tokio::test]
async fn a_token_in_the_query_is_none() {
    let stage = stage().await;
    for query in ["?access_token=ann.use", "?token=ann.use", "?authorization=Bearer%20ann.use"] {
        let answer = stage.host.at(&format!("/mcp{query}")).post(&initialize("2025-11-25", "{}")).await;
        assert_eq!(answer.status, 401, "{query}");
        assert!(!challenge(&answer).contains("error"), "{query}");
    }
}

#[tokio::test]
async fn the_oauth_metadata_needs_no_token() {
    let stage = Stage::new(config().allow_origin("https://app.example.com")).await;
    for path in [METADATA.to_owned(), format!("{METADATA}/mcp")] {
        let host = stage.host.at(&path);
        let answer = host.get().await;
        assert_eq!((answer.status, answer.kind()), (200, "application/json"));
        let document: Value = serde_json::from_str(&answer.text().await).unwrap();
        assert_eq!(document["resource"], "https://tools.example.com/mcp");
        assert_eq!(document["authorization_servers"], json!(["https://login.example.com"]));
        assert_eq!(document["scopes_supported"], json!(["deploy", "use"]));
        assert_eq!(host.send("POST", "{}").await.status, 405);
        assert_eq!(host.with("host", "evil.example.com").get().await.status, 403);
        let page = host.with("origin", "https://app.example.com");
        assert!(page.get().await.headers.contains_key("access-control-allow-origin"));
        assert_eq!(page.send("OPTIONS", "").await.status, 204);
    }
    assert_eq!(stage.host.at(&format!("{METADATA}/other")).get().await.status, 404);
    let open = Stage::local().await;
    assert_eq!(open.host.at(METADATA).get().await.status, 404);
}

#[tokio::test]
async fn a_session_belongs_to_the_user_who_began_it() {
    let stage = stage().await;
    let ann = bearer(&stage.host, "ann.use").hello("2025-11-25").await;
    let eve = bearer(&ann, "eve.use");
    for method in ["POST", "GET", "DELETE"] {
        let answer = eve.send(method, &full(&call(1, "echo x"))).await;
        assert_eq!(answer.status, 404, "{method}");
    }
    // Another token of the same user is accepted.
    let renewed = bearer(&ann, "ann.use.more");
    assert_eq!(renewed.say(&call(1, "echo x")).await, (200, done(1, "x")));
    assert_eq!(renewed.send("DELETE", "").await.status, 204);
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_names_them() {
    let stage = Stage::new(config().with_legacy_sse()).await;
    let ann = bearer(&stage.host, "ann.use").hello("2025-03-26").await;
    let batch = format!("[{},{}]", full(&call(1, "echo x")), full(&call(7, "echo deploy")));
    let modern = bearer(&stage.host, "ann.use")
        .with("mcp-protocol-version", "2026-07-28")
        .with("mcp-method", "tools/call")
        .with("mcp-name", "echo deploy");
    let mut old = bearer(&stage.host.at("/sse"), "ann.use").get().await;
    let query = old.event().await.unwrap().data;
    let old_host = bearer(&stage.host.at(&format!("/sse{query}")), "ann.use");
    for (host, body) in [
        (&ann, full(&call(7, "echo deploy"))),
        (&ann, batch),
        (&modern, full(&tool("echo deploy", ""))),
        (&old_host, full(&call(7, "echo deploy"))),
    ] {
        let answer = host.send("POST", &body).await;
        assert_eq!(answer.status, 403, "{body}");
        let challenge = challenge(&answer);
        assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
        assert!(challenge.contains("scope=\"deploy use\""), "{challenge}");
        let error: Value = serde_json::from_str(&answer.text().await).unwrap();
        assert!(error["id"].is_number() && error["error"]["message"].is_string(), "{error}");
        let better = bearer(host, "ann.use.deploy").send("POST", &body).await;
        assert!((200..300).contains(&better.status), "{} {body}", better.status);
    }
    assert_eq!(ann.say(&call(2, "echo x")).await, (200, done(2, "x")));
}

#[tokio::test]
async fn skills_and_folders_need_the_scopes_of_their_resources() {
    let stage = stage().await;
    let ann = bearer(&stage.host, "ann.use").hello("2025-11-25").await;
    for (method, uri, status) in [
        ("resources/read", "skill://deploy/SKILL.md", 403),
        ("skills/get", "skill://deploy/SKILL.md", 403),
        ("resources/directory/read", "skill://deploy", 403),
        ("skills/get", "skill://other/SKILL.md", 200),
        ("skills/list", "skill://deploy/SKILL.md", 200),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"uri": uri}});
        let answer = ann.send("POST", &body.to_string()).await;
        assert_eq!(answer.status, status, "{method} {uri}");
        assert_eq!(challenge(&answer).contains("scope=\"deploy use\""), status == 403, "{method} {uri}");
    }
}

#[tokio::test]
async fn with_secrets_either_is_enough() {
    let stage = Stage::new(config().require(Credential::token("s3cret")).require(Credential::api_key("k3y"))).await;
    let hello = initialize("2025-11-25", "{}");
    let secret = bearer(&stage.host, "s3cret").with("x-api-key", "k3y");
    let half = bearer(&stage.host, "s3cret").post(&hello).await;
    assert_eq!(half.status, 401);
    assert!(challenge(&half).contains("resource_metadata="));
    let script = secret.hello("2025-11-25").await;
    assert_eq!(script.say(&call(1, "echo deploy")).await, (200, done(1, "deploy")), "secrets have no scopes");
    let ann = bearer(&stage.host, "ann.use").hello("2025-11-25").await;
    // Neither can use the session of the other.
    let key = |host: &Host| host.headers.iter().find(|(name, _)| name == "mcp-session-id").unwrap().1.clone();
    assert_eq!(
        bearer(&stage.host, "ann.use").with("mcp-session-id", &key(&script)).post(&call(2, "echo x")).await.status,
        404
    );
    assert_eq!(secret.with("mcp-session-id", &key(&ann)).post(&call(2, "echo x")).await.status, 404);
}

#[tokio::test]
async fn a_parked_call_resumes_for_its_own_user_only() {
    let stage = stage().await;
    let capabilities = r#","io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;
    let ask = tool("roots", "").replace(r#","io.modelcontextprotocol/clientCapabilities":{}"#, capabilities);
    let host = |token| {
        bearer(&stage.host, token)
            .with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", "tools/call")
            .with("mcp-name", "roots")
    };
    let (status, text) = host("ann.use").say(&ask).await;
    assert_eq!(status, 200, "{text}");
    let parked: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(parked["result"]["resultType"], "input_required", "{text}");
    let key = parked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answer = json!({"inputResponses": {key: {"roots": []}}, "requestState": parked["result"]["requestState"]});
    let mut retry: Value = serde_json::from_str(&full(&ask)).unwrap();
    retry["params"].as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    let (status, text) = host("eve.use").say(&retry.to_string()).await;
    assert!(status == 400 && text.contains("error"), "{status} {text}");
    let (status, text) = host("ann.use.more").say(&retry.to_string()).await;
    assert!(status == 200 && text.contains("0 roots"), "{status} {text}");
}

#[tokio::test]
async fn a_tool_sees_its_caller_and_the_scopes() {
    let stage = stage().await;
    let modern =
        stage.host.with("mcp-protocol-version", "2026-07-28").with("mcp-method", "tools/call").with("mcp-name", "who");
    let mut all = Vec::new();
    for version in ["2025-03-26", "2025-11-25", "2026-07-28"] {
        let ann = match version {
            "2026-07-28" => bearer(&modern, "ann.use"),
            version => bearer(&stage.host, "ann.use").hello(version).await,
        };
        let bob = match version {
            "2026-07-28" => bearer(&modern, "bob.use.deploy"),
            version => bearer(&stage.host, "bob.use.deploy").hello(version).await,
        };
        let body = |id: u64| if version == "2026-07-28" { tool("who", "") } else { call(id, "who") };
        // The token of the request counts, not the token of the handshake.
        for (host, id, expected) in [
            (ann.clone(), 1, "ann may use"),
            (bob, 1, "bob may deploy use"),
            (bearer(&ann, "ann.more.use"), 2, "ann may more use"),
        ] {
            let body = body(id);
            all.push((version, expected, tokio::spawn(async move { host.say(&body).await })));
            stage.tools.begun().await;
        }
    }
    stage.tools.go.notify_waiters();
    for (version, expected, answer) in all {
        let (status, text) = answer.await.unwrap();
        assert!(status == 200 && text.contains(&format!("\"{expected}\"")), "{version} {expected}: {text}");
    }
    let secret = Stage::new(config().require(Credential::token("s3cret"))).await;
    let script = bearer(&secret.host, "s3cret").hello("2025-11-25").await;
    secret.tools.go.notify_one();
    assert_eq!(script.say(&call(1, "who")).await, (200, done(1, "no token")));
}

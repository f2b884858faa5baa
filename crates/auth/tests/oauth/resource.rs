//! The metadata of a resource server, and its decisions.

use http::header::AUTHORIZATION;
use http::{HeaderMap, Request};
use protomcp_auth::{
    HttpClient, Identity, JwtVerifier, KeySource, Operation, PeerKey, ResourceServer, Scopes, TokenError, TokenPolicy,
    Url, Verifier,
};
use serde_json::json;

use super::issuer::{Issuer, Key, RESOURCE};

struct Nobody(TokenError);

impl Verifier for Nobody {
    async fn verify(&self, _: &str) -> Result<Identity, TokenError> {
        Err(self.0.clone())
    }
}

fn closed(resource: &str) -> ResourceServer {
    ResourceServer::new(resource, "https://login.example.com", Nobody(TokenError::Invalid("no"))).unwrap()
}

fn scopes(text: &str) -> Scopes {
    text.parse().unwrap()
}

fn bearer(token: &str) -> HeaderMap {
    [(AUTHORIZATION, format!("Bearer {token}").parse().unwrap())].into_iter().collect()
}

#[test]
fn a_server_describes_itself_at_its_own_path_and_at_the_root() {
    let base = "/.well-known/oauth-protected-resource";
    for (resource, suffix) in
        [("https://rs.example.com", ""), ("https://rs.example.com/mcp", "/mcp"), ("http://localhost:1/a/b/", "/a/b")]
    {
        let server = closed(resource);
        assert_eq!(server.metadata_path(), format!("{base}{suffix}"));
        for path in [format!("{base}{suffix}"), base.to_owned(), format!("{base}/")] {
            let is_slash_alone = path.ends_with('/') && !suffix.is_empty();
            assert_eq!(server.metadata(&path).is_some(), !is_slash_alone, "{resource} {path}");
        }
        for path in ["/mcp", "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/other"] {
            assert!(server.metadata(path).is_none(), "{path}");
        }
    }
    let server = closed(RESOURCE).require(&scopes("use")).supported(&scopes("deploy")).name("Tools");
    assert_eq!(
        server.metadata(base).unwrap(),
        json!({
            "resource": RESOURCE,
            "authorization_servers": ["https://login.example.com"],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["deploy", "use"],
            "resource_name": "Tools",
        })
    );
}

#[tokio::test]
async fn a_request_without_a_valid_token_gets_a_challenge() {
    let server = closed(RESOURCE).require(&scopes("use"));
    let metadata = "resource_metadata=\"https://tools.example.com/.well-known/oauth-protected-resource/mcp\"";
    let twice = {
        let mut headers = bearer("a");
        headers.append(AUTHORIZATION, "Bearer a".parse().unwrap());
        headers
    };
    for (headers, status, error) in [
        (HeaderMap::new(), 401, None),
        (bearer("a"), 401, Some("invalid_token")),
        (bearer("a b"), 400, Some("invalid_request")),
        (twice, 400, Some("invalid_request")),
    ] {
        let rejection = server.authenticate(&headers, PeerKey::default()).await.unwrap_err();
        let challenge = rejection.challenge.unwrap();
        let challenge = challenge.to_str().unwrap();
        assert_eq!(rejection.status.as_u16(), status);
        assert!(challenge.starts_with("Bearer ") && challenge.contains(metadata), "{challenge}");
        assert!(challenge.contains("scope=\"use\""), "{challenge}");
        let given = challenge.split_once("error=\"").and_then(|(_, rest)| rest.split('"').next());
        assert_eq!(given, error, "{challenge}");
    }
}

#[tokio::test]
async fn a_token_that_cannot_be_checked_is_rejected_with_503() {
    let verifier = Nobody(TokenError::Unavailable("the issuer is away".to_owned()));
    let server = ResourceServer::new(RESOURCE, "https://login.example.com", verifier).unwrap();
    let rejection = server.authenticate(&bearer("a"), PeerKey::default()).await.unwrap_err();
    assert_eq!((rejection.status.as_u16(), rejection.challenge), (503, None));
    assert!(!rejection.why.contains("away"), "the reason is for the log");
}

#[tokio::test]
async fn operations_need_their_scopes() {
    let (issuer, key) = (Issuer::start().await, Key::new("1"));
    issuer.shows(&[&key]);
    let source = KeySource::Issuer(Url::parse(&issuer.url).unwrap());
    let verifier = JwtVerifier::new(TokenPolicy::new(&issuer.url, RESOURCE), source, HttpClient::default());
    let server =
        ResourceServer::new(RESOURCE, &issuer.url, verifier).unwrap().require(&scopes("use")).scopes_for(|operation| {
            match (operation.method, operation.name) {
                ("tools/call", Some("deploy")) => scopes("deploy audit"),
                _ => Scopes::default(),
            }
        });
    let (parts, ()) = Request::new(()).into_parts();
    for (scope, admitted, may_deploy) in [
        ("", false, false),
        ("deploy", false, false),
        ("use", true, false),
        ("use deploy", true, false),
        ("audit deploy use", true, true),
    ] {
        let outcome = server.authenticate(&bearer(&key.token(&issuer.url, "ann", scope)), PeerKey::default()).await;
        assert_eq!(outcome.is_ok(), admitted, "{scope}");
        let identity = match outcome {
            Ok(identity) => identity,
            Err(rejection) => {
                assert_eq!(rejection.status.as_u16(), 403);
                assert!(rejection.challenge.unwrap().to_str().unwrap().contains("scope=\"use\""));
                continue;
            }
        };
        let needed = |tool| server.needed(&Operation::new("tools/call", Some(tool), &parts));
        assert!(server.authorize(&identity, &needed("echo")).is_ok());
        match server.authorize(&identity, &needed("deploy")) {
            Ok(()) => assert!(may_deploy, "{scope}"),
            Err(rejection) => {
                assert!(!may_deploy, "{scope}");
                let challenge = rejection.challenge.unwrap();
                let challenge = challenge.to_str().unwrap();
                assert_eq!(rejection.status.as_u16(), 403);
                assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
                assert!(challenge.contains("scope=\"audit deploy use\""), "{challenge}");
            }
        }
    }
}

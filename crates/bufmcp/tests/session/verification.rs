//! Tokens that are verified outside of the conversation.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_bufmcp::message::Payload;
use protomcp_bufmcp::{
    Authorization, BinaryCall, BinaryInbound, BinaryRequest, Fault, Grant, Permission, SessionConfig, TokenVerifier,
    Tokens, Verifying,
};
use protomcp_server::Extensions;

use super::table::{Table, call, config, initialize, tools};

/// Tokens that this test verifies.
struct Elsewhere;

impl TokenVerifier for Elsewhere {
    fn verify(&self, _: Authorization, _: Option<IpAddr>) -> Verifying {
        unreachable!("a session verifies nothing itself")
    }
}

fn bearer(token: &str) -> BTreeMap<String, String> {
    [("Authorization".to_owned(), format!("Bearer {token}"))].into()
}

fn grant(principal: &str, valid_until: Option<Instant>) -> Grant {
    let permission = Permission::new(|method, name| match (method, name) {
        ("tools/call", Some("t")) | ("tools/list", None) => Ok(()),
        _ => Err(Fault::new(-32011, "another scope")),
    });
    let known = Extensions::default().with(Arc::new(principal.to_owned()));
    Grant { principal: principal.into(), permission: Some(permission), valid_until, known }
}

impl Table {
    /// The bearer of the token of a request.
    fn bearer(&self, id: u64) -> Option<&str> {
        self.session.known(id)?.find::<String>().map(String::as_str)
    }

    /// Sends a message with a token for the verifier, and its outcome.
    fn send_verified(&mut self, id: u64, payload: Payload, outcome: Result<Grant, Fault>) -> Option<BinaryInbound> {
        let Some(BinaryInbound::Verify(authorization)) = self.send(id, payload) else { panic!("not to be verified") };
        assert!(authorization.value().starts_with("Bearer ") && !format!("{authorization:?}").contains("Bearer"));
        assert!(!self.session.has_room());
        // The frame behind it has to wait.
        assert!(self.send(99, tools()).is_none() && self.answers().is_empty());
        self.session.verified(self.now, outcome)
    }
}

#[test]
fn tokens_of_an_issuer_are_verified_outside() {
    let tokens = Some(Arc::new(Tokens::new().with("fixed", "a")));
    let config = || SessionConfig { verifier: Some(Arc::new(Elsewhere)), tokens: tokens.clone(), ..config() };
    let with = |token: &str| call(|call| call.metadata = bearer(token));
    let mut table = Table::new(config());
    let end = table.now + Duration::from_secs(60);
    let first = initialize(|request| {
        request.metadata = bearer("x");
        request.metadata.insert("name".into(), "c".into());
    });
    let begun = table.send_verified(1, first, Ok(grant("ann", Some(end))));
    let Some(BinaryInbound::Initialized(agreement)) = begun else { panic!("refused") };
    assert_eq!(agreement.metadata.keys().collect::<Vec<_>>(), ["name"]);
    table.answers();
    // It holds for all requests that it permits, until its end.
    table.request(2, tools());
    table.request(3, call(|_| {}));
    assert_eq!(table.bearer(3), Some("ann"));
    assert!(table.send(4, call(|call| call.name = "other".into())).is_none());
    assert_eq!(table.failure().1.code, -32011);
    table.now = end;
    assert!(table.send(5, tools()).is_none());
    assert_eq!(table.refusal(), (5, -32010));
    // A later one takes its place, and has to be of the same principal.
    let later = table.send_verified(6, with("y"), Ok(grant("ann", None)));
    let Some(BinaryInbound::Request(BinaryRequest { call: BinaryCall::CallTool(seen), .. })) = later else { panic!() };
    assert!(seen.metadata.is_empty(), "the token does not reach the tool");
    // A call has the rights of its token, and the next one has the rights of the conversation again.
    let mut wider = grant("ann", None);
    wider.known = Extensions::default().with(Arc::new("ann with another scope".to_owned()));
    assert!(table.send_verified(16, with("wider"), Ok(wider)).is_some());
    table.request(17, call(|_| {}));
    assert_eq!((table.bearer(16), table.bearer(17)), (Some("ann with another scope"), Some("ann")));
    table.session.reply(table.now, 16, Err(Fault::new(-32603, "no matter")));
    table.answers();
    assert_eq!(table.bearer(16), None, "it has its answer");
    table.request(7, tools());
    assert!(table.send_verified(8, with("z"), Ok(grant("bob", None))).is_none());
    assert_eq!(table.failure().1.code, -32011);
    assert!(table.send_verified(9, with("z"), Err(Fault::new(-32010, "unknown"))).is_none());
    assert_eq!(table.failure().1.code, -32010);
    // A conversation without one, and tokens that the session knows itself.
    let mut table = Table::open(config());
    assert!(table.send(2, tools()).is_none());
    assert_eq!(table.refusal(), (2, -32010));
    table.request(3, with("a"));
    assert_eq!(table.session.principal().map(|name| &**name), Some("fixed"));
}

#[test]
fn a_message_that_waits_for_its_token_is_answered() {
    let mut table = Table::new(SessionConfig { verifier: Some(Arc::new(Elsewhere)), ..config() });
    assert!(table.send(1, initialize(|request| request.metadata = bearer("x"))).is_some());
    table.session.close_input(table.now);
    assert!(!table.session.is_closed());
    table.now += Duration::from_secs(3600);
    table.session.handle_timeout(table.now);
    assert_eq!(table.refusal(), (1, -32603));
    assert!(table.session.is_closed());
    assert!(table.session.verified(table.now, Ok(grant("ann", None))).is_none());
    assert!(table.answers().is_empty());
}

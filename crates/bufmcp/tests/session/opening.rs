//! The first request, and what it decides.

use std::sync::Arc;

use prost::Message as _;
use protomcp_bufmcp::message::{GetPromptRequest, ListChanged, ListToolsRequest, McpMessage, Payload};
use protomcp_bufmcp::{
    BinaryCall, BinaryInbound, Changes, Fault, Initialization, SessionConfig, Tokens, Version, Versions,
};

use super::table::{Table, call, config, initialize, opened, tools};

#[test]
fn a_conversation_begins_with_versions_and_capabilities() {
    let response = opened(config(), initialize(|_| {})).unwrap();
    let capabilities = response.capabilities.unwrap();
    assert_eq!(response.protocol_version, "1.0.0");
    assert_eq!(response.metadata["name"], "tests");
    assert!(capabilities.supports_bsr_refs);
    assert!(!capabilities.supports_streaming && capabilities.prompts.is_none());
    assert!(!capabilities.tools.unwrap().supports_list_changed, "the client has not declared notifications");
    assert!(!capabilities.resources.unwrap().supports_subscribe);
}

#[test]
fn a_flag_is_true_only_if_both_sides_have_it() {
    for (client, server) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut config = config();
        config.features.bsr_refs = server;
        let request = initialize(|request| {
            let capabilities = request.capabilities.as_mut().unwrap();
            capabilities.supports_bsr_refs = client;
            capabilities.supports_streaming = true;
            capabilities.experimental = [("notifications".to_owned(), client), ("other".to_owned(), true)].into();
        });
        let capabilities = opened(config, request).unwrap().capabilities.unwrap();
        assert_eq!(capabilities.supports_bsr_refs, client && server);
        assert_eq!(capabilities.tools.unwrap().supports_list_changed, client);
        assert!(!capabilities.resources.unwrap().supports_list_changed, "the server is silent about resources");
        assert!(!capabilities.supports_streaming);
    }
}

/// It is kept as long as the conversation. A token is not.
#[test]
fn the_metadata_of_a_client_is_bounded() {
    for (bytes, outcome) in [(16 << 10, None), ((16 << 10) + 1, Some(-32013)), (1 << 20, Some(-32013))] {
        let request = initialize(|request| {
            request.metadata = [("name".to_owned(), "x".repeat(bytes - 4))].into();
            request.metadata.insert("authorization".to_owned(), format!("Bearer {}", "t".repeat(1 << 10)));
        });
        assert_eq!(opened(config(), request).err(), outcome, "{bytes}");
    }
}

#[test]
fn versions_and_encodings_are_negotiated() {
    let versions = |texts: &[&str]| Versions::new(texts.iter().map(|text| text.parse::<Version>().unwrap()));
    for (requested, server, outcome) in [
        ("1.0.0", &["1.0.0"][..], Ok("1.0.0")),
        ("1.0.0", &["1.3.0"], Ok("1.0.0")),
        ("2.0.0", &["1.0.0"], Err(-33002)),
        ("1.0.0", &["2.0.0"], Err(-33002)),
        ("1.0.0", &["2.0.0", "1.1.0"], Ok("1.0.0")),
        ("", &["1.0.0"], Err(-32602)),
    ] {
        let config = SessionConfig { versions: versions(server), ..config() };
        let response = opened(config, initialize(|request| request.protocol_version = requested.into()));
        assert_eq!(response.as_ref().map(|response| &*response.protocol_version).map_err(|code| *code), outcome);
    }
    for (encodings, accepted) in [
        (&[][..], true),
        (&["protobuf"], true),
        (&["json", "protobuf"], true),
        (&["cbor", "protobuf"], true),
        (&["json"], false),
        (&["cbor"], false),
    ] {
        let request = initialize(|request| {
            request.capabilities.as_mut().unwrap().encodings = encodings.iter().map(ToString::to_string).collect();
        });
        assert_eq!(opened(config(), request).err(), (!accepted).then_some(-32602), "{encodings:?}");
    }
    assert!(opened(config(), initialize(|request| request.capabilities = None)).is_ok());
}

#[test]
fn a_refused_version_comes_with_the_versions_of_the_server() {
    let mut table = Table::new(config());
    table.send(1, initialize(|request| request.protocol_version = "2.0.0".into()));
    let (_, Payload::ErrorResponse(error)) = table.answer() else { panic!("not an error") };
    let fault = Fault::from(error);
    assert_eq!(fault.data["supported"], serde_json::json!(["1.0.0"]));
    assert_eq!(fault.data["requested"], "2.0.0");
    // The client may try another one.
    assert!(table.send(2, initialize(|_| {})).is_some());
}

#[test]
fn the_first_request_is_initialize_and_the_second_is_not() {
    let mut table = Table::new(config());
    assert!(table.send(1, tools()).is_none());
    assert_eq!(table.refusal(), (1, -32014));
    assert!(table.send(2, call(|_| {})).is_none());
    assert_eq!(table.refusal(), (2, -32014));
    assert!(table.send(3, initialize(|_| {})).is_some());
    table.answers();
    assert!(table.send(4, initialize(|_| {})).is_none());
    assert_eq!(table.refusal(), (4, -32600));
    table.request(5, tools());
}

#[test]
fn a_lenient_server_answers_clients_that_never_initialize() {
    let mut table = Table::new(SessionConfig { initialization: Initialization::Optional, ..config() });
    table.request(1, tools());
    table.request(2, call(|_| {}));
    assert!(table.send(3, initialize(|_| {})).is_some());
}

#[test]
fn tokens_are_checked_once_or_with_each_call() {
    let config =
        || SessionConfig { tokens: Some(Arc::new(Tokens::new().with("ann", "a").with("bob", "b"))), ..config() };
    let bearer = |token: &str| ("authorization".to_owned(), format!("Bearer {token}"));
    // At the beginning, for everything.
    let mut table = Table::new(config());
    let begun =
        table.send(1, initialize(|request| request.metadata = [bearer("a"), ("name".into(), "c".into())].into()));
    let Some(BinaryInbound::Initialized(agreement)) = begun else { panic!("refused") };
    assert_eq!(agreement.metadata.keys().collect::<Vec<_>>(), ["name"]);
    assert_eq!(table.session.principal().map(|name| &**name), Some("ann"));
    table.answers();
    table.request(2, tools());
    table.request(3, call(|_| {}));
    // Another principal on the same connection.
    assert!(table.send(4, call(|call| call.metadata = [bearer("b")].into())).is_none());
    assert_eq!(table.failure().1.code, -32011);
    // With the calls.
    let mut table = Table::open(config());
    assert!(table.send(2, tools()).is_none());
    assert_eq!(table.refusal(), (2, -32010));
    assert!(table.send(3, call(|_| {})).is_none());
    assert_eq!(table.failure().1.code, -32010);
    assert!(table.send(4, call(|call| call.metadata = [bearer("c")].into())).is_none());
    assert_eq!(table.failure().1.code, -32010);
    let BinaryCall::CallTool(seen) = table.request(5, call(|call| call.metadata = [bearer("b")].into())) else {
        panic!()
    };
    assert!(seen.metadata.is_empty(), "the token does not reach the tool");
    // A wrong one at the beginning.
    let refused = opened(config(), initialize(|request| request.metadata = [bearer("c")].into()));
    assert_eq!(refused.unwrap_err(), -32010);
}

#[test]
fn a_token_is_known_by_its_key_whatever_the_case() {
    let config =
        || SessionConfig { tokens: Some(Arc::new(Tokens::new().with("ann", "a").with("bob", "b"))), ..config() };
    let entry = |key: &str, token: &str| (key.to_owned(), format!("Bearer {token}"));
    for key in ["Authorization", "AUTHORIZATION"] {
        let begun = Table::new(config())
            .send(1, initialize(|request| request.metadata = [entry(key, "a"), ("name".into(), "c".into())].into()));
        let Some(BinaryInbound::Initialized(agreement)) = begun else { panic!("refused") };
        assert_eq!(agreement.metadata.keys().collect::<Vec<_>>(), ["name"]);
        let BinaryCall::CallTool(seen) =
            Table::open(config()).request(2, call(|call| call.metadata = [entry(key, "b")].into()))
        else {
            panic!()
        };
        assert!(seen.metadata.is_empty(), "the token does not reach the tool");
    }
    // Two tokens are an error: either could be meant.
    let two = || [entry("authorization", "a"), entry("Authorization", "b")].into();
    let mut table = Table::open(config());
    assert!(table.send(2, call(|call| call.metadata = two())).is_none());
    assert_eq!(table.failure().1.code, -32602);
    assert_eq!(opened(config(), initialize(|request| request.metadata = two())).unwrap_err(), -32602);
    // A server without tokens does not pass them on either.
    let open = SessionConfig { tokens: None, ..config() };
    let BinaryCall::CallTool(seen) =
        Table::open(open).request(2, call(|call| call.metadata = [entry("Authorization", "b")].into()))
    else {
        panic!()
    };
    assert!(seen.metadata.is_empty());
}

#[test]
fn clients_without_references_get_schemas() {
    for (resolves, asked, included) in [(true, false, false), (true, true, true), (false, false, true)] {
        let mut table = Table::new(config());
        table.send(1, initialize(|request| request.capabilities.as_mut().unwrap().supports_bsr_refs = resolves));
        table.answers();
        let list = ListToolsRequest { include_schemas: asked, ..ListToolsRequest::default() };
        let BinaryCall::ListTools(seen) = table.request(2, Payload::ListToolsRequest(list)) else { panic!() };
        assert_eq!(seen.include_schemas, included);
    }
}

#[test]
fn changes_are_told_to_those_who_want_to_know() {
    let changed = ListChanged { tools: true, ..ListChanged::default() };
    let mut table = Table::open(config());
    assert!(!table.session.list_changed(changed));
    let mut table = Table::new(config());
    table.send(
        1,
        initialize(|request| {
            request.capabilities.as_mut().unwrap().experimental.insert("notifications".into(), true);
        }),
    );
    table.answers();
    assert!(table.session.list_changed(changed));
    assert_eq!(table.answer(), (0, Payload::ListChanged(changed)));
    table.session.close_input(table.now);
    assert!(!table.session.list_changed(changed));
}

/// A server with prompts.
fn with_prompts() -> SessionConfig {
    let mut config = config();
    config.features.prompts = Some(Changes::Announced);
    config.features.completion = true;
    config
}

/// A first message that declares these extensions.
pub(super) fn declaring(names: &[&str]) -> Payload {
    initialize(|request| {
        let names = names.iter().map(|name| ((*name).to_owned(), true));
        request.capabilities.as_mut().unwrap().experimental.extend(names);
    })
}

/// The messages of the extension `prompts`, by their numbers.
fn of_prompts() -> Vec<Payload> {
    let payload = |number: u32| {
        let mut bytes = Vec::new();
        prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut bytes);
        bytes.push(0);
        McpMessage::decode(&bytes[..]).unwrap().payload.unwrap()
    };
    (110..=117).map(payload).collect()
}

#[test]
fn a_client_of_version_1_0_sees_no_byte_of_prompts() {
    let without = opened(config(), declaring(&["notifications"])).unwrap();
    let with = opened(with_prompts(), declaring(&["notifications"])).unwrap();
    assert_eq!(with.encode_to_vec(), without.encode_to_vec());
    let mut table = Table::new(with_prompts());
    table.send(1, declaring(&["notifications"]));
    table.answers();
    for payload in of_prompts() {
        assert!(table.send(2, payload).is_none());
        assert_eq!(table.refusal(), (2, -32601));
    }
    assert!(!table.session.list_changed(ListChanged { prompts: true, ..ListChanged::default() }));
    assert!(table.session.list_changed(ListChanged { tools: true, prompts: true, ..ListChanged::default() }));
    let seen = ListChanged { tools: true, ..ListChanged::default() };
    assert_eq!(table.answer(), (0, Payload::ListChanged(seen)));
}

#[test]
fn prompts_are_for_clients_that_have_declared_them() {
    for (names, announced) in [(&["prompts"][..], false), (&["prompts", "notifications"], true)] {
        let capabilities = opened(with_prompts(), declaring(names)).unwrap().capabilities.unwrap();
        assert_eq!(capabilities.prompts.unwrap().supports_list_changed, announced);
        assert!(capabilities.supports_completion && capabilities.resources.unwrap().supports_templates);
        // A server without prompts has templates still.
        let capabilities = opened(config(), declaring(names)).unwrap().capabilities.unwrap();
        assert!(capabilities.prompts.is_none() && !capabilities.supports_completion);
        assert!(capabilities.resources.unwrap().supports_templates);
        let mut table = Table::new(with_prompts());
        table.send(1, declaring(names));
        table.answers();
        for (id, payload) in (2..).zip(of_prompts()) {
            // Answers have the odd numbers.
            if id % 2 == 0 {
                table.request(id, payload);
            } else {
                assert!(table.send(id, payload).is_none());
                assert_eq!(table.refusal(), (id, -32600));
            }
        }
        let changed = ListChanged { prompts: true, ..ListChanged::default() };
        assert_eq!(table.session.list_changed(changed), announced);
    }
}

#[test]
fn the_token_of_a_prompt_is_checked_and_taken_out() {
    let config = SessionConfig { tokens: Some(Arc::new(Tokens::new().with("ann", "a"))), ..with_prompts() };
    let get = |token: &str| {
        let metadata = [("Authorization".to_owned(), format!("Bearer {token}")), ("user".into(), "u".into())].into();
        Payload::GetPromptRequest(GetPromptRequest { name: "p".into(), metadata, ..GetPromptRequest::default() })
    };
    let mut table = Table::new(config);
    table.send(1, declaring(&["prompts"]));
    table.answers();
    assert!(table.send(2, get("b")).is_none());
    assert_eq!(table.refusal(), (2, -32010));
    let BinaryCall::GetPrompt(seen) = table.request(3, get("a")) else { panic!("another request") };
    assert_eq!(seen.metadata.keys().collect::<Vec<_>>(), ["user"]);
    assert_eq!(table.session.principal().map(|name| &**name), Some("ann"));
}

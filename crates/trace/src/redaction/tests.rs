//! Tests of the rules.

use serde_json::json;

use crate::redacted::REDACTED;
use crate::redaction::{Redaction, has_key};

#[test]
fn values_of_secret_names_are_replaced() {
    let message = json!({"password": "a", "API_KEY": 5, "x-access-token": "t", "progressToken": 7, "maxTokens": 100,
        "inputSchema": {"properties": {"password": {"type": "string"}}}, "spin": "fast", "list": [{"Secret": "s"}]});
    let expected = json!({"password": REDACTED, "API_KEY": REDACTED, "x-access-token": REDACTED, "progressToken": 7,
        "maxTokens": 100, "inputSchema": {"properties": {"password": {"type": "string"}}}, "spin": "fast",
        "list": [{"Secret": REDACTED}]});
    assert_eq!(Redaction::default().redact(message), expected);
    let own = Redaction::with_names(["customer-id"]).redact(json!({"customerId": "17"}));
    assert_eq!(own, json!({"customerId": REDACTED}));
}

#[test]
fn everything_below_a_secret_name_is_replaced() {
    let message = json!({"credentials": {"user": "ann", "key": "zebra"}, "secret": ["a", 5, null, true],
        "outputSchema": {"properties": {"token": {"type": "string"}}}, "structured": {"pin": 12}});
    let expected = json!({"credentials": {"user": REDACTED, "key": REDACTED}, "secret": [REDACTED, REDACTED, null, true],
        "outputSchema": {"properties": {"token": {"type": "string"}}}, "structured": {"pin": REDACTED}});
    assert_eq!(Redaction::default().redact(message), expected);
}

#[test]
fn a_text_that_is_json_keeps_its_form_without_its_secrets() {
    for (text, expected) in [
        ("{\"user\": \"ann\",\n \"password\": \"cat\"}", "{\"user\": \"ann\",\n \"password\": \"[redacted]\"}"),
        ("[{\"a\":{\"apiKey\":[\"k1\",\"k2\"]}}]", "[{\"a\":{\"apiKey\":[\"[redacted]\",\"[redacted]\"]}}]"),
        ("{\"text\": \"password\"}", "{\"text\": \"password\"}"),
        ("{\"password\": \"\"}", "{\"password\": \"\"}"),
        ("{not json, password: cat}", "{not json, password: [redacted]}"),
    ] {
        assert_eq!(Redaction::default().redact(json!({"text": text})), json!({"text": expected}), "{text}");
    }
    let mut redaction = Redaction::default();
    redaction.redact(json!("{\"token\": \"long enough\"}"));
    assert_eq!(redaction.redact(json!("it was long enough")), json!("it was [redacted]"));
}

#[test]
fn secrets_are_known_by_their_shape() {
    for (text, expected) in [
        ("Authorization: Bearer abcdefgh12345", "Authorization: [redacted]"),
        ("key sk-proj-abcdefghijklmnop1234 here", "key [redacted] here"),
        ("ghp_abcdefghijklmnopqrstuvwxyz", "[redacted]"),
        ("npm_abcdefghijklmnopqrstuvwxyz", "[redacted]"),
        ("hf_abcdefghijklmnopqrstuvwxyz", "[redacted]"),
        ("AKIAABCDEFGHIJKLMNOP", "[redacted]"),
        ("postgres://user:pass@host/db", "postgres://user:[redacted]@host/db"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "[redacted]"),
        ("GET /a?page=2&access_token=abc&x=1", "GET /a?page=2&access_token=[redacted]&x=1"),
        ("DB_PASSWORD=cat\nUSER=ann", "DB_PASSWORD=[redacted]\nUSER=ann"),
        ("the token = a word; tokens=5", "the token = a word; tokens=5"),
        ("the bearer of news", "the bearer of news"),
        ("http://host:80/a@b", "http://host:80/a@b"),
    ] {
        assert_eq!(Redaction::default().redact(json!(text)), json!(expected));
    }
}

#[test]
fn keys_are_found_in_files() {
    for text in [
        "key = 'sk-proj-abcdefghijklmnop1234'",
        "ghp_abcdefghijklmnopqrstuvwxyz",
        "npm_abcdefghijklmnopqrstuvwxyz",
        "hf_abcdefghijklmnopqrstuvwxyz",
        "{\"id\": \"AKIAABCDEFGHIJKLMNOP\"}",
        "# mine\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    ] {
        assert!(has_key(text), "{text}");
    }
    for text in [
        "password = os.environ['PASSWORD']",
        "with Bearer authentication",
        "risk-assessment of a task_with_a_long_name",
        "akiaabcdefghijklmnop",
        "-----BEGIN CERTIFICATE-----\nabc",
    ] {
        assert!(!has_key(text), "{text}");
    }
}

#[test]
fn further_shapes_are_replaced() {
    let mut redaction = Redaction::default().with_patterns([r"\bcase-\d+", "Ann"]).unwrap();
    assert_eq!(redaction.redact(json!("case-17 of Ann")), json!("[redacted] of [redacted]"));
    for wrong in ["(", "a*", ""] {
        let why = Redaction::default().with_patterns([wrong]).unwrap_err().to_string();
        assert!(why.contains("is not a regular expression"), "{why}");
    }
}

#[test]
fn a_secret_is_replaced_wherever_it_appears_again() {
    let mut redaction = Redaction::default();
    redaction.redact(json!({"password": "open sesame", "pin": "1234"}));
    let later = json!({"text": "logged in with open sesame and 1234"});
    assert_eq!(redaction.redact(later), json!({"text": "logged in with [redacted] and 1234"}));
}

/// The text of a message without its secrets.
fn text(redaction: &mut Redaction, text: &str) -> String {
    redaction.redact(json!(text)).as_str().unwrap().to_owned()
}

#[test]
fn escapes_in_a_json_text_hide_no_secret() {
    for (given, expected) in [
        (r#"{"password": "geheim-\u00fcn\u00efcode", "a": "\u00fc"}"#, r#"{"password": "[redacted]", "a": "\u00fc"}"#),
        (r#"{"pass\u0077ord": "\u0063at"}"#, r#"{"pass\u0077ord": "[redacted]"}"#),
        (r#"{"a": "{\"password\": \"c\\u0061t\"}"}"#, r#"{"a": "{\"password\": \"[redacted]\"}"}"#),
        (r#""{\"password\": \"cat\"}""#, r#""{\"password\": \"[redacted]\"}""#),
        (r#"{"pin_token": 987654321, "b": [-1, true]}"#, r#"{"pin_token": "[redacted]", "b": [-1, true]}"#),
        (r#"{"password": "cat", "password": "dog"}"#, r#"{"password": "[redacted]", "password": "[redacted]"}"#),
        (r#"{ "a" :[ {"password" : null } ] }"#, r#"{ "a" :[ {"password" : null } ] }"#),
    ] {
        assert_eq!(text(&mut Redaction::default(), given), expected);
    }
}

#[test]
fn the_copy_of_a_number_in_a_text_is_replaced() {
    let result = json!({"structuredContent": {"pin_token": 987_654_321, "count": 12}, "echo": 987_654_321,
        "content": [{"text": "{\"pin_token\": 987654321, \"count\": 12}"}, {"text": "it is 987654321"}]});
    let expected = json!({"structuredContent": {"pin_token": REDACTED, "count": 12}, "echo": REDACTED,
        "content": [{"text": "{\"pin_token\": \"[redacted]\", \"count\": 12}"}, {"text": "it is [redacted]"}]});
    assert_eq!(Redaction::default().redact(result), expected);
}

#[test]
fn known_secrets_are_replaced_in_names_and_spellings() {
    let mut redaction = Redaction::default();
    redaction.redact(json!({"password": "say \"ünï\"\nor \\ not", "token": "zebra-zebra"}));
    let message = json!({"zebra-zebra": 1, "of zebra-zebra": 2, "arguments": {"[redacted]": 3, "zebra-zebra": 4}});
    let expected = json!({"[redacted]": 1, "of [redacted]": 2, "arguments": {"[redacted]": 3, "[redacted]-2": 4}});
    assert_eq!(redaction.redact(message), expected);
    for (given, expected) in [
        (r#"{"note": "say \"ünï\"\nor \\ not", "zebra-zebra": 5}"#, r#"{"note": "[redacted]", "[redacted]": 5}"#),
        (r#"it wrote {"note": "say \"ünï\"\nor \\ not"}"#, r#"it wrote {"note": "[redacted]"}"#),
        (r#"it wrote {"note": "say \"\u00fcn\u00ef\"\nor \\ not"}"#, r#"it wrote {"note": "[redacted]"}"#),
    ] {
        assert_eq!(text(&mut redaction, given), expected);
    }
}

#[test]
fn the_oldest_secrets_are_forgotten() {
    let mut redaction = Redaction::default();
    for number in 0..1000 {
        redaction.redact(json!({"password": format!("secret {number:04}")}));
    }
    assert!(!redaction.has_forgotten());
    redaction.redact(json!({"password": "one secret more"}));
    assert!(redaction.has_forgotten());
    for (given, expected) in
        [("secret 0000", "secret 0000"), ("secret 0001", "[redacted]"), ("one secret more", "[redacted]")]
    {
        assert_eq!(text(&mut redaction, given), expected);
    }
}

#[test]
fn secrets_are_known_by_the_name_before_them() {
    for (given, expected) in [
        ("user: ann\npassword: p@ss,w0rd\nport: 5", "user: ann\npassword: [redacted]\nport: 5"),
        ("  - db_password: \"a b\"  # new", "  - db_password: \"[redacted]\"  # new"),
        ("passphrase: the quick fox", "passphrase: [redacted]"),
        ("X-Api-Key: abc", "X-Api-Key: [redacted]"),
        ("HTTP/1.1 200\r\nSet-Cookie: sid=cat; Path=/\r\n", "HTTP/1.1 200\r\nSet-Cookie: [redacted]\r\n"),
        ("curl -H 'Authorization: token cat' x", "curl -H 'Authorization: [redacted]' x"),
        ("Server=db;Uid=sa;Pwd=cat;", "Server=db;Uid=sa;Pwd=[redacted];"),
        (
            "{'user': 'ann', 'password': 'it\\'s', 'pin_token': 5}",
            "{'user': 'ann', 'password': '[redacted]', 'pin_token': [redacted]}",
        ),
        (
            "{\"password\": \"cat\"}\n{\"password\": \"dog\"}",
            "{\"password\": \"[redacted]\"}\n{\"password\": \"[redacted]\"}",
        ),
        ("said \\\"password\\\": \\\"cat\\\"", "said \\\"password\\\": \\\"[redacted]\\\""),
        ("mysql --password cat --user ann", "mysql --password [redacted] --user ann"),
        ("password = \"cat\"", "password = \"[redacted]\""),
        ("token = cat", "token = [redacted]"),
        (
            "<db><password>cat</password><user>ann</user></db>",
            "<db><password>[redacted]</password><user>ann</user></db>",
        ),
        ("password=[redacted] and more", "password=[redacted] and more"),
        (
            "https://a/x?X-Amz-Credential=ann%2Fa&X-Amz-Signature=0a1b&y=1",
            "https://a/x?X-Amz-Credential=[redacted]&X-Amz-Signature=[redacted]&y=1",
        ),
        ("session_cookie=cat authorization=dog", "session_cookie=[redacted] authorization=[redacted]"),
    ] {
        assert_eq!(text(&mut Redaction::default(), given), expected);
    }
}

#[test]
fn sentences_and_types_after_a_name_stay() {
    for given in [
        "password: must not be empty",
        "token: The token of the user.",
        "def sign_in(password: str) -> str",
        "password: string, at least 8 characters",
        "https://example.com/?nextPageToken=abc&pageToken=def",
        "token::Kind and tokens: 5",
        "PWD=/srv/ann",
        "password: ${DB_PASSWORD}",
        "password=\"\"",
    ] {
        assert_eq!(text(&mut Redaction::default(), given), given);
    }
}

#[test]
fn further_forms_of_named_secrets_are_replaced() {
    let message = json!({"headers": [{"name": "Authorization", "value": "cat"}, {"name": "Accept", "value": "*/*"}],
        "args": ["--password", "dog", "--user", "ann", "--token", "--quiet"], "pwd": "owl", "PWD": "/tmp",
        "text": "[{\"value\": \"fox\", \"name\": \"password\"}, [\"--api-key\", \"elk\"]]"});
    let expected = json!({"headers": [{"name": "Authorization", "value": REDACTED}, {"name": "Accept", "value": "*/*"}],
        "args": ["--password", REDACTED, "--user", "ann", "--token", "--quiet"], "pwd": REDACTED, "PWD": "/tmp",
        "text": "[{\"value\": \"[redacted]\", \"name\": \"password\"}, [\"--api-key\", \"[redacted]\"]]"});
    assert_eq!(Redaction::default().redact(message), expected);
    let property = |value: &str| json!({"type": "string", "default": value, "examples": [value], "description": "d"});
    let schema =
        |secret: &str| json!({"inputSchema": {"properties": {"password": property(secret), "user": property("ann")}}});
    assert_eq!(Redaction::default().redact(schema("cat")), schema(REDACTED));
}

#[test]
fn what_makes_a_message_stays() {
    let mut redaction = Redaction::default();
    redaction.redact(
        json!({"password": "tools/call", "token": "request-1", "secret": "sign_in_now", "pin_token": 12_345_678}),
    );
    redaction.redact(json!({"password": "structuredContent", "secret": "password"}));
    for message in [
        json!({"jsonrpc": "2.0", "id": "request-1", "method": "tools/call",
            "params": {"name": "sign_in_now", "_meta": {"progressToken": 12_345_678}}}),
        json!({"jsonrpc": "2.0", "id": 12_345_678, "result": {"structuredContent": {"nextPageToken": "abc", "cursor": "c"}}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "sign_in_now", "inputSchema": {"required": ["password"]}}]}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "request-1"}}),
    ] {
        assert_eq!(redaction.redact(message.clone()), message);
    }
    let told = json!({"jsonrpc": "2.0", "id": {"password": "cat"}, "result": "tools/call"});
    assert_eq!(redaction.redact(told), json!({"jsonrpc": "2.0", "id": {"password": REDACTED}, "result": REDACTED}));
}

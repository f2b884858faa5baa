//! `ping`, and methods that are not there.

use super::transcript::check;

#[test]
fn ping_is_answered_while_a_tool_runs() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 100"}}"#,
        r#"→ {"id":"p","method":"ping","params":{}}"#,
        r#"← {"id":"p","result":{}}"#,
        "· 99ms",
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ]);
}

#[test]
fn a_request_without_id_and_an_answer_to_nothing_are_ignored() {
    check(&[
        "→ hello",
        r#"→ {"method":"ping"}"#,
        r#"→ {"method":"tools/call","params":{"name":"echo"}}"#,
        r#"→ {"id":1,"result":{}}"#,
        r#"→ {"id":"1","error":{"code":1,"message":"x"}}"#,
        r#"→ {"method":"notifications/unheard-of","params":{"a":1}}"#,
        "· 1000ms",
        r#"→ {"id":-1,"method":"ping"}"#,
        r#"← {"id":-1,"result":{}}"#,
    ]);
}

#[test]
fn an_unknown_method_is_not_found() {
    check(&[
        "→ hello",
        r#"→ {"id":18446744073709551615,"method":"resources/write"}"#,
        r#"← {"id":18446744073709551615,"error":{"code":-32601,"message":"method not found: \"resources/write\""}}"#,
        r#"→ {"id":2,"method":"a\"b"}"#,
        r#"← {"id":2,"error":{"code":-32601,"message":"method not found: \"a\\\"b\""}}"#,
    ]);
}

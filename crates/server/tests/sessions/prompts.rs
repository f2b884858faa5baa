//! Prompts and completion.

use super::transcript::check;

#[test]
fn prompts_are_listed_and_filled_in() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"prompts/list"}"#,
        r#"← {"id":1,"result":{"prompts":[{"name":"greet","arguments":[{"name":"whom","required":true}]}]}}"#,
        r#"→ {"id":2,"method":"prompts/get","params":{"name":"greet","arguments":{"whom":"w\u00e4"}}}"#,
        r#"← {"id":2,"result":{"messages":[{"role":"user","content":{"type":"text","text":"Hello, wä!"}}]}}"#,
        r#"→ {"id":3,"method":"prompts/get","params":{"name":"greet"}}"#,
        r#"← {"id":3,"result":{"messages":[{"role":"user","content":{"type":"text","text":"Hello, you!"}}]}}"#,
        r#"→ {"id":4,"method":"prompts/get","params":{"name":"other"}}"#,
        r#"← {"id":4,"error":{"code":-32602,"message":"unknown prompt \"other\""}}"#,
        r#"→ {"id":5,"method":"prompts/get","params":{"name":"greet","arguments":{"whom":5}}}"#,
        r#"← {"id":5,"error":{"code":-32602,"message":"invalid params: argument \"whom\" must be a string"}}"#,
        r#"→ {"id":6,"method":"prompts/get","params":[]}"#,
        r#"← {"id":6,"error":{"code":-32602,"message":"invalid params: name is missing"}}"#,
    ]);
}

#[test]
fn arguments_are_completed() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"ab"},"argument":{"name":"a","value":"v"}}}"#,
        r#"← {"id":1,"result":{"completion":{"values":["v0","v1"]}}}"#,
        r#"→ {"id":2,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"c"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"c"}}}}"#,
        r#"← {"id":2,"result":{"completion":{"values":["0"]}}}"#,
        r#"→ {"id":3,"method":"completion/complete","params":null}"#,
        r#"← {"id":3,"error":{"code":-32602,"message":"invalid params: missing field `ref`"}}"#,
        r#"→ {"id":4,"method":"completion/complete","params":{"ref":{"type":"ref/tool"},"argument":{"name":"a","value":""}}}"#,
        r#"← {"id":4,"error":{"code":-32602,"message":"invalid params: unknown variant `ref/tool`, expected `ref/prompt` or `ref/resource` at line 1 column 18"}}"#,
    ]);
    let long = "x".repeat(120);
    let values: Vec<_> = (0..100).map(|number| format!("\"{number}\"")).collect();
    check(&[
        "→ hello",
        &format!(
            r#"→ {{"id":1,"method":"completion/complete","params":{{"ref":{{"type":"ref/prompt","name":"{long}"}},"argument":{{"name":"a","value":""}}}}}}"#
        ),
        &format!(
            r#"← {{"id":1,"result":{{"completion":{{"values":[{}],"total":120,"hasMore":true}}}}}}"#,
            values.join(",")
        ),
    ]);
}

//! The shapes of results and errors in 2026-07-28, and in the revisions before.

use super::transcript::check;

/// The same request in both eras, and both answers.
#[track_caller]
fn check_both(method: &str, params: &str, stateful: &str, stateless: &str) {
    let comma = if params.is_empty() { "" } else { "," };
    check(&[
        "→ hello",
        &format!(r#"→ {{"id":1,"method":"{method}","params":{{{params}}}}}"#),
        &format!(r#"← {{"id":1,{stateful}}}"#),
        &format!(r#"→ {{"id":2,"method":"{method}","params":{{{params}{comma}"_meta":{{«2026»}}}}}}"#),
        &format!(r#"← {{"id":2,{stateless}}}"#),
    ]);
}

/// A result whose body is the same in both, but for what the stateless revision adds in front and behind.
#[track_caller]
fn check_result(method: &str, params: &str, body: &str, hints: bool) {
    let hints = if hints { r#","ttlMs":0,"cacheScope":"private""# } else { "" };
    check_both(
        method,
        params,
        &format!(r#""result":{{{body}}}"#),
        &format!(r#""result":{{"resultType":"complete",{body}{hints},"_meta":{{«server»}}}}"#),
    );
}

#[test]
fn results_have_a_type_and_lists_and_reads_a_lifetime() {
    let tools = r#""tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"""#;
    check_result("tools/list", "", tools, true);
    check_result("tools/list", r#""cursor":"""#, r#""tools":[]"#, true);
    check_result("tools/call", r#""name":"sleep 1""#, r#""content":[{"type":"text","text":"done"}]"#, false);
    check_result(
        "resources/list",
        "",
        r#""resources":[{"uri":"file:///known","name":"known"}],"nextCursor":"more""#,
        true,
    );
    check_result(
        "resources/read",
        r#""uri":"file:///known""#,
        r#""contents":[{"uri":"file:///known","mimeType":"text/plain","text":"a\nb"},{"uri":"file:///known","blob":"AA=="}]"#,
        true,
    );
    check_result(
        "prompts/list",
        "",
        r#""prompts":[{"name":"greet","arguments":[{"name":"whom","required":true}]}]"#,
        true,
    );
    check_result(
        "prompts/get",
        r#""name":"greet""#,
        r#""messages":[{"role":"user","content":{"type":"text","text":"Hello, you!"}}]"#,
        false,
    );
    check_result(
        "completion/complete",
        r#""ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":"x"}"#,
        r#""completion":{"values":["x0"]}"#,
        false,
    );
}

#[test]
fn what_a_tool_does_wrong_is_still_a_result() {
    check_both(
        "tools/call",
        r#""name":"fail""#,
        r#""result":{"content":[{"type":"text","text":"it did not work"}],"isError":true}"#,
        r#""result":{"resultType":"complete","content":[{"type":"text","text":"it did not work"}],"_meta":{«server»},"isError":true}"#,
    );
}

#[test]
fn an_unknown_resource_is_an_invalid_parameter() {
    let error = |code: i32| {
        format!(r#""error":{{"code":{code},"message":"Resource not found","data":{{"uri":"file:///unknown"}}}}"#)
    };
    check_both("resources/read", r#""uri":"file:///unknown""#, &error(-32002), &error(-32602));
}

#[test]
fn a_bad_cursor_is_refused_in_both_eras() {
    let error = r#""error":{"code":-32602,"message":"invalid cursor \"x\""}"#;
    check_both("tools/list", r#""cursor":"x""#, error, error);
}

#[test]
fn the_wish_for_a_task_means_nothing() {
    check(&[
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 1","task":{"ttl":5},"_meta":{«2026»}}}"#,
        r#"← {"id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}],"_meta":{«server»}}}"#,
    ]);
}

//! The members of `_meta` that each request of 2026-07-28 needs, and the answers to requests without them.

use super::transcript::check;

const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;

/// A request with this `_meta` gets this answer.
#[track_caller]
fn check_meta(method: &str, meta: &str, answer: &str) {
    check(&[
        &format!(r#"→ {{"id":1,"method":"{method}","params":{{"_meta":{{{meta}}}}}}}"#),
        &format!(r#"← {{"id":1,{answer}}}"#),
    ]);
}

fn error(code: i32, message: &str) -> String {
    format!(r#""error":{{"code":{code},"message":"{message}"}}"#)
}

#[test]
fn both_required_members_are_missed() {
    let lacks =
        |name: &str| error(-32602, &format!(r#"invalid params: _meta[\"io.modelcontextprotocol/{name}\"] is missing"#));
    for method in ["tools/list", "server/discover", "tools/call", "no/such/method"] {
        check_meta(method, CAPABILITIES, &lacks("protocolVersion"));
        check_meta(method, VERSION, &lacks("clientCapabilities"));
    }
    check_meta(
        "tools/list",
        r#""io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}"#,
        &error(-32602, r#"invalid params: _meta[\"io.modelcontextprotocol/protocolVersion\"] must be a string"#),
    );
    check_meta(
        "tools/list",
        &format!(r#"{VERSION},"io.modelcontextprotocol/clientCapabilities":[]"#),
        &error(-32602, r#"invalid params: _meta[\"io.modelcontextprotocol/clientCapabilities\"] must be an object"#),
    );
}

#[test]
fn a_revision_that_is_not_spoken_is_refused_with_those_that_are() {
    for version in ["2025-11-25", "2024-11-05", "v999.0.0", "2027-01-01"] {
        check_meta(
            "no/such/method",
            &format!(r#""io.modelcontextprotocol/protocolVersion":"{version}",{CAPABILITIES}"#),
            &format!(
                r#""error":{{"code":-32022,"message":"unsupported protocol version \"{version}\"","data":{{"supported":["2026-07-28"],"requested":"{version}"}}}}"#
            ),
        );
    }
}

#[test]
fn what_the_revision_has_removed_is_not_there() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/result",
        "tasks/list",
        "unknown/method",
    ] {
        check_meta(method, "«2026»", &error(-32601, &format!(r#"method not found: \"{method}\""#)));
    }
}

#[test]
fn the_answer_does_not_depend_on_the_caller() {
    let echo = r#""result":{"resultType":"complete","content":[{"type":"text","text":"echo"}],"structuredContent":{},"_meta":{«server»}}"#;
    for who in [
        "",
        r#","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}"#,
        r#","io.modelcontextprotocol/clientInfo":[]"#,
    ] {
        check(&[
            &format!(r#"→ {{"id":1,"method":"tools/call","params":{{"name":"echo","_meta":{{«2026»{who}}}}}}}"#),
            &format!(r#"← {{"id":1,{echo}}}"#),
        ]);
    }
}

#[test]
fn log_messages_are_for_requests_that_want_them() {
    let done =
        r#"← {"id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}],"_meta":{«server»}}}"#;
    let log = |level: &str| {
        format!(
            r#"← {{"method":"notifications/message","params":{{"level":"{level}","logger":"tool","data":"{level}"}}}}"#
        )
    };
    check(&[r#"→ {"id":1,"method":"tools/call","params":{"name":"log","_meta":{«2026»}}}"#, done, "· 1000ms"]);
    check(&[
        r#"→ {"id":1,"method":"tools/call","params":{"name":"log","_meta":{«2026»,"io.modelcontextprotocol/logLevel":"alert"}}}"#,
        &log("alert"),
        &log("emergency"),
        done,
        "· 1000ms",
    ]);
    for level in [r#""warn""#, "5", r#"{}"#] {
        check_meta(
            "tools/list",
            &format!(r#"«2026»,"io.modelcontextprotocol/logLevel":{level}"#),
            &error(-32602, r#"invalid params: _meta[\"io.modelcontextprotocol/logLevel\"] is not a log level"#),
        );
    }
    // The level of a session is another matter.
    check(&[
        "→ hello",
        r#"→ {"id":0,"method":"logging/setLevel","params":{"level":"debug"}}"#,
        r#"← {"id":0,"result":{}}"#,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"log","_meta":{«2026»}}}"#,
        done,
        "· 1000ms",
    ]);
}

#[test]
fn progress_comes_before_the_answer() {
    check(&[
        r#"→ {"id":1,"method":"tools/call","params":{"name":"count 2","_meta":{«2026»,"progressToken":"p"}}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":"p","progress":2}}"#,
        r#"← {"id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}],"_meta":{«server»}}}"#,
    ]);
}

#[test]
fn a_cancelled_request_is_not_answered() {
    check(&[
        r#"→ {"id":1,"method":"tools/call","params":{"name":"wait","_meta":{«2026»}}}"#,
        r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#,
        "· 5000ms",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 1","_meta":{«2026»}}}"#,
        r#"← {"id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}],"_meta":{«server»}}}"#,
    ]);
}

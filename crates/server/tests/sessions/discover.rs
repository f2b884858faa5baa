//! `server/discover` of 2026-07-28.

use protomcp_server::{Limits, ServerInfo};
use protomcp_types::ServerCapabilities;

use super::transcript::{check, play};

const CAPABILITIES: &str = r#""capabilities":{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

#[test]
fn a_server_says_what_it_is_without_a_handshake() {
    check(&[
        r#"→ {"id":"a","method":"server/discover","params":{"_meta":{«2026»}}}"#,
        &format!(
            r#"← {{"id":"a","result":{{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],{CAPABILITIES},"instructions":"Be brief.","ttlMs":0,"cacheScope":"private","_meta":{{«server»}}}}}}"#
        ),
        "→ end",
        "← end",
    ]);
}

#[test]
fn no_other_revision_has_it() {
    check(&[
        r#"→ {"id":1,"method":"server/discover"}"#,
        r#"← {"id":1,"error":{"code":-32602,"message":"invalid params: _meta[\"io.modelcontextprotocol/protocolVersion\"] is missing"}}"#,
        "→ hello",
        r#"→ {"id":2,"method":"server/discover","params":{}}"#,
        r#"← {"id":2,"error":{"code":-32602,"message":"invalid params: _meta[\"io.modelcontextprotocol/protocolVersion\"] is missing"}}"#,
        r#"→ {"id":3,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        r#"← {"id":3,"error":{"code":-32022,"message":"unsupported protocol version \"2025-11-25\"","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#,
    ]);
}

#[test]
fn a_server_may_describe_itself_by_era() {
    play(Limits::default(), async |stage| {
        let info = ServerInfo::new("stage", "1").with_capabilities(ServerCapabilities::default().with_tools());
        stage.server.handle().describe_stateless(info);
        let mut host = stage.connect();
        host.steps(&[
            r#"→ {"id":1,"method":"server/discover","params":{"_meta":{«2026»}}}"#,
            r#"← {"id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private","_meta":{«server»}}}"#,
            r#"→ {"id":2,"method":"prompts/get","params":{"name":"greet","_meta":{«2026»}}}"#,
            r#"← {"id":2,"error":{"code":-32601,"message":"method not found: \"prompts/get\""}}"#,
            "→ hello",
            r#"→ {"id":3,"method":"logging/setLevel","params":{"level":"debug"}}"#,
            r#"← {"id":3,"result":{}}"#,
            "→ end",
            "← end",
        ])
        .await;
    });
}

//! Listing and calling tools.

use super::transcript::check;

#[test]
fn the_list_comes_in_pages_and_the_empty_cursor_is_one() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/list"}"#,
        r#"← {"id":1,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":""}}"#,
        r#"→ {"id":2,"method":"tools/list","params":{"cursor":""}}"#,
        r#"← {"id":2,"result":{"tools":[]}}"#,
        r#"→ {"id":3,"method":"tools/list","params":{"cursor":"x"}}"#,
        r#"← {"id":3,"error":{"code":-32602,"message":"invalid cursor \"x\""}}"#,
        r#"→ {"id":4,"method":"tools/list","params":{"cursor":5}}"#,
        r#"← {"id":4,"error":{"code":-32602,"message":"invalid params: cursor: invalid type: integer `5`, expected a string at line 1 column 1"}}"#,
        r#"→ {"id":5,"method":"tools/list","params":[]}"#,
        r#"← {"id":5,"error":{"code":-32602,"message":"invalid params: expected an object"}}"#,
        r#"→ {"id":6,"method":"tools/list","params":null}"#,
        r#"← {"id":6,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":""}}"#,
    ]);
}

#[test]
fn arguments_and_results_are_carried_to_the_byte() {
    check(&[
        "→ hello",
        r#"→ {"id":"a\nb","method":"tools/call","params":{"arguments":{ "z": 9007199254740993, "a":[1.50,"\u00e9/\/é"] },"name":"echo"}}"#,
        r#"← {"id":"a\nb","result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{ "z": 9007199254740993, "a":[1.50,"\u00e9/\/é"] }}}"#,
        r#"→ {"id":0,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"← {"id":0,"result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{}}}"#,
    ]);
}

#[test]
fn a_result_stays_on_one_line_whatever_line_breaks_it_holds() {
    check(&[
        "→ hello",
        // A carriage return is white space to JSON, and would end a line for some readers.
        "→ {\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"a\":\r[1,\r\r2]}}}",
        "← {\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"echo\"}],\"structuredContent\":{\"a\": [1,  2]}}}",
    ]);
}

#[test]
fn bad_calls_are_invalid_params_and_failing_tools_are_results() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call"}"#,
        r#"← {"id":1,"error":{"code":-32602,"message":"invalid params: name is missing"}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"echo","arguments":[]}}"#,
        r#"← {"id":2,"error":{"code":-32602,"message":"invalid params: arguments must be an object"}}"#,
        r#"→ {"id":3,"method":"tools/call","params":{"name":"unheard-of"}}"#,
        r#"← {"id":3,"error":{"code":-32602,"message":"unknown tool \"unheard-of\""}}"#,
        r#"→ {"id":4,"method":"tools/call","params":{"name":"fail"}}"#,
        r#"← {"id":4,"result":{"content":[{"type":"text","text":"it did not work"}],"isError":true}}"#,
        r#"→ {"id":5,"method":"tools/call","params":{"name":"panic"}}"#,
        r#"← {"id":5,"result":{"content":[{"type":"text","text":"tool \"panic\" panicked: no such luck"}],"isError":true}}"#,
        r#"→ {"id":6,"method":"tools/call","params":["echo"]}"#,
        r#"← {"id":6,"error":{"code":-32602,"message":"invalid params: name is missing"}}"#,
    ]);
}

#[test]
fn calls_run_side_by_side_and_answers_come_as_they_are_ready() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 30"}}"#,
        r#"→ {"id":2,"method":"tools/call","params":{"name":"sleep 10"}}"#,
        r#"→ {"id":3,"method":"tools/call","params":{"name":"sleep 20"}}"#,
        r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"← {"id":3,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ]);
}

#[test]
fn an_id_is_refused_while_it_is_in_use_and_free_afterwards() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep 10"}}"#,
        r#"→ {"id":1,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"← {"id":1,"error":{"code":-32600,"message":"invalid request: id 1 is already in use"}}"#,
        r#"→ {"id":1,"method":"ping"}"#,
        r#"← {"id":1,"error":{"code":-32600,"message":"invalid request: id 1 is already in use"}}"#,
        r#"→ {"id":"1","method":"ping"}"#,
        r#"← {"id":"1","result":{}}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        r#"→ {"id":1,"method":"ping"}"#,
        r#"← {"id":1,"result":{}}"#,
    ]);
}

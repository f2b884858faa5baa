//! The progress of a call.

use super::transcript::check;

#[test]
fn progress_comes_in_order_and_before_the_answer() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"count 3","_meta":{"progressToken":"1"}}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":"1","progress":1}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":"1","progress":2}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":"1","progress":3}}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ]);
}

#[test]
fn without_a_token_there_is_no_progress() {
    for meta in ["{}", r#"{"progressToken":null}"#, r#"{"progressToken":1.5}"#, r#"{"other":{"progressToken":1}}"#] {
        check(&[
            "→ hello",
            &format!(r#"→ {{"id":1,"method":"tools/call","params":{{"name":"count 3","_meta":{meta}}}}}"#),
            r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        ]);
    }
}

#[test]
fn progress_that_does_not_grow_or_comes_late_is_dropped() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"stumble","_meta":{"progressToken":7}}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":7,"progress":0.5,"message":"m"}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":7,"progress":1.0,"message":"m"}}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        "· 1000ms",
    ]);
}

#[test]
fn the_first_revision_has_no_messages_in_it() {
    check(&[
        "→ hello 2024-11-05",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"stumble","_meta":{"progressToken":7}}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":7,"progress":0.5}}"#,
        r#"← {"method":"notifications/progress","params":{"progressToken":7,"progress":1.0}}"#,
        r#"← {"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ]);
}

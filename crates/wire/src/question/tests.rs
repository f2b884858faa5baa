//! Questions and answers, as tables.

use super::*;

fn request(messages: &str, preferences: &str, system: &str, max_tokens: i32) -> SamplingRequest {
    SamplingRequest {
        messages_json: messages.to_owned().into(),
        model_preferences_json: preferences.to_owned().into(),
        system_prompt: system.into(),
        max_tokens,
        ..Default::default()
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

#[test]
fn every_way_to_write_a_message_reaches_the_host_as_blocks() {
    for (written, read) in [
        (r#"[{"role":"user","content":"hi"}]"#, r#"[{"role":"user","content":{"type":"text","text":"hi"}}]"#),
        (r#"[{"role":"user","content":""}]"#, r#"[{"role":"user","content":{"type":"text","text":""}}]"#),
        (
            r#"[{"role":"assistant","content":{"type":"text","text":"a"}}]"#,
            r#"[{"role":"assistant","content":{"type":"text","text":"a"}}]"#,
        ),
        (
            r#"[{"role":"user","content":[{"type":"text","text":"a"}]}]"#,
            r#"[{"role":"user","content":[{"type":"text","text":"a"}]}]"#,
        ),
        ("[]", "[]"),
    ] {
        let question = sampling(request(written, "", "", 5)).unwrap();
        assert_eq!(question.messages.as_str(), read);
        assert_eq!((question.max_tokens, question.system_prompt, question.model_preferences), (5, None, None));
    }
}

#[test]
fn a_broken_conversation_is_refused_with_a_reason() {
    for (messages, preferences, why) in [
        ("", "", "failed to parse messages_json: "),
        ("{}", "", "failed to parse messages_json: "),
        ("[1]", "", "failed to parse messages_json: message 0 is not an object"),
        (
            r#"[{"role":"system","content":"x"}]"#,
            "",
            "failed to parse messages_json: the role of message 0 is neither user nor assistant",
        ),
        (r#"[{"role":"user"}]"#, "", "failed to parse messages_json: message 0 has no content"),
        (r#"[{"role":"user","content":7}]"#, "", "failed to parse messages_json: message 0 has no content"),
        ("[]", "{", "failed to parse model_preferences_json: "),
        ("[]", "[]", "failed to parse model_preferences_json: it is not an object"),
    ] {
        let refused = sampling(request(messages, preferences, "", 1)).unwrap_err();
        assert!(refused.starts_with(why), "{messages} {preferences}: {refused}");
    }
}

#[test]
fn an_absent_member_gets_a_default() {
    for (max_tokens, sent) in [(0, MAX_TOKENS), (-1, MAX_TOKENS), (7, 7)] {
        let question = sampling(request("[]", r#"{"hints":[]}"#, "be brief", max_tokens)).unwrap();
        assert_eq!(question.max_tokens, sent);
        assert_eq!(question.model_preferences.unwrap().as_str(), r#"{"hints":[]}"#);
        assert_eq!(question.system_prompt.as_deref(), Some("be brief"));
    }
}

#[test]
fn older_hosts_get_one_block_in_each_message() {
    let messages = raw(
        r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":{"type":"text","text":"c"}}]"#,
    );
    assert_eq!(
        one_block_each(&messages).as_str(),
        r#"[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"text","text":"b"}},{"role":"assistant","content":{"type":"text","text":"c"}}]"#
    );
}

#[test]
fn the_answer_of_the_model_has_one_block_where_it_can() {
    for (content, sent) in [
        (r#"{"type":"text","text":"a"}"#, r#"{"type":"text","text":"a"}"#),
        (r#"[{"type":"text","text":"a"}]"#, r#"{"type":"text","text":"a"}"#),
        (r#"[{"type":"text"},{"type":"text"}]"#, r#"[{"type":"text"},{"type":"text"}]"#),
    ] {
        let result = CreateMessageResult {
            role: Role::Assistant,
            content: raw(content),
            model: "m".into(),
            stop_reason: Some("endTurn".into()),
            meta: None,
        };
        let expected = SamplingResponse {
            role: "assistant".into(),
            content_json: sent.to_owned().into(),
            model: "m".into(),
            stop_reason: "endTurn".into(),
            error: String::new(),
        };
        assert_eq!(sampled(result), expected);
    }
}

#[test]
fn users_are_asked_by_form_or_by_page() {
    let ask = |mode: &str, schema: &str, url: &str, id: &str| {
        elicitation(ElicitationRequest {
            mode: mode.into(),
            message: "who?".into(),
            requested_schema_json: schema.to_owned().into(),
            url: url.into(),
            elicitation_id: id.into(),
        })
    };
    let form = Ok(Elicit::form("who?", raw(r#"{"type":"object"}"#)));
    assert_eq!(ask("", r#"{"type":"object"}"#, "", ""), form);
    assert_eq!(ask("form", r#"{"type":"object"}"#, "", ""), form);
    assert_eq!(ask("url", "", "https://a", "7"), Ok(Elicit::url("who?", "https://a", "7")));
    for (mode, schema, url, id) in
        [("", "", "", ""), ("form", "[]", "", ""), ("url", "", "", "7"), ("url", "", "u", ""), ("voice", "{}", "", "")]
    {
        assert!(ask(mode, schema, url, id).is_err(), "{mode} {schema}");
    }
}

#[test]
fn the_answer_of_the_user_has_the_words_of_mcp() {
    for (action, content, sent, content_sent) in [
        (ElicitAction::Accept, Some(raw(r#"{"a":1}"#)), "accept", r#"{"a":1}"#),
        (ElicitAction::Decline, None, "decline", ""),
        (ElicitAction::Cancel, None, "cancel", ""),
    ] {
        let response = elicited(ElicitResult { action, content, meta: None });
        assert_eq!((response.action.as_str(), &response.content_json[..]), (sent, content_sent.as_bytes()));
        assert!(response.error.is_empty());
    }
}

#[test]
fn further_members_of_a_request_to_a_model_pass() {
    let params = r#"{"temperature":0.5,"stopSequences":["x"],"includeContext":"thisServer","metadata":{"a":1},
        "tools":[{"name":"t"}],"toolChoice":{"mode":"auto"},"maxTokens":7,"other":1}"#;
    let question = sampling(SamplingRequest { params_json: params.into(), ..request("[]", "", "", 5) }).unwrap();
    assert_eq!((question.temperature, question.max_tokens), (Some(0.5), 5));
    assert_eq!((question.stop_sequences, question.include_context.as_deref()), (vec!["x".into()], Some("thisServer")));
    assert_eq!(question.tools, Some(raw(r#"[{"name":"t"}]"#)));
    assert_eq!((question.metadata, question.tool_choice), (Some(raw(r#"{"a":1}"#)), Some(raw(r#"{"mode":"auto"}"#))));
    for params in ["[1]", "{", r#"{"temperature":"hot"}"#] {
        let why = sampling(SamplingRequest { params_json: params.into(), ..request("[]", "", "", 5) }).unwrap_err();
        assert!(why.starts_with("failed to parse params_json: "), "{why}");
    }
}

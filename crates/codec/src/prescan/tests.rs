//! Messages with too many entries are rejected before decoding, and no others.

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use protomcp_envelope::*;

use super::*;
use crate::shape::ENVELOPE;

/// Every message with a list, with this many entries in it.
fn lists(count: usize) -> Vec<Msg> {
    fn many<T: Default + Clone>(count: usize) -> Vec<T> {
        vec![T::default(); count]
    }
    let arguments = PromptDefinition { arguments: many(count - 1), ..Default::default() };
    vec![
        ToolListResponse { tools: many(count) }.into(),
        CallToolResponse { enable_tools: many(count - 1), disable_tools: many(1), ..Default::default() }.into(),
        EnableToolsRequest { tool_names: many(count) }.into(),
        DisableToolsRequest { tool_names: many(count) }.into(),
        SetAllowedRequest { tool_names: many(count) }.into(),
        SetBlockedRequest { tool_names: many(count) }.into(),
        BatchUpdateRequest { enable: many(count - 3), disable: many(1), allow: many(1), block: many(1) }.into(),
        ActiveToolsResponse { tool_names: many(count) }.into(),
        ResourceListResponse { resources: many(count) }.into(),
        ResourceTemplateListResponse { templates: many(count) }.into(),
        ReadResourceResponse { contents: many(count), ..Default::default() }.into(),
        PromptListResponse { prompts: many(count) }.into(),
        PromptListResponse { prompts: vec![arguments] }.into(),
        GetPromptResponse { messages: many(count), ..Default::default() }.into(),
        CompletionResponse { values: many(count), ..Default::default() }.into(),
        ListRootsResponse { roots: many(count), ..Default::default() }.into(),
        SdkInfo { features: many(count), ..Default::default() }.into(),
        SdkInfo { skill_folders: many(count), ..Default::default() }.into(),
        BridgeInfo { features: many(count), ..Default::default() }.into(),
    ]
}

#[test]
fn entries_of_every_list_are_counted_exactly() {
    for count in [4, 5, 100, 300] {
        for message in lists(count) {
            let name = message_name(&message);
            let frame = Envelope::new("id", message).encode_to_vec();
            assert_eq!(scan(&frame, &ENVELOPE, count), Verdict::Fits, "{count} of {name}");
            assert_eq!(scan(&frame, &ENVELOPE, count - 1), Verdict::TooMany, "{count} of {name}");
        }
    }
}

#[test]
fn entries_are_counted_before_what_is_broken_behind_them() {
    for message in lists(100) {
        let mut frame = Envelope::new("id", message).encode_to_vec();
        frame.push(7);
        assert_eq!(scan(&frame, &ENVELOPE, 99), Verdict::TooMany);
    }
}

/// A key, and a value of its kind, with a length that may be wrong.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![6 => 1..8_u32, 3 => 30..45_u32, 1 => any::<u32>()];
    let value = prop_oneof![
        4 => vec(prop_oneof![Just(10), Just(0), Just(2), Just(26), any::<u8>()], 0..12),
        1 => vec(any::<u8>(), 0..12),
    ];
    (number, 0..8_u32, value, prop_oneof![8 => Just(0), 1 => -3..4_i64]).prop_map(|(number, kind, value, off)| {
        let mut field = Vec::new();
        prost::encoding::encode_varint(u64::from(number) << 3 | u64::from(if kind > 5 { 2 } else { kind }), &mut field);
        if kind == 2 || kind > 5 {
            let length = (value.len() as u64).saturating_add_signed(off);
            prost::encoding::encode_varint(length, &mut field);
        }
        [field, value].concat()
    })
}

fn entries(message: Option<Msg>) -> usize {
    match message {
        Some(Msg::ToolList(list)) => list.tools.len(),
        Some(Msg::CallResult(result)) => result.enable_tools.len() + result.disable_tools.len(),
        Some(Msg::EnableTools(request)) => request.tool_names.len(),
        Some(Msg::PromptListResponse(list)) => {
            list.prompts.len() + list.prompts.iter().map(|prompt| prompt.arguments.len()).sum::<usize>()
        }
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn counting_agrees_with_decoding(
        frame in vec(field(), 0..6).prop_map(|fields| fields.concat()),
        member in prop::sample::select(&[0, 5, 6, 7, 41][..]),
        most in 0..6_usize,
    ) {
        // A member of the envelope, or the envelope itself.
        let mut nested = Vec::new();
        if member > 0 {
            prost::encoding::bytes::encode(member, &frame, &mut nested);
        } else {
            nested = frame;
        }
        let decoded = Envelope::decode(&nested[..]);
        match scan(&nested, &ENVELOPE, most) {
            Verdict::Broken => prop_assert!(decoded.is_err(), "{decoded:?}"),
            Verdict::Fits => prop_assert!(decoded.is_err() || entries(decoded.unwrap().msg) <= most),
            Verdict::TooMany => prop_assert!(nested.len() / 2 > most),
        }
    }
}

/// A message that contains itself in field 1.
static NESTED: Shape = Shape { lists: &[], inner: &[(1, &NESTED)] };

#[test]
fn messages_are_followed_as_deep_as_a_decoder_goes() {
    let nested = |depth: usize| {
        (0..depth).fold(Vec::new(), |inner, _| {
            let mut message = vec![1 << 3 | 2];
            prost::encoding::encode_varint(inner.len() as u64, &mut message);
            [message, inner].concat()
        })
    };
    assert_eq!(scan(&nested(100), &NESTED, 50), Verdict::Fits);
    assert_eq!(scan(&nested(101), &NESTED, 50), Verdict::Broken);
    assert_eq!(scan(&nested(100_000), &NESTED, 100_000), Verdict::Broken);
}

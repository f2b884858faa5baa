//! `completion/complete` in both directions.

use protomcp_envelope::{CompletionRequest, CompletionResponse};
use protomcp_types::{Complete, CompleteResult, Completion, ErrorObject, RawJson, Reference};

use crate::{metadata, tool_error};

/// The request for the process.
pub fn to_envelope(complete: Complete) -> CompletionRequest {
    let (ref_type, ref_name) = match complete.reference {
        Reference::Prompt { name } => ("ref/prompt", name),
        Reference::Resource { uri } => ("ref/resource", uri),
    };
    let settled = complete.context.and_then(|context| context.arguments);
    CompletionRequest {
        ref_type: ref_type.into(),
        ref_name,
        argument_name: complete.argument.name,
        argument_value: complete.argument.value,
        context_json: settled.map(RawJson::into_bytes).unwrap_or_default(),
        metadata_json: metadata::to_envelope(complete.meta),
    }
}

/// The result for the client, with as many values as MCP allows. A total of 0 is left out.
///
/// # Errors
/// −32602 or −32603 with the error of the process.
pub fn to_mcp(response: CompletionResponse) -> Result<CompleteResult, ErrorObject> {
    if let Some(error) = &response.error {
        return Err(tool_error::to_mcp("complete", error));
    }
    let completion = Completion::new(response.values).with_more(response.has_more);
    let mut result = CompleteResult::from(match u64::try_from(response.total) {
        Ok(total) if total > 0 => completion.with_total(total),
        _ => completion,
    });
    result.meta = metadata::to_mcp(response.metadata_json);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use protomcp_types::{CompleteArgument, CompleteContext};

    use super::*;

    #[test]
    fn both_kinds_of_reference_are_written_with_what_is_settled() {
        let ask = |reference, context| {
            let argument = CompleteArgument { name: "a".into(), value: "v".into() };
            to_envelope(Complete { reference, argument, context, meta: None })
        };
        let wire = ask(Reference::Prompt { name: "p".into() }, None);
        assert_eq!((wire.ref_type.as_str(), wire.ref_name.as_str()), ("ref/prompt", "p"));
        assert_eq!((wire.argument_name.as_str(), wire.argument_value.as_str(), wire.context_json.len()), ("a", "v", 0));
        let context = CompleteContext { arguments: Some(RawJson::parse(r#"{"b":"c"}"#).unwrap()) };
        let wire = ask(Reference::Resource { uri: "u".into() }, Some(context));
        assert_eq!((wire.ref_type.as_str(), wire.ref_name.as_str()), ("ref/resource", "u"));
        assert_eq!(wire.context_json, r#"{"b":"c"}"#.as_bytes());
    }

    #[test]
    fn metadata_passes_in_both_directions() {
        let argument = CompleteArgument { name: "a".into(), value: "v".into() };
        let meta = RawJson::parse(r#"{"progressToken":1,"a":2}"#).ok();
        let reference = Reference::Prompt { name: "p".into() };
        let wire = to_envelope(Complete { reference, argument, context: None, meta });
        assert_eq!(wire.metadata_json, r#"{"a":2}"#);
        let metadata_json = r#"{"b":1}"#.into();
        let result = to_mcp(CompletionResponse { metadata_json, ..Default::default() }).unwrap();
        assert_eq!(result.meta, RawJson::parse(r#"{"b":1}"#).ok());
    }

    #[test]
    fn values_are_cut_and_totals_of_nothing_left_out() {
        for (count, total, has_more, expected) in [
            (1, 0, false, (1, None, Some(false))),
            (1, 7, true, (1, Some(7), Some(true))),
            (1, -1, false, (1, None, Some(false))),
            (100, 0, false, (100, None, Some(false))),
            (101, 0, false, (100, Some(101), Some(true))),
            (150, 400, false, (100, Some(400), Some(true))),
        ] {
            let values = (0..count).map(|value: i32| value.to_string()).collect();
            let result =
                to_mcp(CompletionResponse { values, total, has_more, ..Default::default() }).unwrap().completion;
            assert_eq!((result.values.len(), result.total, result.has_more), expected, "{count} of {total}");
        }
    }
}

//! The answers to calls: plain, outside the envelope, or as a task.

use bytes::Bytes;
use protomcp_codec::{Field, Raw};
use protomcp_envelope::{CallToolResponse, CreateTaskResponse, Envelope};

use crate::features::Features;
use crate::step::Step;

/// The answer of a call that continues as a task.
pub(crate) fn task(id: &str) -> Step {
    Step::send(Envelope::new(id, CreateTaskResponse { task_id: id.to_owned() }))
}

/// The answer with a result. Fields of more than `threshold` bytes go outside the envelope if the bridge can join them.
pub(crate) fn result(id: &str, mut response: CallToolResponse, features: &Features, threshold: usize) -> Vec<Step> {
    if !features.has("metadata") {
        response.metadata_json = Bytes::new();
    }
    let joins = features.has("raw-with-result");
    let mut steps = Vec::new();
    if joins || is_content_alone(&response) {
        let fields = [
            (Field::ResultJson, &mut response.result_json),
            (Field::StructuredContentJson, &mut response.structured_content_json),
        ];
        for (field, bytes) in fields {
            if bytes.len() > threshold {
                let mut raw = Raw::new(id, field, std::mem::take(bytes));
                raw.header.followed_by_result = joins;
                steps.push(Step::SendRaw(Box::new(raw)));
            }
        }
    }
    if joins || steps.is_empty() {
        steps.push(Step::send(Envelope::new(id, response)));
    }
    steps
}

/// True if the content is all that there is: a payload without a result says nothing else.
fn is_content_alone(response: &CallToolResponse) -> bool {
    let content_alone = CallToolResponse { result_json: response.result_json.clone(), ..CallToolResponse::default() };
    *response == content_alone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(response: CallToolResponse, features: &[&str]) -> Vec<String> {
        let features = Features::new(features.iter().map(|&name| name.to_owned()).collect());
        let shape = |step| match step {
            Step::SendRaw(raw) => format!("{} {}", raw.header.field_name, raw.payload.len()),
            Step::Send(envelope) => format!("{} {}", envelope.name(), envelope.request_id),
            Step::Call(_) | Step::Later(..) => unreachable!("a result is for the bridge"),
        };
        result("req-1", response, &features, 4).into_iter().map(shape).collect()
    }

    #[test]
    fn large_fields_go_outside_the_envelope_and_lose_nothing() {
        let large = CallToolResponse { result_json: "[1,2]".into(), ..Default::default() };
        let failed = CallToolResponse { is_error: true, ..large.clone() };
        let both = CallToolResponse { structured_content_json: r#"{"a":1}"#.into(), ..large.clone() };
        let small = CallToolResponse { result_json: "[]".into(), ..Default::default() };
        let joined = &["raw-with-result"];
        for (response, features, expected) in [
            (&small, &[][..], &["call_result req-1"][..]),
            (&small, joined, &["call_result req-1"]),
            (&large, &[], &["result_json 5"]),
            (&large, joined, &["result_json 5", "call_result req-1"]),
            (&failed, &[], &["call_result req-1"]),
            (&failed, joined, &["result_json 5", "call_result req-1"]),
            (&both, joined, &["result_json 5", "structured_content_json 7", "call_result req-1"]),
        ] {
            assert_eq!(shapes(response.clone(), features), expected);
        }
    }

    #[test]
    fn a_bridge_without_metadata_gets_none() {
        let response = CallToolResponse { metadata_json: "{}".into(), ..Default::default() };
        let sent = |features: &[&str]| {
            let features = Features::new(features.iter().map(|&name| name.to_owned()).collect());
            let mut steps = result("1", response.clone(), &features, 4);
            let Some(Step::Send(envelope)) = steps.pop() else { panic!("{steps:?}") };
            CallToolResponse::try_from(envelope.msg.unwrap()).unwrap().metadata_json
        };
        assert_eq!((sent(&[]).len(), sent(&["metadata"]).len()), (0, 2));
    }
}

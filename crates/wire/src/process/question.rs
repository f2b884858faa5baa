//! Questions of a process for the envelope, and their answers.

use bytes::Bytes;
use protomcp_envelope::{
    ElicitationRequest, ElicitationResponse, ListRootsRequest, ListRootsResponse, Msg, SamplingRequest,
    SamplingResponse,
};
use protomcp_types::{
    CreateMessage, Elicit, ElicitWay, ErrorObject, JsonBuf, JsonObject, ListRoots, Method, RawJson, Root,
};

/// The members of a sampling request that have their own fields, or no place in a question.
const SAMPLING: [&str; 5] = ["messages", "modelPreferences", "systemPrompt", "maxTokens", "_meta"];

/// A question with these parameters.
///
/// # Errors
/// A text for the author, for another method, or parameters that are not its own.
pub fn to_envelope(method: &str, params: &JsonObject) -> Result<Msg, String> {
    let unreadable = |error: serde_json::Error| format!("the parameters of {method} cannot be read: {error}");
    match method {
        CreateMessage::NAME => params.to().map(|own| sampling(own, params).into()).map_err(unreadable),
        Elicit::NAME => params.to().map(|params| elicitation(params).into()).map_err(unreadable),
        ListRoots::NAME => Ok(ListRootsRequest::default().into()),
        other => Err(format!("a tool process cannot ask {other}")),
    }
}

/// The members of a sampling request that only bridges with the feature `sampling-params` read.
#[must_use]
pub fn further<'a>(method: &str, params: &'a JsonObject) -> Vec<&'a str> {
    let is_further = |name: &&str| method == CreateMessage::NAME && !SAMPLING.contains(name);
    params.iter().map(|(name, _)| name).filter(is_further).collect()
}

/// The answer as the client would send it; `None`: the message answers no question.
///
/// # Errors
/// The reason for which the client was not asked, or has not answered.
pub fn answer(message: Msg) -> Option<Result<RawJson, ErrorObject>> {
    match message {
        Msg::SamplingResponse(response) => Some(sampled(response)),
        Msg::ListRootsResponse(response) => Some(roots(response)),
        Msg::ElicitationResponse(response) => Some(elicited(response)),
        _ => None,
    }
}

fn sampling(request: CreateMessage, params: &JsonObject) -> SamplingRequest {
    let names = further(CreateMessage::NAME, params);
    let members = names.iter().filter_map(|name| Some((*name, params.member(name)?)));
    let further = members.fold(JsonBuf::object(), |object, (name, value)| object.raw(name, value)).finish();
    SamplingRequest {
        messages_json: request.messages.into_bytes(),
        model_preferences_json: request.model_preferences.map(RawJson::into_bytes).unwrap_or_default(),
        system_prompt: request.system_prompt.unwrap_or_default(),
        max_tokens: i32::try_from(request.max_tokens).unwrap_or(i32::MAX),
        params_json: if names.is_empty() { Bytes::new() } else { further.into_raw().into_bytes() },
    }
}

fn elicitation(request: Elicit) -> ElicitationRequest {
    let message = request.message;
    match request.way {
        ElicitWay::Form { requested_schema } => ElicitationRequest {
            mode: "form".into(),
            message,
            requested_schema_json: requested_schema.into_bytes(),
            ..Default::default()
        },
        ElicitWay::Url { url, elicitation_id } => {
            ElicitationRequest { mode: "url".into(), message, url, elicitation_id, ..Default::default() }
        }
    }
}

fn sampled(response: SamplingResponse) -> Result<RawJson, ErrorObject> {
    let SamplingResponse { role, content_json, model, stop_reason, error, .. } = response;
    refused(error)?;
    let content = json(content_json)?;
    let stop_reason = Some(stop_reason).filter(|reason| !reason.is_empty());
    let answer = JsonBuf::object().text("role", &role).raw("content", &content).text("model", &model);
    Ok(answer.text_if("stopReason", stop_reason.as_deref()).finish().into_raw())
}

fn roots(response: ListRootsResponse) -> Result<RawJson, ErrorObject> {
    let ListRootsResponse { roots, error, .. } = response;
    refused(error.map(|error| error.message).unwrap_or_default())?;
    let root = |root: protomcp_envelope::RootDef| Root {
        uri: root.uri,
        name: Some(root.name).filter(|name| !name.is_empty()),
        meta: None,
    };
    let roots: Vec<_> = roots.into_iter().map(root).collect();
    Ok(JsonBuf::object().value("roots", &roots).finish().into_raw())
}

fn elicited(response: ElicitationResponse) -> Result<RawJson, ErrorObject> {
    let ElicitationResponse { action, content_json, error, .. } = response;
    refused(error)?;
    let content = if content_json.is_empty() { None } else { Some(json(content_json)?) };
    Ok(JsonBuf::object().text("action", &action).raw_if("content", content.as_ref()).finish().into_raw())
}

fn refused(why: String) -> Result<(), ErrorObject> {
    if why.is_empty() { Ok(()) } else { Err(ErrorObject::internal(why)) }
}

fn json(text: Bytes) -> Result<RawJson, ErrorObject> {
    RawJson::parse(text).map_err(|error| ErrorObject::internal(format!("the answer is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use protomcp_types::{
        ContentBlock, CreateMessageResult, ElicitAction, ElicitResult, ListRootsResult, PromptMessage, Role,
    };

    use super::*;
    use crate::question;

    fn params<T: serde::Serialize>(request: &T) -> JsonObject {
        JsonObject::of(request).unwrap()
    }

    #[test]
    fn the_bridge_reads_the_questions_that_were_written() {
        let message = PromptMessage::new(Role::User, ContentBlock::text("hi").to_raw());
        let mut sampling = CreateMessage::of([&message], 50);
        sampling.system_prompt = Some("be brief".into());
        let Ok(Msg::SamplingRequest(request)) = to_envelope(CreateMessage::NAME, &params(&sampling)) else { panic!() };
        assert_eq!(params(&question::sampling(request).unwrap()), params(&sampling));
        for elicit in [Elicit::form("who?", RawJson::EMPTY_OBJECT), Elicit::url("go", "https://a", "1")] {
            let Ok(Msg::ElicitationRequest(request)) = to_envelope(Elicit::NAME, &params(&elicit)) else { panic!() };
            assert_eq!(question::elicitation(request).unwrap(), elicit);
        }
        assert!(matches!(to_envelope(ListRoots::NAME, &JsonObject::new()), Ok(Msg::ListRootsRequest(_))));
        assert!(to_envelope("ping", &JsonObject::new()).unwrap_err().contains("ping"));
        sampling.temperature = Some(0.5);
        assert_eq!(further(CreateMessage::NAME, &params(&sampling)), ["temperature"]);
        let Ok(Msg::SamplingRequest(request)) = to_envelope(CreateMessage::NAME, &params(&sampling)) else { panic!() };
        assert_eq!(request.params_json, r#"{"temperature":0.5}"#.as_bytes());
    }

    #[test]
    fn answers_of_the_bridge_equal_the_answers_of_the_client() {
        let result = CreateMessageResult {
            role: Role::Assistant,
            content: ContentBlock::text("4").to_raw(),
            model: "m".into(),
            stop_reason: Some("endTurn".into()),
            meta: None,
        };
        let read = answer(question::sampled(result.clone()).into()).unwrap().unwrap();
        assert_eq!(read.to::<CreateMessageResult>().unwrap(), result);
        let result =
            ListRootsResult { roots: vec![Root { uri: "file:///a".into(), name: None, meta: None }], meta: None };
        let read = answer(question::roots(result.clone()).into()).unwrap().unwrap();
        assert_eq!(read.to::<ListRootsResult>().unwrap(), result);
        for content in [None, Some(RawJson::parse(r#"{"a":1}"#).unwrap())] {
            let result = ElicitResult { action: ElicitAction::Accept, content, meta: None };
            let read = answer(question::elicited(result.clone()).into()).unwrap().unwrap();
            assert_eq!(read.to::<ElicitResult>().unwrap(), result);
        }
        for refusal in [
            Msg::from(question::not_sampled("no".into())),
            question::no_roots("no".into()).into(),
            question::not_elicited("no".into()).into(),
        ] {
            assert_eq!(answer(refusal).unwrap().unwrap_err().message, "no");
        }
        assert!(answer(ListRootsRequest::default().into()).is_none());
    }
}

//! The user of this client, and its model.

use std::collections::BTreeMap;

use protomcp_types::{
    ContentBlock, CreateMessageResult, Elicit, ElicitAction, ElicitResult, ElicitWay, ErrorObject, RawJson, Role,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    properties: BTreeMap<String, Field>,
}

#[derive(Deserialize)]
struct Field {
    r#type: String,
    default: Option<RawJson>,
}

/// Accepts a form with a yes to each question that has no default. The library fills the defaults in.
pub(crate) fn fill_in(question: &Elicit) -> Result<ElicitResult, ErrorObject> {
    let ElicitWay::Form { requested_schema } = &question.way else {
        return Ok(ElicitResult { action: ElicitAction::Decline, content: None, meta: None });
    };
    let form: Form = requested_schema.to().map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
    let questions =
        form.properties.into_iter().filter(|(_, field)| field.r#type == "boolean" && field.default.is_none());
    let content: BTreeMap<String, bool> = questions.map(|(name, _)| (name, true)).collect();
    let content = RawJson::of(&content).map_err(|error| ErrorObject::internal(error.to_string()))?;
    Ok(ElicitResult { action: ElicitAction::Accept, content: Some(content), meta: None })
}

/// The answer of a model that always says the same.
pub(crate) fn sample() -> CreateMessageResult {
    CreateMessageResult {
        role: Role::Assistant,
        content: ContentBlock::text("Paris").to_raw(),
        model: "everything".to_owned(),
        stop_reason: Some("endTurn".to_owned()),
        meta: None,
    }
}

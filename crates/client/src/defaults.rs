//! Default values of a form that the user has left out (MCP 2025-11-25, client/elicitation).

use protomcp_types::{Elicit, ElicitAction, ElicitResult, ElicitWay, JsonObject, RawJson};

/// Fills the defaults of the schema in, if the form was accepted. Values that the user has entered stay.
pub(crate) fn fill(elicit: &Elicit, mut result: ElicitResult) -> ElicitResult {
    let ElicitWay::Form { requested_schema } = &elicit.way else { return result };
    if result.action != ElicitAction::Accept {
        return result;
    }
    let content = match &result.content {
        Some(content) => JsonObject::from_raw(content),
        None => Ok(JsonObject::new()),
    };
    // Content of another shape is the handler's fault, and goes out as it is.
    if let Ok(content) = content {
        result.content = Some(with_defaults(requested_schema, content).to_body().into_raw());
    }
    result
}

fn with_defaults(schema: &RawJson, mut content: JsonObject) -> JsonObject {
    let properties = JsonObject::from_raw(schema).ok();
    let properties = properties.and_then(|schema| JsonObject::from_raw(schema.member("properties")?).ok());
    for (name, property) in properties.iter().flat_map(JsonObject::iter) {
        let default = JsonObject::from_raw(property).ok().and_then(|mut property| property.take("default"));
        if let Some(default) = default.filter(|_| content.member(name).is_none()) {
            content.insert(name.to_owned(), default);
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_fill_what_the_user_has_left_out() {
        let schema = r#"{"type":"object","properties":{"name":{"type":"string","default":"John"},"age":{"type":"integer","default":30},"note":{"type":"string"}}}"#;
        let elicit = Elicit::form("?", RawJson::parse(schema).unwrap());
        for (action, content, filled) in [
            (ElicitAction::Accept, None, Some(r#"{"name":"John","age":30}"#)),
            (ElicitAction::Accept, Some(r#"{"age":7}"#), Some(r#"{"age":7,"name":"John"}"#)),
            (ElicitAction::Accept, Some("5"), Some("5")),
            (ElicitAction::Decline, None, None),
        ] {
            let content = content.map(|text| RawJson::parse(text).unwrap());
            let result = fill(&elicit, ElicitResult { action, content, meta: None });
            assert_eq!(result.content.as_ref().map(RawJson::as_str), filled);
        }
        let page = Elicit::url("?", "https://a", "");
        let accepted = ElicitResult { action: ElicitAction::Accept, content: None, meta: None };
        assert_eq!(fill(&page, accepted).content, None);
    }
}

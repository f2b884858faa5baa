//! Paginated lists. All have the same request and answer (MCP 2025-11-25, server/utilities/pagination); only the names
//! differ.

use serde::{Deserialize, Serialize};

use crate::error::ErrorObject;
use crate::method::Method;
use crate::params::Params;
use crate::raw::RawJson;

/// A JSON array of values that are already text.
#[must_use]
pub fn array(values: impl IntoIterator<Item = RawJson>) -> RawJson {
    let mut text = Vec::with_capacity(256);
    text.push(b'[');
    for value in values {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(value.as_bytes());
    }
    text.push(b']');
    RawJson::trusted(text)
}

/// Reads the cursor and `_meta`, the only members of a page request.
fn page(mut params: Params) -> Result<(Option<String>, Option<RawJson>), ErrorObject> {
    if matches!(params, Params::Positional(_)) {
        return Err(ErrorObject::invalid_params("invalid params: expected an object"));
    }
    Ok((params.optional("cursor")?, params.take("_meta")))
}

/// The request for a page and its answer.
macro_rules! list {
    ($request:ident = $method:literal, $what:literal, $result:ident { $items:ident: $item:literal }) => {
        #[doc = concat!("`", $method, "`: one page of ", $what, ".")]
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct $request {
            /// The cursor of the previous page. An empty string is a valid cursor.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cursor: Option<String>,
            /// Metadata, an object.
            #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
            pub meta: Option<RawJson>,
        }

        #[doc = concat!("The answer to [`", stringify!($request), "`]. The page is text, so that a server can keep it ready.")]
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $result {
            #[doc = concat!("An array of [`", $item, "`]s.")]
            pub $items: RawJson,
            /// The cursor of the next page; absent on the last page.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub next_cursor: Option<String>,
            /// Metadata, an object.
            #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
            pub meta: Option<RawJson>,
        }

        impl $result {
            /// The only page.
            #[must_use]
            pub fn new($items: RawJson) -> Self {
                Self { $items, next_cursor: None, meta: None }
            }

            /// A page that is not the last.
            #[must_use]
            pub fn with_next(mut self, cursor: impl Into<String>) -> Self {
                self.next_cursor = Some(cursor.into());
                self
            }
        }

        impl TryFrom<Params> for $request {
            type Error = ErrorObject;

            fn try_from(params: Params) -> Result<Self, ErrorObject> {
                let (cursor, meta) = page(params)?;
                Ok(Self { cursor, meta })
            }
        }

        impl Method for $request {
            const NAME: &'static str = $method;
            type Params = Self;
            type Result = $result;
        }
    };
}

list!(ListTools = "tools/list", "the tools", ListToolsResult { tools: "crate::Tool" });
list!(ListResources = "resources/list", "the resources", ListResourcesResult { resources: "crate::Resource" });
list!(
    ListResourceTemplates = "resources/templates/list",
    "the templates of resources",
    ListResourceTemplatesResult { resource_templates: "crate::ResourceTemplate" }
);
list!(ListPrompts = "prompts/list", "the prompts", ListPromptsResult { prompts: "crate::Prompt" });
list!(ListTasks = "tasks/list", "the tasks that a host has begun", ListTasksResult { tasks: "crate::Task" });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_object::JsonObject;

    #[test]
    fn a_page_is_asked_for_with_a_cursor_or_without() {
        let read = |text: &'static str| {
            let members = JsonObject::from_raw(&RawJson::parse(text).unwrap()).unwrap();
            ListPrompts::try_from(Params::Named(members))
        };
        assert_eq!(ListPrompts::try_from(Params::Absent), Ok(ListPrompts::default()));
        assert_eq!(read(r#"{"cursor":""}"#).unwrap().cursor.as_deref(), Some(""));
        assert_eq!(read(r#"{"cursor":null,"_meta":{"a":1}}"#).unwrap().meta.unwrap().as_str(), r#"{"a":1}"#);
        assert!(read(r#"{"cursor":1}"#).is_err());
        assert!(ListPrompts::try_from(Params::Positional(RawJson::EMPTY_ARRAY)).is_err());
    }

    #[test]
    fn an_answer_has_the_name_of_its_list() {
        let page = RawJson::EMPTY_ARRAY;
        for (result, text) in [
            (RawJson::of(&ListToolsResult::new(page.clone())), r#"{"tools":[]}"#),
            (RawJson::of(&ListResourcesResult::new(page.clone()).with_next("")), r#"{"resources":[],"nextCursor":""}"#),
            (RawJson::of(&ListResourceTemplatesResult::new(page.clone())), r#"{"resourceTemplates":[]}"#),
            (RawJson::of(&ListPromptsResult::new(page)), r#"{"prompts":[]}"#),
        ] {
            assert_eq!(result.unwrap().as_str(), text);
        }
    }
}

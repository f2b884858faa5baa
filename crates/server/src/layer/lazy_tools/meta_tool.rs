//! The three tools that stand for a list: their names and definitions, which never change.

use protomcp_types::{JsonObject, RawJson, TaskSupport, array};

/// One of the three tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaTool {
    Search,
    Describe,
    Call,
}

pub(super) const SEARCH: &str = "search_tools";
pub(super) const DESCRIBE: &str = "describe_tools";
pub(super) const CALL: &str = "call_tool";

/// The most tools that one search returns.
pub(super) const MAX_RESULTS: usize = 100;

/// The most tools that one request describes.
pub(super) const MAX_DESCRIBED: usize = 20;

/// The texts are for models and are sent in each conversation: every word costs.
const SEARCH_DEFINITION: &str = concat!(
    r#"{"name":"search_tools","description":"Finds tools of this server. Returns their names with one line each, best "#,
    r#"first; without a query all of them, by name.","inputSchema":{"type":"object","properties":{"query":{"type":"#,
    r#""string","description":"Words of the task, e.g. \"create issue\""},"limit":{"type":"integer","minimum":1,"#,
    r#""maximum":100},"after":{"type":"string","description":"Without a query: the last name of the page before"}},"#,
    r#""additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#
);

const DESCRIBE_DEFINITION: &str = concat!(
    r#"{"name":"describe_tools","description":"Returns the definitions of tools, with the schemas of their arguments.","#,
    r#""inputSchema":{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"minItems":1,"#,
    r#""maxItems":20}},"required":["names"],"additionalProperties":false},"#,
    r#""annotations":{"readOnlyHint":true,"openWorldHint":false}}"#
);

const CALL_DEFINITION: &str = concat!(
    r#"{"name":"call_tool","description":"Calls a tool that search_tools has found. describe_tools shows its arguments.","#,
    r#""inputSchema":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","#,
    r#""additionalProperties":true}},"required":["name"],"additionalProperties":false}}"#
);

impl MetaTool {
    /// The tool with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            SEARCH => Some(Self::Search),
            DESCRIBE => Some(Self::Describe),
            CALL => Some(Self::Call),
            _ => None,
        }
    }

    /// The definitions of all three, an array. `tasks`: the support of the server for calls as tasks.
    pub(super) fn definitions(tasks: TaskSupport) -> RawJson {
        let [search, describe, call] = [SEARCH_DEFINITION, DESCRIBE_DEFINITION, CALL_DEFINITION]
            .map(|text| RawJson::parse(text).expect("the definition is JSON"));
        let call = match tasks {
            TaskSupport::Forbidden => call,
            tasks => {
                let members = JsonObject::from_raw(&call).expect("the definition is an object");
                members.with("execution", tasks.put(None)).to_body().into_raw()
            }
        };
        array([search, describe, call])
    }
}

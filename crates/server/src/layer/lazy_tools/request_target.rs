//! The method and the name by which the access to a request is decided.

use std::borrow::Cow;

use protomcp_types::{CallTool, ListTools, Method, ReadResource, Request, header};

use crate::layer::lazy_tools::arguments::Passed;
use crate::layer::lazy_tools::meta_tool::MetaTool;

/// The method of MCP that a request needs, and the name in it. Rules about access, such as the scopes of a token, apply to
/// these and not to the tool in front: with [lazy tools](crate::layer::lazy_tools) `call_tool` needs `tools/call` of the
/// tool that it names, and the other two need `tools/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTarget {
    /// Such as `tools/call`.
    pub method: Cow<'static, str>,
    /// The name of a tool or a prompt, the URI of a resource, or the id of a task; `None` also if it is not text.
    pub name: Option<String>,
}

impl RequestTarget {
    /// The method and the name that the request itself has.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let member = header::name_member(&request.method);
        let name = member.and_then(|member| request.params.required(member).ok());
        Self { method: request.method.clone(), name }
    }

    /// The target of a request to a server without lazy tools. The entry of a skill and the files of a folder
    /// (SEP-2640) need `resources/read` of their URI, because they show what it reads.
    #[must_use]
    pub fn needed_by(request: &Request) -> Self {
        match &*request.method {
            "skills/get" | "resources/directory/read" => {
                Self { method: ReadResource::NAME.into(), name: request.params.required("uri").ok() }
            }
            _ => Self::of(request),
        }
    }

    /// The target of a request to a server with lazy tools.
    pub(crate) fn behind_lazy_tools(request: &Request) -> Self {
        let target = Self::needed_by(request);
        match MetaTool::in_front_of(&target) {
            None => target,
            Some(MetaTool::Search | MetaTool::Describe) => Self { method: ListTools::NAME.into(), name: None },
            // The layer reads the arguments in the same way. A call without a tool is refused by it.
            Some(MetaTool::Call) => {
                let passed = CallTool::try_from(request.params.clone()).ok().and_then(|call| Passed::read(&call).ok());
                Self { name: passed.map(|passed| passed.name), ..target }
            }
        }
    }

    /// True if the request may be one of lazy tools, if its server has them.
    #[must_use]
    pub fn may_be_lazy(&self) -> bool {
        MetaTool::in_front_of(self).is_some()
    }
}

impl MetaTool {
    fn in_front_of(target: &RequestTarget) -> Option<Self> {
        Self::named(target.name.as_deref().filter(|_| target.method == CallTool::NAME)?)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_types::{JsonObject, Params, RawJson, RequestId};

    use super::*;

    fn request(method: &'static str, params: &str) -> Request {
        let members = JsonObject::from_raw(&RawJson::parse(params.to_owned()).unwrap()).unwrap();
        Request { id: RequestId::from(1), method: method.into(), params: Params::Named(members) }
    }

    #[test]
    fn skills_and_folders_are_read_as_resources() {
        let uri = r#"{"uri":"skill://a/SKILL.md","name":"b"}"#;
        for (method, params, needed, name) in [
            ("skills/get", uri, "resources/read", Some("skill://a/SKILL.md")),
            ("resources/directory/read", uri, "resources/read", Some("skill://a/SKILL.md")),
            ("resources/read", uri, "resources/read", Some("skill://a/SKILL.md")),
            ("skills/get", "{}", "resources/read", None),
            ("resources/directory/read", r#"{"uri":7}"#, "resources/read", None),
            ("skills/list", "{}", "skills/list", None),
            ("tools/call", uri, "tools/call", Some("b")),
        ] {
            let request = request(method, params);
            let target = RequestTarget { method: needed.into(), name: name.map(str::to_owned) };
            assert_eq!(RequestTarget::needed_by(&request), target, "{method} {params}");
            assert_eq!(RequestTarget::behind_lazy_tools(&request), target, "{method} {params}");
            assert_eq!(RequestTarget::of(&request).method, method);
        }
    }

    #[test]
    fn access_is_decided_by_the_tool_behind() {
        for (method, params, plain, behind) in [
            ("tools/list", "{}", ("tools/list", None), ("tools/list", None)),
            ("tools/call", r#"{"name":"a"}"#, ("tools/call", Some("a")), ("tools/call", Some("a"))),
            ("tools/call", r#"{"name":7}"#, ("tools/call", None), ("tools/call", None)),
            (
                "prompts/get",
                r#"{"name":"call_tool"}"#,
                ("prompts/get", Some("call_tool")),
                ("prompts/get", Some("call_tool")),
            ),
            ("resources/read", r#"{"uri":"x:1"}"#, ("resources/read", Some("x:1")), ("resources/read", Some("x:1"))),
            ("tools/call", r#"{"name":"search_tools"}"#, ("tools/call", Some("search_tools")), ("tools/list", None)),
            (
                "tools/call",
                r#"{"name":"describe_tools"}"#,
                ("tools/call", Some("describe_tools")),
                ("tools/list", None),
            ),
            (
                "tools/call",
                r#"{"name":"call_tool","arguments":{"name":"b","name":"a"}}"#,
                ("tools/call", Some("call_tool")),
                ("tools/call", Some("a")),
            ),
            (
                "tools/call",
                r#"{"name":"call_tool","arguments":{"name":"search_tools"}}"#,
                ("tools/call", Some("call_tool")),
                ("tools/call", Some("search_tools")),
            ),
            ("tools/call", r#"{"name":"call_tool"}"#, ("tools/call", Some("call_tool")), ("tools/call", None)),
        ] {
            let request = request(method, params);
            let target = |(method, name): (&'static str, Option<&str>)| RequestTarget {
                method: method.into(),
                name: name.map(str::to_owned),
            };
            assert_eq!(RequestTarget::of(&request), target(plain), "{params}");
            assert_eq!(RequestTarget::behind_lazy_tools(&request), target(behind), "{params}");
        }
    }
}

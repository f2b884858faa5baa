//! The method and the name by which the access to a request is decided.

use std::borrow::Cow;

use protomcp_types::{CallTool, ListTools, Method, Request, header};

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

    /// The same behind lazy tools.
    pub(crate) fn behind_lazy_tools(request: &Request) -> Self {
        let target = Self::of(request);
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
            let members = JsonObject::from_raw(&RawJson::parse(params).unwrap()).unwrap();
            let request = Request { id: RequestId::from(1), method: method.into(), params: Params::Named(members) };
            let target = |(method, name): (&'static str, Option<&str>)| RequestTarget {
                method: method.into(),
                name: name.map(str::to_owned),
            };
            assert_eq!(RequestTarget::of(&request), target(plain), "{params}");
            assert_eq!(RequestTarget::behind_lazy_tools(&request), target(behind), "{params}");
        }
    }
}

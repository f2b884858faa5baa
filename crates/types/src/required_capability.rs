//! The capability that a request to the client requires, and the error of a request that lacks one.

use crate::capability::ClientCapabilities;
use crate::elicit::Elicit;
use crate::error::{ErrorObject, code};
use crate::json_buf::JsonBuf;
use crate::json_object::JsonObject;
use crate::method::Method;
use crate::raw::RawJson;
use crate::roots::ListRoots;
use crate::sampling::CreateMessage;

/// The required capability of an input request. Only these three kinds can be sent without a session (MCP 2026-07-28,
/// basic/patterns/mrtr).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequiredCapability {
    /// `roots/list`
    Roots,
    /// `sampling/createMessage`
    Sampling,
    /// `sampling/createMessage` with tools
    SamplingWithTools,
    /// `elicitation/create` with a form
    Form,
    /// `elicitation/create` with a web page
    Url,
}

impl RequiredCapability {
    /// The requirement of this request; `None` if it is of another kind.
    #[must_use]
    pub fn of(method: &str, params: &JsonObject) -> Option<Self> {
        let has = |name: &str| params.member(name).is_some();
        match method {
            ListRoots::NAME => Some(Self::Roots),
            CreateMessage::NAME if has("tools") || has("toolChoice") => Some(Self::SamplingWithTools),
            CreateMessage::NAME => Some(Self::Sampling),
            Elicit::NAME if params.member("mode").is_some_and(|mode| mode.as_str() == "\"url\"") => Some(Self::Url),
            Elicit::NAME => Some(Self::Form),
            _ => None,
        }
    }

    /// True if a client with these capabilities supports the request.
    #[must_use]
    pub fn is_met_by(self, capabilities: &ClientCapabilities) -> bool {
        match self {
            Self::Roots => capabilities.has_roots(),
            Self::Sampling => capabilities.has_sampling(),
            Self::SamplingWithTools => capabilities.has_sampling_with_tools(),
            Self::Form => capabilities.has_form_elicitation(),
            Self::Url => capabilities.has_url_elicitation(),
        }
    }

    /// The smallest capabilities that meet the requirement.
    #[must_use]
    pub fn to_capabilities(self) -> ClientCapabilities {
        let with =
            |name: &'static str, value: &'static str| ClientCapabilities::new().with(name, RawJson::trusted(value));
        match self {
            Self::Roots => with("roots", "{}"),
            Self::Sampling => with("sampling", "{}"),
            Self::SamplingWithTools => with("sampling", r#"{"tools":{}}"#),
            Self::Form => with("elicitation", "{}"),
            Self::Url => with("elicitation", r#"{"url":{}}"#),
        }
    }

    /// A short name for the kind of request.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Roots => "roots",
            Self::Sampling | Self::SamplingWithTools => "sampling",
            Self::Form | Self::Url => "elicitation",
        }
    }
}

impl ErrorObject {
    /// −32021 with the required capabilities (MCP 2026-07-28, basic).
    #[must_use]
    pub fn missing_capability(required: &ClientCapabilities) -> Self {
        let names: Vec<_> = required.names().collect();
        let message = format!("the client does not declare what this request needs: {}", names.join(", "));
        Self::new(code::MISSING_CLIENT_CAPABILITY, message)
            .with_data(JsonBuf::object().value("requiredCapabilities", required).finish().into_raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_question_is_met_by_what_it_says_it_needs() {
        for (method, params, need) in [
            ("roots/list", "{}", Some(RequiredCapability::Roots)),
            ("sampling/createMessage", "{}", Some(RequiredCapability::Sampling)),
            ("sampling/createMessage", r#"{"toolChoice":{}}"#, Some(RequiredCapability::SamplingWithTools)),
            ("elicitation/create", "{}", Some(RequiredCapability::Form)),
            ("elicitation/create", r#"{"mode":"form"}"#, Some(RequiredCapability::Form)),
            ("elicitation/create", r#"{"mode":"url"}"#, Some(RequiredCapability::Url)),
            ("ping", "{}", None),
        ] {
            let params = JsonObject::from_raw(&RawJson::parse(params).unwrap()).unwrap();
            assert_eq!(RequiredCapability::of(method, &params), need, "{method}");
            let Some(need) = need else { continue };
            assert!(need.is_met_by(&need.to_capabilities()), "{method}");
            assert!(!need.is_met_by(&ClientCapabilities::new()), "{method}");
        }
        assert!(!RequiredCapability::SamplingWithTools.is_met_by(&RequiredCapability::Sampling.to_capabilities()));
        assert!(!RequiredCapability::Form.is_met_by(&RequiredCapability::Url.to_capabilities()));
    }

    #[test]
    fn a_missing_capability_is_in_the_data_of_the_error() {
        let needs = ClientCapabilities::new().with("sampling", RawJson::EMPTY_OBJECT);
        assert_eq!(
            serde_json::to_string(&ErrorObject::missing_capability(&needs)).unwrap(),
            r#"{"code":-32021,"message":"the client does not declare what this request needs: sampling","data":{"requiredCapabilities":{"sampling":{}}}}"#
        );
    }
}

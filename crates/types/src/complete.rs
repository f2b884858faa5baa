//! Completion of arguments.

use serde::{Deserialize, Serialize};

use crate::error::ErrorObject;
use crate::method::Method;
use crate::params::Params;
use crate::raw::{Kind, RawJson};

/// `completion/complete` (MCP 2025-11-25, server/utilities/completion).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complete {
    /// The prompt or template of the argument.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// The argument with its current value.
    pub argument: CompleteArgument,
    /// The values of other arguments; since 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<CompleteContext>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// The owner of an argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Reference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// Its name.
        name: String,
    },
    /// A resource template.
    #[serde(rename = "ref/resource")]
    Resource {
        /// Its URI, or its template.
        uri: String,
    },
}

/// An argument that a user is typing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompleteArgument {
    /// Its name.
    pub name: String,
    /// Its current value.
    pub value: String,
}

/// Values of other arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompleteContext {
    /// An object whose values are strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
}

/// The answer to [`Complete`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompleteResult {
    /// The suggestions.
    pub completion: Completion,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// Suggestions, best first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// At most [`Completion::MAX_VALUES`].
    pub values: Vec<String>,
    /// The total number, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// True if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

impl Completion {
    /// The most values in one answer (MCP 2025-11-25, server/utilities/completion).
    pub const MAX_VALUES: usize = 100;

    /// The first `values`, up to the most that one answer may hold. If some are left out, `has_more` is set.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut rest = values.into_iter().map(Into::into);
        let values: Vec<_> = rest.by_ref().take(Self::MAX_VALUES).collect();
        let left_out = rest.count();
        if left_out == 0 {
            return Self { values, total: None, has_more: None };
        }
        let total = values.len() + left_out;
        Self { values, total: Some(total as u64), has_more: Some(true) }
    }

    /// Sets the total number.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets `has_more`. It stays set if values were left out.
    #[must_use]
    pub fn with_more(mut self, has_more: bool) -> Self {
        self.has_more = Some(has_more || self.has_more == Some(true));
        self
    }
}

impl From<Completion> for CompleteResult {
    fn from(completion: Completion) -> Self {
        Self { completion, meta: None }
    }
}

impl TryFrom<Params> for Complete {
    type Error = ErrorObject;

    fn try_from(params: Params) -> Result<Self, ErrorObject> {
        let complete: Self = params.to()?;
        let arguments = complete.context.as_ref().and_then(|context| context.arguments.as_ref());
        if arguments.is_some_and(|raw| raw.kind() != Kind::Object) {
            return Err(ErrorObject::invalid_params("invalid params: context.arguments must be an object"));
        }
        Ok(complete)
    }
}

impl Method for Complete {
    const NAME: &'static str = "completion/complete";
    type Params = Self;
    type Result = CompleteResult;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_object::JsonObject;

    #[test]
    fn both_kinds_of_reference_are_read() {
        for text in [
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"x"}}"#,
            r#"{"ref":{"type":"ref/resource","uri":"f:///{a}"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"c"}},"_meta":{}}"#,
        ] {
            let params = Params::Named(JsonObject::from_raw(&RawJson::parse(text).unwrap()).unwrap());
            let complete = Complete::try_from(params).unwrap();
            assert_eq!(serde_json::to_string(&complete).unwrap(), text);
        }
        for bad in [
            "{}",
            r#"{"ref":{"type":"ref/tool","name":"p"},"argument":{"name":"a","value":"x"}}"#,
            r#"{"ref":{"type":"ref/prompt"},"argument":{"name":"a","value":"x"}}"#,
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a"}}"#,
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"x"},"context":{"arguments":[]}}"#,
        ] {
            let params = Params::Named(JsonObject::from_raw(&RawJson::parse(bad).unwrap()).unwrap());
            assert_eq!(Complete::try_from(params).unwrap_err().code, crate::error::code::INVALID_PARAMS, "{bad}");
        }
    }

    #[test]
    fn more_than_a_hundred_values_are_cut_and_the_answer_says_so() {
        let numbers = |count: u32| Completion::new((0..count).map(|number| number.to_string()));
        assert_eq!(numbers(100).values.len(), 100);
        assert_eq!((numbers(100).total, numbers(100).has_more), (None, None));
        let cut = numbers(250).with_more(false);
        assert_eq!((cut.values.len(), cut.total, cut.has_more), (100, Some(250), Some(true)));
        assert_eq!(
            serde_json::to_string(&CompleteResult::from(numbers(1).with_total(7).with_more(false))).unwrap(),
            r#"{"completion":{"values":["0"],"total":7,"hasMore":false}}"#
        );
    }
}

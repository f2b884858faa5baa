//! The treatment of arguments that do not match the input schema of their tool.

use std::sync::atomic::{AtomicBool, Ordering};

use protomcp_types::RawJson;

use crate::catalog::schema::Schema;
use crate::diagnostics::failure::Failure;

/// The treatment of arguments that do not match the input schema of their tool. Schemas of published SDKs are sometimes
/// wrong (a handler with `**kwargs` demands an argument of that name), so by default nothing is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArgumentPolicy {
    /// Nothing; the tool gets what the host sent.
    Off,
    /// The log says once for each tool what did not fit; the tool gets what the host sent. Arguments above 64 KiB are not
    /// looked at.
    #[default]
    Warn,
    /// The call fails with a text that says what did not fit and what was probably meant. The tool is not called.
    Reject,
}

/// Above this, looking at arguments costs more than a warning is worth.
const WARN_MAX: usize = 64 << 10;

/// The input schema of a tool.
#[derive(Debug)]
pub(crate) struct Input {
    schema: Schema,
    /// The author knows that arguments do not fit.
    warned: AtomicBool,
}

impl Input {
    pub(crate) fn new(schema: RawJson) -> Self {
        Self { schema: Schema::new(schema), warned: AtomicBool::new(false) }
    }

    pub(crate) fn text(&self) -> &RawJson {
        self.schema.text()
    }

    /// Looks at the arguments of a call.
    ///
    /// # Errors
    /// When they do not fit and the policy is to refuse that.
    pub(crate) fn check(&self, policy: ArgumentPolicy, tool: &str, arguments: &RawJson) -> Result<(), Failure> {
        match policy {
            ArgumentPolicy::Off => {}
            ArgumentPolicy::Warn if self.warned.load(Ordering::Relaxed) || arguments.len() > WARN_MAX => {}
            ArgumentPolicy::Warn => {
                if let Some(why) = self.schema.mismatch(arguments)
                    && !self.warned.swap(true, Ordering::Relaxed)
                {
                    tracing::warn!(
                        tool,
                        "arguments do not fit the tool's input schema (said once for this tool): {why}"
                    );
                }
            }
            ArgumentPolicy::Reject => {
                if let Some(why) = self.schema.mismatch(arguments) {
                    return Err(Failure::InvalidArguments { tool: tool.into(), why });
                }
            }
        }
        Ok(())
    }
}

impl PartialEq for Input {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

#[cfg(test)]
mod tests {
    use protomcp_schema::Mismatch;

    use super::*;

    #[test]
    fn only_one_policy_refuses() {
        let schema = RawJson::parse(r#"{"type":"object","required":["city"]}"#).unwrap();
        let input = Input::new(schema);
        for (policy, arguments, refused) in [
            (ArgumentPolicy::Off, "{}", false),
            (ArgumentPolicy::Warn, "{}", false),
            (ArgumentPolicy::Reject, r#"{"city":"Rome"}"#, false),
            (ArgumentPolicy::Reject, "{}", true),
        ] {
            let outcome = input.check(policy, "weather", &RawJson::parse(arguments.to_owned()).unwrap());
            assert_eq!(outcome.is_err(), refused, "{policy:?} {arguments}");
        }
        let why = Mismatch::new("\"city\" is missing");
        let failure = Failure::InvalidArguments { tool: "weather".into(), why };
        assert_eq!(input.check(ArgumentPolicy::Reject, "weather", &RawJson::EMPTY_OBJECT), Err(failure));
    }

    #[test]
    fn an_author_is_warned_once_and_not_about_large_arguments() {
        let input = Input::new(RawJson::parse(r#"{"type":"object","required":["city"]}"#).unwrap());
        let large = RawJson::text(&"x".repeat(WARN_MAX));
        input.check(ArgumentPolicy::Warn, "weather", &large).unwrap();
        assert!(!input.warned.load(Ordering::Relaxed));
        input.check(ArgumentPolicy::Warn, "weather", &RawJson::EMPTY_OBJECT).unwrap();
        assert!(input.warned.load(Ordering::Relaxed));
    }

    #[test]
    fn a_schema_that_says_nothing_refuses_nothing() {
        for schema in [r#"{"type":"object"}"#, r#"{"type":"nonsense"}"#] {
            let input = Input::new(RawJson::parse(schema).unwrap());
            assert!(input.check(ArgumentPolicy::Reject, "t", &RawJson::EMPTY_OBJECT).is_ok(), "{schema}");
        }
    }
}

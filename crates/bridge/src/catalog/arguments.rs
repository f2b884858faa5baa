//! The treatment of arguments that do not match the input schema of their tool.

use std::sync::atomic::{AtomicBool, Ordering};

use protomcp_types::RawJson;

use crate::catalog::schema::Schema;
use crate::diagnostics::failure::Failure;
use crate::process::sdk::SdkFeatures;

/// The treatment of arguments that do not match the input schema of their tool.
///
/// Schemas of published SDKs are sometimes wrong (a handler with `**kwargs` requires an argument of that name), so by
/// default mismatches are only logged. A process that announces `validated-arguments` would refuse them itself: by
/// default they are rejected for it, since a model can correct them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentPolicy {
    /// Arguments are not checked.
    Off,
    /// The first mismatch of each tool is logged; the call is made. Arguments above 64 KiB are not checked.
    Warn,
    /// The call fails with an explanation of the mismatch and the nearest known names. The tool is not called.
    Reject,
}

impl ArgumentPolicy {
    /// The default for a process with these features.
    pub(crate) fn announced(sdk: SdkFeatures) -> Self {
        if sdk.validates { Self::Reject } else { Self::Warn }
    }
}

/// Above this size, checking arguments costs more than a warning is worth.
const WARN_MAX: usize = 64 << 10;

/// The input schema of a tool.
#[derive(Debug)]
pub(crate) struct Input {
    schema: Schema,
    /// The author has been warned of a mismatch.
    warned: AtomicBool,
}

impl Input {
    pub(crate) fn new(schema: RawJson) -> Self {
        Self { schema: Schema::new(schema), warned: AtomicBool::new(false) }
    }

    pub(crate) fn text(&self) -> &RawJson {
        self.schema.text()
    }

    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// If they do not match and the policy is to reject them.
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
    fn the_author_is_warned_once_and_not_about_large_arguments() {
        let input = Input::new(RawJson::parse(r#"{"type":"object","required":["city"]}"#).unwrap());
        let large = RawJson::text(&"x".repeat(WARN_MAX));
        input.check(ArgumentPolicy::Warn, "weather", &large).unwrap();
        assert!(!input.warned.load(Ordering::Relaxed));
        input.check(ArgumentPolicy::Warn, "weather", &RawJson::EMPTY_OBJECT).unwrap();
        assert!(input.warned.load(Ordering::Relaxed));
    }

    #[test]
    fn an_empty_schema_accepts_everything() {
        for schema in [r#"{"type":"object"}"#, r#"{"type":"nonsense"}"#] {
            let input = Input::new(RawJson::parse(schema).unwrap());
            assert!(input.check(ArgumentPolicy::Reject, "t", &RawJson::EMPTY_OBJECT).is_ok(), "{schema}");
        }
    }
}

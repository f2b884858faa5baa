//! The treatment of arguments that do not match the input schema of their tool.

use std::sync::atomic::{AtomicBool, Ordering};

use protomcp_types::RawJson;

use crate::catalog::schema::{Comparison, Schema};
use crate::diagnostics::failure::Failure;
use crate::process::sdk::SdkFeatures;

/// The treatment of arguments that do not match the input schema of their tool.
///
/// Schemas of published SDKs are sometimes wrong (a handler with `**kwargs` requires an argument of that name), so by
/// default mismatches are only logged. A process that announces `validated-arguments` would refuse them itself: by
/// default they are rejected for it, since a model can correct them. Tools that set `checks_arguments` may convert
/// mismatches: by default they get them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentPolicy {
    /// Arguments are not checked, and passed on as they are.
    Off,
    /// Arguments that are the text of the JSON that the schema wants are decoded. Mismatches are passed on to the tool,
    /// which checks its arguments itself, unless a text does not match a pattern: it is matched here, in linear time, and
    /// engines of languages may take for ever.
    Decode,
    /// The first mismatch of each tool is logged; the call is made. Arguments above 64 KiB are not checked.
    Warn,
    /// The call fails with an explanation of the mismatch and the nearest known names. The tool is not called.
    Reject,
}

impl ArgumentPolicy {
    /// The default for a tool with this schema in a process with these features.
    pub(crate) fn announced(sdk: SdkFeatures, input: &Input) -> Self {
        if input.is_checked_by_process {
            Self::Decode
        } else if sdk.validates {
            Self::Reject
        } else {
            Self::Warn
        }
    }
}

/// Above this size, checking arguments costs more than a warning is worth.
const WARN_MAX: usize = 64 << 10;

/// The arguments of a call as the process gets them.
#[derive(Debug, PartialEq)]
pub(crate) struct Admitted {
    pub(crate) json: RawJson,
    /// They have been compared with the schema that the process has registered, and match.
    pub(crate) matches: bool,
}

impl Admitted {
    /// Arguments that were not compared with a schema, or do not match it.
    pub(crate) fn unmatched(json: RawJson) -> Self {
        Self { json, matches: false }
    }
}

/// The input schema of a tool.
#[derive(Debug)]
pub(crate) struct Input {
    schema: Schema,
    /// The process has registered another schema, which cannot be used.
    is_replacement: bool,
    /// The process checks the arguments itself, and may convert ones that do not match.
    is_checked_by_process: bool,
    /// The author has been warned of a mismatch.
    warned: AtomicBool,
}

impl Input {
    pub(crate) fn new(schema: RawJson) -> Self {
        Self {
            schema: Schema::new(schema),
            is_replacement: false,
            is_checked_by_process: false,
            warned: AtomicBool::new(false),
        }
    }

    /// A schema in the place of one that cannot be used.
    pub(crate) fn replacement(schema: RawJson) -> Self {
        Self { is_replacement: true, ..Self::new(schema) }
    }

    /// The same schema of a tool that sets `checks_arguments` to this value.
    pub(crate) fn checked_by_process(self, is_checked_by_process: bool) -> Self {
        Self { is_checked_by_process, ..self }
    }

    pub(crate) fn text(&self) -> &RawJson {
        self.schema.text()
    }

    /// The check of these arguments takes longer than the other steps of a call.
    pub(crate) fn takes_long(&self, policy: ArgumentPolicy, arguments: &RawJson) -> bool {
        let is_checked = match policy {
            ArgumentPolicy::Off => false,
            ArgumentPolicy::Warn => arguments.len() <= WARN_MAX,
            ArgumentPolicy::Decode | ArgumentPolicy::Reject => true,
        };
        is_checked && self.schema.takes_long(arguments)
    }

    /// The arguments of a call as the process gets them. Hosts send arrays, objects and numbers as the text of their JSON now
    /// and then: these are decoded, and `decoded` is called.
    ///
    /// # Errors
    /// If they do not match and the policy is to reject them.
    pub(crate) fn admit(
        &self,
        policy: ArgumentPolicy,
        tool: &str,
        arguments: RawJson,
        decoded: impl FnOnce(),
    ) -> Result<Admitted, Failure> {
        match policy {
            ArgumentPolicy::Off => return Ok(Admitted::unmatched(arguments)),
            ArgumentPolicy::Warn if arguments.len() > WARN_MAX => return Ok(Admitted::unmatched(arguments)),
            ArgumentPolicy::Decode | ArgumentPolicy::Warn | ArgumentPolicy::Reject => {}
        }
        if let Some(why) = self.schema.fault() {
            if !self.warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(tool, "arguments are not checked, because the tool's input schema is of no use: {why}");
            }
            return Ok(Admitted::unmatched(arguments));
        }
        let (json, why) = match self.schema.compare(&arguments) {
            Comparison::Match => (arguments, None),
            Comparison::Mismatch(why) => (arguments, Some(why)),
            Comparison::Decoded(better, why) => {
                tracing::debug!(tool, "arguments arrived as the text of their JSON");
                decoded();
                (better, why)
            }
        };
        let matches = why.is_none() && !self.is_replacement;
        match why {
            Some(why) if policy == ArgumentPolicy::Reject || self.is_refused(policy, &json) => {
                return Err(Failure::InvalidArguments { tool: tool.into(), why });
            }
            Some(why) if policy == ArgumentPolicy::Warn && !self.warned.swap(true, Ordering::Relaxed) => {
                tracing::warn!(tool, "arguments do not fit the tool's input schema (said once for this tool): {why}");
            }
            Some(_) | None => {}
        }
        Ok(Admitted { json, matches })
    }

    /// True if no conversion of the process is tried.
    fn is_refused(&self, policy: ArgumentPolicy, mismatch: &RawJson) -> bool {
        policy == ArgumentPolicy::Decode && self.schema.breaks_pattern(mismatch)
    }
}

impl PartialEq for Input {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
            && self.is_replacement == other.is_replacement
            && self.is_checked_by_process == other.is_checked_by_process
    }
}

#[cfg(test)]
mod tests {
    use protomcp_schema::Mismatch;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_default_follows_the_tool_and_then_the_process() {
        for (is_checked_by_process, validates, expected) in [
            (true, true, ArgumentPolicy::Decode),
            (true, false, ArgumentPolicy::Decode),
            (false, true, ArgumentPolicy::Reject),
            (false, false, ArgumentPolicy::Warn),
        ] {
            let input = Input::new(RawJson::EMPTY_OBJECT).checked_by_process(is_checked_by_process);
            let sdk = SdkFeatures { validates, ..SdkFeatures::default() };
            assert_eq!(ArgumentPolicy::announced(sdk, &input), expected, "{is_checked_by_process} {validates}");
        }
    }

    #[test]
    fn only_one_policy_refuses() {
        let schema = RawJson::parse(r#"{"type":"object","required":["city"]}"#).unwrap();
        let input = Input::new(schema);
        for (policy, arguments, refused) in [
            (ArgumentPolicy::Off, "{}", false),
            (ArgumentPolicy::Decode, "{}", false),
            (ArgumentPolicy::Warn, "{}", false),
            (ArgumentPolicy::Reject, r#"{"city":"Rome"}"#, false),
            (ArgumentPolicy::Reject, "{}", true),
        ] {
            let outcome = input.admit(policy, "weather", RawJson::parse(arguments.to_owned()).unwrap(), || {});
            assert_eq!(outcome.is_err(), refused, "{policy:?} {arguments}");
        }
        let why = Mismatch::new("\"city\" is missing");
        let failure = Failure::InvalidArguments { tool: "weather".into(), why };
        assert_eq!(input.admit(ArgumentPolicy::Reject, "weather", RawJson::EMPTY_OBJECT, || {}), Err(failure));
    }

    #[test]
    fn the_author_is_warned_once_and_not_about_large_arguments() {
        let input = Input::new(RawJson::parse(r#"{"type":"object","required":["city"]}"#).unwrap());
        let large = RawJson::text(&"x".repeat(WARN_MAX));
        input.admit(ArgumentPolicy::Warn, "weather", large, || {}).unwrap();
        input.admit(ArgumentPolicy::Decode, "weather", RawJson::EMPTY_OBJECT, || {}).unwrap();
        assert!(!input.warned.load(Ordering::Relaxed));
        input.admit(ArgumentPolicy::Warn, "weather", RawJson::EMPTY_OBJECT, || {}).unwrap();
        assert!(input.warned.load(Ordering::Relaxed));
    }

    #[test]
    fn text_is_decoded_and_counted_unless_nothing_is_checked() {
        let schema = r#"{"type":"object","properties":{"ids":{"type":"array"},"n":{"type":"integer"}}}"#;
        let input = Input::new(RawJson::parse(schema).unwrap());
        for (policy, sent, expected) in [
            (ArgumentPolicy::Off, r#"{"ids":"[1]"}"#, r#"{"ids":"[1]"}"#),
            (ArgumentPolicy::Decode, r#"{"ids":"[1]"}"#, r#"{"ids":[1]}"#),
            (ArgumentPolicy::Decode, r#"{"ids":"[1]","n":"5"}"#, r#"{"ids":[1],"n":5}"#),
            (ArgumentPolicy::Decode, r#"{"ids":"[1]","n":"five"}"#, r#"{"ids":[1],"n":"five"}"#),
            (ArgumentPolicy::Decode, r#"{"ids":"1,2", "n":"five"}"#, r#"{"ids":"1,2", "n":"five"}"#),
            (ArgumentPolicy::Warn, r#"{"ids":"[1]"}"#, r#"{"ids":[1]}"#),
            (ArgumentPolicy::Warn, r#"{"ids":"[1]","n":"x"}"#, r#"{"ids":[1],"n":"x"}"#),
            (ArgumentPolicy::Reject, r#"{"ids":"[1]"}"#, r#"{"ids":[1]}"#),
            (ArgumentPolicy::Reject, r#"{"ids": [1]}"#, r#"{"ids": [1]}"#),
            // An int64 may be a text: the JSON of protobuf writes it so.
            (ArgumentPolicy::Reject, r#"{"n":9007199254740993}"#, r#"{"n":9007199254740993}"#),
            (ArgumentPolicy::Reject, r#"{"n":"9007199254740993"}"#, r#"{"n":9007199254740993}"#),
        ] {
            let mut count = 0;
            let admitted = input.admit(policy, "t", RawJson::parse(sent).unwrap(), || count += 1).unwrap();
            assert_eq!((admitted.json.as_str(), count), (expected, i32::from(sent != expected)), "{policy:?}");
        }
        assert!(
            input
                .admit(ArgumentPolicy::Reject, "t", RawJson::parse(r#"{"ids":"[1]","n":"x"}"#).unwrap(), || {})
                .is_err()
        );
    }

    #[test]
    fn arguments_match_if_all_of_the_schema_was_checked() {
        let input = |schema: &str| Input::new(RawJson::parse(schema.to_owned()).unwrap());
        let pattern = |pattern: &str| input(&json!({"properties": {"a": {"pattern": pattern}}}).to_string());
        let replacement = Input::replacement(RawJson::parse(r#"{"type":"object"}"#).unwrap());
        let long = "x".repeat(WARN_MAX);
        let (warn, decode) = (ArgumentPolicy::Warn, ArgumentPolicy::Decode);
        for (input, policy, a, matches) in [
            (pattern("^(a+)+$"), ArgumentPolicy::Off, "a", false),
            (pattern("^(a+)+$"), warn, "a", true),
            (pattern("^(a+)+$"), ArgumentPolicy::Reject, "a", true),
            (pattern("^(a+)+$"), decode, "a", true),
            (pattern("^(a+)+$"), warn, "b", false),
            (pattern("x"), warn, long.as_str(), false),
            (pattern("x"), ArgumentPolicy::Reject, long.as_str(), true),
            // Lookaround and references to groups are checked, too, in a bounded number of steps.
            (pattern("^(?!b)(.)\\1$"), warn, "aa", true),
            (pattern("^(?=(a+)+$)"), warn, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false),
            // A pattern that is not one: nothing is checked.
            (pattern("(a"), warn, "a", false),
            (replacement, warn, "a", false),
        ] {
            let arguments = RawJson::parse(json!({"a": a}).to_string()).unwrap();
            let admitted = input.admit(policy, "t", arguments, || {}).unwrap();
            assert_eq!(admitted.matches, matches, "{policy:?} {:?} {}", input.text(), a.len());
        }
        let texts = input(r#"{"properties":{"ids":{"type":"array"}}}"#);
        let sent = RawJson::parse(r#"{"ids":"[1]"}"#).unwrap();
        assert!(texts.admit(warn, "t", sent, || {}).unwrap().matches, "it is decoded");
    }

    #[test]
    fn a_text_that_breaks_a_pattern_is_passed_to_no_tool() {
        let schema = json!({"properties": {
            "n": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "m": {"$ref": "#/properties/n/anyOf/0"},
            "s": {"type": "string", "pattern": "^(a+)+$"},
        }});
        let input = Input::new(RawJson::parse(schema.to_string()).unwrap()).checked_by_process(true);
        for (arguments, refused) in [
            (r#"{"n":"5","s":"aa"}"#, false),
            (r#"{"n":"five"}"#, false),
            (r#"{"n":"five","s":7}"#, false),
            (r#"{"m":"five","s":"aa"}"#, false),
            (r#"{"s":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}"#, true),
            (r#"{"n":"five","s":"b"}"#, true),
        ] {
            let outcome = input.admit(ArgumentPolicy::Decode, "t", RawJson::parse(arguments).unwrap(), || {});
            assert_eq!(outcome.is_err(), refused, "{arguments}");
        }
    }

    #[test]
    fn an_empty_schema_accepts_everything() {
        for schema in [r#"{"type":"object"}"#, r#"{"type":"nonsense"}"#] {
            let input = Input::new(RawJson::parse(schema).unwrap());
            assert!(input.admit(ArgumentPolicy::Reject, "t", RawJson::EMPTY_OBJECT, || {}).is_ok(), "{schema}");
        }
    }
}

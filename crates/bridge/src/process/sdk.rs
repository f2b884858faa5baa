//! The announcement of a tool process, and the reply of the bridge: an extension of the envelope.
//!
//! A process that does not announce itself is treated like the published SDKs.

use protomcp_envelope::{BridgeInfo, SdkInfo};

/// The most concurrent calls that a process may announce.
const CALLS_MAX: u32 = 1024;
/// The extensions of the protocol that the bridge understands, by their names in the proto file.
const FEATURES: [&str; 16] = [
    "elicitation",
    "metadata",
    "raw-with-result",
    "list-changed",
    "reply-errors",
    "for-call",
    "elicitation-complete",
    "for-request",
    "question-key",
    "question-group",
    "reply-metadata",
    "request-context",
    "sampling-params",
    "ping",
    "hand-over",
    "skill-folders",
];

/// The announced features of a process.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent part of the announcement")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SdkFeatures {
    /// It knows the extensions of the protocol.
    pub(crate) announced: bool,
    /// The number of calls that it handles concurrently, if announced.
    pub(crate) calls: Option<usize>,
    /// A reload request makes it read its files again.
    pub(crate) reloads_in_place: bool,
    /// Tools with an output schema always send structured content.
    pub(crate) structured: bool,
    /// The input schemas of its tools hold.
    pub(crate) validates: bool,
    /// It wants to know of each call that its arguments match.
    pub(crate) wants_match: bool,
    /// It wants the context of each request.
    pub(crate) wants_context: bool,
    /// It answers pings at any time.
    pub(crate) answers_pings: bool,
    /// It hands its state over to its successor, and takes over the state of its predecessor.
    pub(crate) hands_over: bool,
    /// Its SDK is the one that was lent.
    pub(crate) is_lent: bool,
    /// Its handlers run one at a time, whatever the number of calls that it takes.
    pub(crate) runs_in_turn: bool,
}

impl SdkFeatures {
    pub(crate) fn of(info: &SdkInfo) -> Self {
        let has = |feature: &str| info.features.iter().any(|known| known == feature);
        let calls = Some(info.max_concurrent_calls).filter(|calls| *calls > 0).map(|calls| calls.min(CALLS_MAX));
        Self {
            announced: true,
            calls: calls.and_then(|calls| usize::try_from(calls).ok()),
            reloads_in_place: has("reload-in-place"),
            structured: has("structured-content"),
            validates: has("validated-arguments"),
            wants_match: has("arguments-match"),
            wants_context: has("request-context"),
            answers_pings: has("ping"),
            hands_over: has("hand-over"),
            is_lent: has("lent"),
            runs_in_turn: has("in-turn"),
        }
    }
}

/// The bridge's answer to a process that has announced itself.
pub(crate) fn bridge_info() -> BridgeInfo {
    BridgeInfo {
        name: "protomcp".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        features: FEATURES.map(str::to_owned).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_announced_is_not_assumed() {
        let info = |calls, features: &[&str]| SdkInfo {
            max_concurrent_calls: calls,
            features: features.iter().map(|&feature| feature.to_owned()).collect(),
            ..SdkInfo::default()
        };
        let plain = SdkFeatures { announced: true, ..SdkFeatures::default() };
        for (calls, features, sdk) in [
            (0, &[][..], plain),
            (8, &["elicitation", "unheard-of"], SdkFeatures { calls: Some(8), ..plain }),
            (u32::MAX, &["reload-in-place"], SdkFeatures { calls: Some(1024), reloads_in_place: true, ..plain }),
            (0, &["structured-content"], SdkFeatures { structured: true, ..plain }),
            (0, &["validated-arguments"], SdkFeatures { validates: true, ..plain }),
            (0, &["arguments-match"], SdkFeatures { wants_match: true, ..plain }),
            (0, &["request-context"], SdkFeatures { wants_context: true, ..plain }),
            (0, &["ping"], SdkFeatures { answers_pings: true, ..plain }),
            (0, &["hand-over"], SdkFeatures { hands_over: true, ..plain }),
            (0, &["lent"], SdkFeatures { is_lent: true, ..plain }),
            (0, &["in-turn"], SdkFeatures { runs_in_turn: true, ..plain }),
        ] {
            assert_eq!(SdkFeatures::of(&info(calls, features)), sdk);
        }
    }
}

//! The five revisions of MCP and their differences.

use std::fmt;

/// A revision of MCP, ordered by date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// 2024-11-05: the first one.
    V2024_11_05,
    /// 2025-03-26: batches, audio, annotations, progress messages.
    V2025_03_26,
    /// 2025-06-18: structured results, elicitation, titles; no batches.
    V2025_06_18,
    /// 2025-11-25: icons, tasks; the newest with sessions.
    V2025_11_25,
    /// 2026-07-28: no sessions; each request is self-contained.
    V2026_07_28,
}

impl ProtocolVersion {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The revisions without a handshake, newest first.
    pub const STATELESS: [Self; 1] = [Self::V2026_07_28];

    /// The newest revision with sessions.
    pub const NEWEST_STATEFUL: Self = Self::V2025_11_25;

    /// The date that names it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Reads the date; `None` if it is not a known revision.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    /// The server's answer to an `initialize` that asks for `requested`: the same revision if it has sessions,
    /// otherwise the newest that has (MCP 2025-11-25, basic/lifecycle, version negotiation).
    #[must_use]
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested).filter(|version| version.is_stateful()).unwrap_or(Self::NEWEST_STATEFUL)
    }

    /// True if it has a handshake and sessions.
    #[must_use]
    pub fn is_stateful(self) -> bool {
        self <= Self::NEWEST_STATEFUL
    }

    /// True if it allows batches.
    #[must_use]
    pub fn allows_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// True if `notifications/progress` has a `message`.
    #[must_use]
    pub fn has_progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// True if calls can become tasks of the core protocol.
    #[must_use]
    pub fn has_tasks(self) -> bool {
        self == Self::V2025_11_25
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiation_prefers_the_requested_stateful_version() {
        for (requested, answer) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(ProtocolVersion::negotiate(requested).as_str(), answer, "{requested}");
        }
    }

    #[test]
    fn only_2025_03_26_allows_batches() {
        let allowing: Vec<_> = ProtocolVersion::ALL.into_iter().filter(|version| version.allows_batches()).collect();
        assert_eq!(allowing, [ProtocolVersion::V2025_03_26]);
    }
}

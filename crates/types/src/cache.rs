//! For how long an answer stays true, and for whom (MCP 2026-07-28, server/utilities/caching).

use serde::{Deserialize, Serialize};

/// What a result says about keeping it; since 2026-07-28.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheHint {
    /// For how many milliseconds it may be taken as fresh; 0: ask again each time.
    #[serde(default)]
    pub ttl_ms: u64,
    /// Who may keep it.
    #[serde(default)]
    pub cache_scope: CacheScope,
}

/// Who may keep an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Anybody, caches between client and server included: it is the same for all callers.
    Public,
    /// The caller alone.
    #[default]
    Private,
}

impl CacheHint {
    /// Not to be kept.
    pub const NONE: Self = Self { ttl_ms: 0, cache_scope: CacheScope::Private };

    /// To be kept by the caller alone.
    #[must_use]
    pub fn private(ttl_ms: u64) -> Self {
        Self { ttl_ms, cache_scope: CacheScope::Private }
    }

    /// To be kept by anybody: for what does not depend on the caller.
    #[must_use]
    pub fn public(ttl_ms: u64) -> Self {
        Self { ttl_ms, cache_scope: CacheScope::Public }
    }
}

impl CacheScope {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_two_members() {
        assert_eq!(serde_json::to_string(&CacheHint::public(5)).unwrap(), r#"{"ttlMs":5,"cacheScope":"public"}"#);
        assert_eq!(serde_json::from_str::<CacheHint>("{}").unwrap(), CacheHint::NONE);
        for scope in [CacheScope::Public, CacheScope::Private] {
            assert_eq!(serde_json::to_string(&scope).unwrap(), format!("{:?}", scope.as_str()));
        }
    }
}

//! Lifetime and scope of an answer (MCP 2026-07-28, server/utilities/caching).

use serde::{Deserialize, Serialize};

use crate::absent::null_as_default;

/// The caching hint of a result; since 2026-07-28.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheHint {
    /// Milliseconds for which the answer is fresh; 0 means that each use needs a new request.
    #[serde(default, deserialize_with = "null_as_default")]
    pub ttl_ms: u64,
    /// The caches that may keep it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub cache_scope: CacheScope,
}

/// The caches that may keep an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// All, including those between client and server: the answer is the same for all callers.
    Public,
    /// Only the cache of the caller.
    #[default]
    Private,
}

impl CacheHint {
    /// The answer must not be kept.
    pub const NONE: Self = Self { ttl_ms: 0, cache_scope: CacheScope::Private };

    /// The caller may keep the answer.
    #[must_use]
    pub fn private(ttl_ms: u64) -> Self {
        Self { ttl_ms, cache_scope: CacheScope::Private }
    }

    /// Any cache may keep the answer, because it does not depend on the caller.
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

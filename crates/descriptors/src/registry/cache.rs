//! The decisions about cached schemas, as a value: what is fresh, what is fetched, and by whom.
//!
//! The key is a module with its version, not a message: one request serves all messages of a module. A commit never
//! changes and is never fetched twice; a label moves, so its schema is asked for again after a time. Times are durations
//! since any fixed moment.

use std::collections::HashMap;
use std::time::Duration;

use crate::reference::{Module, SchemaRef, Version};
use crate::registry::error::{Cause, ResolveError};
use crate::schema::Schema;

/// A version of a module: the unit that is fetched and cached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleVersion {
    /// The module.
    pub module: Module,
    /// The version; `None` is the default label.
    pub version: Option<Version>,
}

/// The times of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheTimes {
    /// The time for which the schema of a label is fresh. Default one hour; zero asks each time.
    pub fresh: Duration,
    /// The time for which an old schema still serves, behind `fresh`, while the registry fails. Default one day.
    pub stale: Duration,
    /// The time for which a final failure is remembered. Default 30 seconds.
    pub failed: Duration,
    /// The time for which a temporary failure is remembered. Default 5 seconds.
    pub unavailable: Duration,
}

/// The size of a cache. The schemas that were used least recently leave first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// The entries, failures among them. Default 1,024.
    pub entries: usize,
    /// The bytes of the descriptor sets. Default 64 MiB. In memory a loaded set takes several times as much.
    pub bytes: usize,
}

/// The answer to a lookup.
#[derive(Debug, Clone)]
pub enum Lookup {
    /// The schema.
    Hit(Schema),
    /// The caller fetches, and reports with [`SchemaCache::complete`].
    Fetch(Fetch),
    /// Another caller fetches.
    Wait,
    /// The last fetch failed a short time ago.
    Failed(ResolveError),
}

/// The hints for a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetch {
    /// The entity tag of the schema that is cached.
    pub etag: Option<String>,
    /// True if a schema is cached, with an entity tag or without.
    pub is_cached: bool,
}

/// A schema with the facts for asking again.
#[derive(Debug, Clone)]
pub struct CachedSchema {
    /// The schema.
    pub schema: Schema,
    /// The commit that it belongs to; empty if the registry does not name it.
    pub commit: String,
    /// The entity tag for the next request.
    pub etag: Option<String>,
    /// The time since it was fetched.
    pub age: Duration,
}

/// The end of a fetch.
#[derive(Debug, Clone)]
pub enum Completed {
    /// A schema.
    New(CachedSchema),
    /// The cached schema is still the right one.
    NotModified {
        /// The entity tag for the next request, if there is a new one.
        etag: Option<String>,
    },
}

/// Schemas by module and version.
#[derive(Debug)]
pub struct SchemaCache {
    times: CacheTimes,
    limits: CacheLimits,
    entries: HashMap<ModuleVersion, Entry>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug, Default)]
struct Entry {
    cached: Option<CachedSchema>,
    fetched_at: Duration,
    failure: Option<(ResolveError, Duration)>,
    is_fetching: bool,
    used: u64,
}

impl From<&SchemaRef> for ModuleVersion {
    fn from(reference: &SchemaRef) -> Self {
        Self { module: reference.module().clone(), version: reference.version().cloned() }
    }
}

impl Default for CacheTimes {
    fn default() -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Self {
            fresh: minutes(60),
            stale: minutes(24 * 60),
            failed: Duration::from_secs(30),
            unavailable: Duration::from_secs(5),
        }
    }
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { entries: 1024, bytes: 64 << 20 }
    }
}

impl SchemaCache {
    /// An empty cache.
    #[must_use]
    pub fn new(times: CacheTimes, limits: CacheLimits) -> Self {
        Self { times, limits, entries: HashMap::new(), bytes: 0, uses: 0 }
    }

    /// Looks a schema up. Exactly one caller at a time is told to fetch it.
    pub fn lookup(&mut self, key: &ModuleVersion, now: Duration) -> Lookup {
        self.uses += 1;
        let times = self.times;
        let is_commit = key.version.as_ref().is_some_and(Version::is_commit);
        let entry = self.entries.entry(key.clone()).or_default();
        entry.used = self.uses;
        if let Some(cached) = &entry.cached
            && (is_commit || now < entry.fetched_at + times.fresh)
        {
            return Lookup::Hit(cached.schema.clone());
        }
        if entry.is_fetching {
            return Lookup::Wait;
        }
        if let Some((failure, until)) = &entry.failure
            && now < *until
        {
            return entry.stale(failure, now, times);
        }
        entry.is_fetching = true;
        let etag = entry.cached.as_ref().and_then(|cached| cached.etag.clone());
        Lookup::Fetch(Fetch { etag, is_cached: entry.cached.is_some() })
    }

    /// Keeps an old schema, for example from disk, while it is fetched again.
    pub fn keep_old(&mut self, key: &ModuleVersion, old: CachedSchema, now: Duration) {
        let entry = self.entries.entry(key.clone()).or_default();
        let before = entry.size();
        entry.replace(old, now);
        self.bytes = self.bytes - before + entry.size();
        self.evict(key);
    }

    /// The schema that is cached, however old it is.
    #[must_use]
    pub fn cached(&self, key: &ModuleVersion) -> Option<CachedSchema> {
        self.entries.get(key)?.cached.clone()
    }

    /// The old schema that serves while the registry fails, if there is one that is not too old.
    #[must_use]
    pub fn stale(&self, key: &ModuleVersion, now: Duration) -> Option<Schema> {
        let entry = self.entries.get(key)?;
        let cached = entry.cached.as_ref()?;
        entry.may_serve(now, self.times).then(|| cached.schema.clone())
    }

    /// Ends a fetch, and returns the schema for all who wait. An outage, or an answer that is not a schema, is covered by
    /// an old schema.
    ///
    /// # Errors
    ///
    /// Fails with the failure of the fetch.
    pub fn complete(
        &mut self,
        key: &ModuleVersion,
        outcome: Result<Completed, ResolveError>,
        now: Duration,
    ) -> Result<Schema, ResolveError> {
        let times = self.times;
        let entry = self.entries.entry(key.clone()).or_default();
        entry.is_fetching = false;
        let result = match outcome {
            Ok(Completed::NotModified { etag }) => entry.renew(etag, now),
            Ok(Completed::New(new)) => {
                let before = entry.size();
                let schema = entry.replace(new, now);
                self.bytes = self.bytes - before + entry.size();
                Ok(schema)
            }
            Err(failure) => {
                let pause = if failure.cause().is_temporary() { times.unavailable } else { times.failed };
                let pause = failure.delay().map_or(pause, |delay| delay.max(pause));
                entry.failure = Some((failure.clone(), now + pause));
                match entry.stale(&failure, now, times) {
                    Lookup::Hit(schema) => Ok(schema),
                    _ => Err(failure),
                }
            }
        };
        self.evict(key);
        result
    }

    /// The commit of a cached schema.
    #[must_use]
    pub fn commit(&self, key: &ModuleVersion) -> Option<&str> {
        self.entries.get(key)?.cached.as_ref().map(|cached| cached.commit.as_str())
    }

    /// Forgets all schemas and failures. Fetches that are under way end as usual.
    pub fn clear(&mut self) {
        self.entries.retain(|_, entry| entry.is_fetching);
        for entry in self.entries.values_mut() {
            *entry = Entry { is_fetching: true, ..Entry::default() };
        }
        self.bytes = 0;
    }

    fn evict(&mut self, kept: &ModuleVersion) {
        while self.entries.len() > self.limits.entries || self.bytes > self.limits.bytes {
            let candidates = self.entries.iter().filter(|(key, entry)| *key != kept && !entry.is_fetching);
            let Some(oldest) = candidates.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some(entry) = self.entries.remove(&oldest) {
                self.bytes -= entry.size();
            }
        }
    }
}

impl Entry {
    fn size(&self) -> usize {
        self.cached.as_ref().map_or(0, |cached| cached.schema.bytes().len())
    }

    fn may_serve(&self, now: Duration, times: CacheTimes) -> bool {
        now < self.fetched_at + times.fresh + times.stale
    }

    /// The old schema, if it is not too old and the registry does not know better.
    fn stale(&self, failure: &ResolveError, now: Duration, times: CacheTimes) -> Lookup {
        match &self.cached {
            Some(cached) if failure.cause().is_outage() && self.may_serve(now, times) => {
                Lookup::Hit(cached.schema.clone())
            }
            _ => Lookup::Failed(failure.clone()),
        }
    }

    fn renew(&mut self, etag: Option<String>, now: Duration) -> Result<Schema, ResolveError> {
        let Some(cached) = &mut self.cached else {
            return Err(ResolveError::new(
                Cause::Unavailable,
                "the registry sends nothing for a schema that is not cached",
            ));
        };
        cached.etag = etag.or_else(|| cached.etag.take());
        (self.fetched_at, self.failure) = (now, None);
        Ok(cached.schema.clone())
    }

    /// A schema of the same commit is the same, so the loaded one stays.
    fn replace(&mut self, mut new: CachedSchema, now: Duration) -> Schema {
        if let Some(old) = &self.cached
            && !old.commit.is_empty()
            && old.commit == new.commit
            && old.schema.bytes() == new.schema.bytes()
        {
            new.schema = old.schema.clone();
        }
        let schema = new.schema.clone();
        (self.fetched_at, self.failure) = (now.saturating_sub(new.age), None);
        self.cached = Some(new);
        schema
    }
}

#[cfg(test)]
mod tests;

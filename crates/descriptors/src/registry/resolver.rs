//! The driver of a registry's schemas: connections, tasks and the clock.
//!
//! A hit takes one short lock. A miss is fetched by its own task, so a caller that goes away stops nothing, and all
//! callers of one version wait for the same task.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::limits::SchemaLimits;
use crate::message_type::MessageType;
use crate::reference::{Host, SchemaRef};
use crate::registry::api::{Api, Codec, Fetched};
use crate::registry::cache::{
    CacheLimits, CacheTimes, CachedSchema, Completed, Fetch, Lookup, ModuleVersion, SchemaCache,
};
use crate::registry::credentials::Credentials;
use crate::registry::disk::{DiskCache, DiskEntry};
use crate::registry::error::{Cause, ResolveError};
use crate::registry::http_client::{Bounds, Endpoint};
use crate::registry::pacing::{Attempts, Pacer};
use crate::schema::Schema;
use crate::schema_error::SchemaError;

/// The time for which a caller waits for a new schema while there is an old one.
const STALE_WAIT: Duration = Duration::from_secs(1);

/// The clock begins here, so that schemas on disk can be older than the process.
const EPOCH: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Resolves references to schemas. Cloning is cheap, and clones share the cache.
#[derive(Debug, Clone)]
pub struct Resolver(Arc<Inner>);

/// The settings of a [`Resolver`].
#[derive(Debug)]
pub struct ResolverBuilder {
    hosts: BTreeMap<Host, Endpoint>,
    credentials: Credentials,
    api: Api,
    codec: Codec,
    times: CacheTimes,
    cache_limits: CacheLimits,
    schema_limits: SchemaLimits,
    attempt_timeout: Duration,
    timeout: Duration,
    pace: (u32, Duration),
    disk: Option<DiskCache>,
}

#[derive(Debug)]
struct Inner {
    settings: ResolverBuilder,
    state: Mutex<State>,
    started: Instant,
}

#[derive(Debug)]
struct State {
    cache: SchemaCache,
    flights: HashMap<ModuleVersion, UnderWay>,
    pacers: HashMap<Host, Pacer>,
}

/// A fetch for those who wait for it.
#[derive(Debug, Clone)]
struct UnderWay {
    outcome: watch::Receiver<Option<Outcome>>,
    /// The time until which callers wait although there is an old schema.
    patience: Duration,
}

type Outcome = Result<Schema, ResolveError>;

impl Resolver {
    /// Begins with no registry allowed.
    #[must_use]
    pub fn builder() -> ResolverBuilder {
        ResolverBuilder {
            hosts: BTreeMap::new(),
            credentials: Credentials::anonymous(),
            api: Api::default(),
            codec: Codec::default(),
            times: CacheTimes::default(),
            cache_limits: CacheLimits::default(),
            schema_limits: SchemaLimits::default(),
            attempt_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            pace: (2, Duration::from_secs(1)),
            disk: None,
        }
    }

    /// The message that a reference names.
    ///
    /// # Errors
    ///
    /// Fails if the host is not allowed, the registry does not answer with the schema, or the schema lacks the message.
    pub async fn resolve(&self, reference: &SchemaRef) -> Result<MessageType, ResolveError> {
        let schema = self.schema(&ModuleVersion::from(reference)).await?;
        schema.message(reference.message().as_str()).ok_or_else(|| {
            let text = format!("{} has no message {}", reference.module(), reference.message());
            ResolveError::new(Cause::NotFound, text)
        })
    }

    /// The schema of a version of a module.
    ///
    /// # Errors
    ///
    /// See [`Resolver::resolve`].
    pub async fn schema(&self, key: &ModuleVersion) -> Result<Schema, ResolveError> {
        if !self.0.settings.hosts.contains_key(key.module.host()) {
            let text = format!("the registry {} is not allowed", key.module.host());
            return Err(ResolveError::new(Cause::InvalidRef, text));
        }
        let (mut under_way, flight) = {
            let mut state = self.0.state();
            match state.cache.lookup(key, self.0.now()) {
                Lookup::Hit(schema) => return Ok(schema),
                Lookup::Failed(failure) => return Err(failure),
                Lookup::Fetch(fetch) => self.prepare(&mut state, key, fetch),
                Lookup::Wait => match state.flights.get(key) {
                    Some(under_way) => (under_way.clone(), None),
                    None => self.prepare(&mut state, key, Fetch::default()),
                },
            }
        };
        // Without the lock: a runtime that ends drops the task immediately, and the flight takes the lock.
        if let Some((flight, fetch)) = flight {
            tokio::spawn(async move {
                let outcome = flight.inner.fetch(&flight.key, fetch).await;
                flight.land(outcome);
            });
        }
        let patience = under_way.patience.saturating_sub(self.0.now());
        let lost = |_| ResolveError::new(Cause::Unavailable, "the request to the registry was given up");
        let landed = match tokio::time::timeout(patience, under_way.landed()).await {
            Ok(landed) => landed,
            Err(_) => match self.0.stale(key) {
                // The fetch goes on, for later callers.
                Some(schema) => return Ok(schema),
                None => under_way.landed().await,
            },
        };
        landed.map_err(lost)?
    }

    /// The commit of a version that is in the cache of this process.
    #[must_use]
    pub fn commit(&self, key: &ModuleVersion) -> Option<String> {
        self.0.state().cache.commit(key).map(str::to_owned)
    }

    /// Forgets all schemas in memory. Those on disk stay.
    pub fn clear(&self) {
        self.0.state().cache.clear();
    }

    /// Makes a fetch known to all callers. The first of them starts it.
    fn prepare(&self, state: &mut State, key: &ModuleVersion, fetch: Fetch) -> (UnderWay, Option<(Flight, Fetch)>) {
        let (sender, outcome) = watch::channel(None);
        let under_way = UnderWay { outcome, patience: self.0.now() + STALE_WAIT };
        state.flights.insert(key.clone(), under_way.clone());
        let flight = Flight { inner: Arc::clone(&self.0), key: key.clone(), sender };
        (under_way, Some((flight, fetch)))
    }
}

impl UnderWay {
    /// The outcome, or an error if the fetch was given up.
    async fn landed(&mut self) -> Result<Outcome, watch::error::RecvError> {
        let landed = self.outcome.wait_for(Option::is_some).await?.clone();
        Ok(landed.unwrap_or_else(|| Err(ResolveError::new(Cause::Unavailable, "there is no outcome"))))
    }
}

/// A fetch that is under way. Dropping it is a failure, so that no caller waits for nothing.
struct Flight {
    inner: Arc<Inner>,
    key: ModuleVersion,
    sender: watch::Sender<Option<Outcome>>,
}

impl Flight {
    fn land(&self, outcome: Result<Completed, ResolveError>) {
        let now = self.inner.now();
        let mut state = self.inner.state();
        let failure = outcome.as_ref().err().cloned();
        let outcome = state.cache.complete(&self.key, outcome, now);
        if let (Some(failure), Ok(_)) = (failure, &outcome) {
            tracing::warn!(module = %self.key.module, %failure, "serving a stale schema");
        }
        state.flights.remove(&self.key);
        self.sender.send_replace(Some(outcome));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.sender.borrow().is_none() {
            self.land(Err(ResolveError::new(Cause::Unavailable, "the request to the registry was given up")));
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        EPOCH + self.started.elapsed()
    }

    async fn fetch(self: &Arc<Self>, key: &ModuleVersion, fetch: Fetch) -> Result<Completed, ResolveError> {
        let stored = if fetch.is_cached { None } else { self.read_disk(key).await };
        let is_commit = key.version.as_ref().is_some_and(crate::Version::is_commit);
        if let Some(stored) = &stored
            && (is_commit || stored.age < self.settings.times.fresh)
        {
            return Ok(Completed::New(stored.clone()));
        }
        let etag = fetch.etag.or_else(|| stored.as_ref()?.etag.clone());
        if let Some(stored) = stored {
            // From here on it covers failures, and serves callers that wait.
            self.state().cache.keep_old(key, stored, self.now());
        }
        match self.request(key, etag.as_deref()).await? {
            Fetched::Set { bytes, commit, etag } => {
                let schema = self.load(bytes).await?;
                let cached = CachedSchema { schema, commit, etag, age: Duration::ZERO };
                self.write_disk(key, &cached).await;
                Ok(Completed::New(cached))
            }
            Fetched::NotModified => {
                let cached = self.state().cache.cached(key);
                if let Some(cached) = cached {
                    // The next start finds out when the schema was confirmed.
                    self.write_disk(key, &cached).await;
                }
                Ok(Completed::NotModified { etag })
            }
        }
    }

    /// An old schema that may serve while the registry does not answer.
    fn stale(&self, key: &ModuleVersion) -> Option<Schema> {
        self.state().cache.stale(key, self.now())
    }

    /// Asks the registry until it answers, the failure is final, or the time is over. A failure that came before the time
    /// was over says more than the time.
    async fn request(&self, key: &ModuleVersion, etag: Option<&str>) -> Result<Fetched, ResolveError> {
        let settings = &self.settings;
        let host = key.module.host();
        let not_allowed = || ResolveError::new(Cause::InvalidRef, format!("the registry {host} is not allowed"));
        let endpoint = settings.hosts.get(host).ok_or_else(not_allowed)?;
        let deadline = self.now() + settings.timeout;
        let mut attempts = Attempts::new(5, deadline);
        let mut last = None;
        loop {
            let Some(delay) = self.register(host, deadline) else {
                let waiting =
                    || ResolveError::new(Cause::RateLimited, format!("too many requests to {host} are waiting"));
                return Err(last.unwrap_or_else(waiting));
            };
            tokio::time::sleep(delay).await;
            let request = settings.api.request(settings.codec, key, etag);
            let left = deadline.saturating_sub(self.now());
            // JSON is longer than what it describes.
            let max_bytes = settings.schema_limits.bytes.saturating_mul(4);
            let bounds = Bounds { timeout: settings.attempt_timeout.min(left), max_bytes };
            let token = settings.credentials.for_host(host);
            let answered = endpoint.exchange(host, request, token, bounds).await;
            let answered = answered.and_then(|response| settings.api.response(settings.codec, &response));
            let failure = match answered {
                Ok(fetched) => return Ok(fetched),
                Err(failure) => failure,
            };
            let jitter = getrandom::u32().map_or(128, |random| random.to_le_bytes()[0]);
            let Some(delay) = attempts.after_failure(&failure, self.now(), jitter) else { return Err(failure) };
            tracing::debug!(module = %key.module, %failure, ?delay, "asking the registry again");
            last = Some(failure);
            tokio::time::sleep(delay).await;
        }
    }

    fn register(&self, host: &Host, latest: Duration) -> Option<Duration> {
        let now = self.now();
        let (burst, interval) = self.settings.pace;
        let mut state = self.state();
        state.pacers.entry(host.clone()).or_insert_with(|| Pacer::new(burst, interval)).register(now, latest)
    }

    async fn load(&self, bytes: bytes::Bytes) -> Result<Schema, ResolveError> {
        let limits = self.settings.schema_limits;
        let loaded = tokio::task::spawn_blocking(move || Schema::decode(bytes, &limits)).await;
        let unusable = |text: String| ResolveError::new(Cause::InvalidSchema, text);
        let loaded = loaded.map_err(|_| unusable("the schema cannot be loaded".to_owned()))?;
        loaded.map_err(|error: SchemaError| unusable(error.to_string()))
    }

    async fn read_disk(self: &Arc<Self>, key: &ModuleVersion) -> Option<CachedSchema> {
        self.settings.disk.as_ref()?;
        let (inner, key) = (Arc::clone(self), key.clone());
        let read = tokio::task::spawn_blocking(move || {
            let entry = inner.settings.disk.as_ref()?.read(&key)?;
            let schema = Schema::decode(entry.set.clone(), &inner.settings.schema_limits).ok()?;
            let age = entry.age();
            Some(CachedSchema { schema, commit: entry.commit, etag: entry.etag, age })
        });
        read.await.ok().flatten()
    }

    async fn write_disk(self: &Arc<Self>, key: &ModuleVersion, cached: &CachedSchema) {
        if self.settings.disk.is_none() {
            return;
        }
        let entry = DiskEntry::new(key, &cached.commit, cached.etag.clone(), cached.schema.bytes().clone());
        let (inner, key) = (Arc::clone(self), key.clone());
        let written = tokio::task::spawn_blocking(move || {
            inner.settings.disk.as_ref().map_or(Ok(()), |disk| disk.write(&key, &entry))
        });
        if let Ok(Err(error)) = written.await {
            tracing::warn!(%error, "the schema cannot be kept on disk");
        }
    }
}

impl ResolverBuilder {
    /// Allows a registry at its usual address.
    #[must_use]
    pub fn allow(self, host: Host) -> Self {
        self.allow_at(host, Endpoint::new())
    }

    /// Allows a registry, with the way to it.
    #[must_use]
    pub fn allow_at(mut self, host: Host, endpoint: Endpoint) -> Self {
        self.hosts.insert(host, endpoint);
        self
    }

    /// The tokens. None by default.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// The interface and the encoding that are used.
    #[must_use]
    pub fn api(mut self, api: Api, codec: Codec) -> Self {
        (self.api, self.codec) = (api, codec);
        self
    }

    /// The times of the cache.
    #[must_use]
    pub fn cache_times(mut self, times: CacheTimes) -> Self {
        self.times = times;
        self
    }

    /// The size of the cache in memory.
    #[must_use]
    pub fn cache_limits(mut self, limits: CacheLimits) -> Self {
        self.cache_limits = limits;
        self
    }

    /// The bounds on a schema.
    #[must_use]
    pub fn schema_limits(mut self, limits: SchemaLimits) -> Self {
        self.schema_limits = limits;
        self
    }

    /// The time for one attempt (default 10 seconds), and for all of a resolution (default 30 seconds).
    #[must_use]
    pub fn timeouts(mut self, attempt: Duration, all: Duration) -> Self {
        (self.attempt_timeout, self.timeout) = (attempt, all);
        self
    }

    /// The requests to one registry: a burst, then one each interval. Default two, then one each second, which is the
    /// documented rate of the public registry.
    #[must_use]
    pub fn pace(mut self, burst: u32, interval: Duration) -> Self {
        self.pace = (burst, interval);
        self
    }

    /// Keeps schemas in a folder, with at most `limit` bytes.
    #[must_use]
    pub fn disk(mut self, folder: impl Into<PathBuf>, limit: u64) -> Self {
        self.disk = Some(DiskCache::new(folder, limit));
        self
    }

    /// The resolver.
    #[must_use]
    pub fn build(self) -> Resolver {
        let cache = SchemaCache::new(self.times, self.cache_limits);
        let state = Mutex::new(State { cache, flights: HashMap::new(), pacers: HashMap::new() });
        Resolver(Arc::new(Inner { settings: self, state, started: Instant::now() }))
    }
}

//! Answers that may be used again (MCP 2026-07-28, server/utilities/caching).
//!
//! A cache belongs to one session. Public answers (`cacheScope`) are for everyone; all others only for the
//! authorization context in which they were asked for, since another token may belong to another user. The cache is
//! emptied when a request fails for its authorization. The time is an argument.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use protomcp_types::{
    JsonObject, ListPrompts, ListResourceTemplates, ListResources, ListTools, Method, RawJson, ReadResource,
};

/// The most answers.
const MAX_ENTRIES: usize = 256;
/// The most bytes of all answers; one answer has at most a quarter of them.
const MAX_BYTES: usize = 16 << 20;
/// The bytes of an entry without its parameters and its answer, about.
const OVERHEAD: usize = 128;
/// Longer times are cut, so that a server cannot pin an answer for ever.
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);

/// Answers by method and parameters, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: HashMap<Key, Entry>,
    order: VecDeque<Key>,
    bytes: usize,
    /// Counts the times at which answers of a kind were dropped.
    generations: [u64; Kind::COUNT],
}

/// Identifies an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    kind: Kind,
    params: String,
}

/// A request, as the cache sees it. Its answer is kept unless a change is announced between request and answer.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    key: Key,
    generation: u64,
    /// The authorization context of the request.
    context: u64,
}

#[derive(Debug)]
struct Entry {
    answer: RawJson,
    until: Instant,
    /// The authorization context that it is for; `None` for all.
    context: Option<u64>,
}

/// The methods whose answers may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Tools,
    Prompts,
    Resources,
    Templates,
    Reads,
}

impl Kind {
    const COUNT: usize = 5;

    /// All of them.
    pub(crate) const ALL: [Self; Self::COUNT] =
        [Self::Tools, Self::Prompts, Self::Resources, Self::Templates, Self::Reads];

    fn of(method: &str) -> Option<Self> {
        match method {
            ListTools::NAME => Some(Self::Tools),
            ListPrompts::NAME => Some(Self::Prompts),
            ListResources::NAME => Some(Self::Resources),
            ListResourceTemplates::NAME => Some(Self::Templates),
            ReadResource::NAME => Some(Self::Reads),
            _ => None,
        }
    }
}

impl Cache {
    /// True if answers to requests with this method may be kept.
    pub(crate) fn keeps(method: &str) -> bool {
        Kind::of(method).is_some()
    }

    /// Describes a request in this authorization context; `None` if answers to it are never kept.
    pub(crate) fn lookup(&self, method: &str, params: &JsonObject, context: u64) -> Option<Lookup> {
        let kind = Kind::of(method)?;
        // The metadata of a request may change its answer.
        if params.member("_meta").is_some() {
            return None;
        }
        let params = params.to_body().into_raw().as_str().to_owned();
        Some(Lookup { key: Key { kind, params }, generation: self.generations[kind as usize], context })
    }

    /// The answer, if there is one that is fresh, and for this authorization context.
    pub(crate) fn find(&mut self, lookup: &Lookup, now: Instant) -> Option<RawJson> {
        let entry = self.entries.get(&lookup.key)?;
        if entry.until > now && entry.context.is_none_or(|context| context == lookup.context) {
            return Some(entry.answer.clone());
        }
        self.remove(&lookup.key);
        None
    }

    /// Keeps an answer for the time that it names. `context` is the authorization context after the answer: if it is
    /// not the context of the request, the answer may be for either.
    pub(crate) fn keep(&mut self, lookup: Lookup, answer: &RawJson, context: u64, now: Instant) {
        let members = JsonObject::from_raw(answer).unwrap_or_default();
        // An answer with a negative time, or without one, is not kept.
        let ttl = members.member("ttlMs").and_then(|ttl| ttl.to::<u64>().ok()).unwrap_or_default();
        let scope = members.member("cacheScope").and_then(|scope| scope.to::<String>().ok());
        let only = (scope.as_deref() != Some("public")).then_some(lookup.context);
        let is_current = self.generations[lookup.key.kind as usize] == lookup.generation
            && only.is_none_or(|context_of_request| context_of_request == context);
        let until = now.checked_add(Duration::from_millis(ttl).min(MAX_TTL));
        let (Some(until), true, true) = (until, is_current, ttl > 0 && answer.len() <= MAX_BYTES / 4) else { return };
        self.remove(&lookup.key);
        self.bytes += weight(&lookup.key, answer);
        self.order.push_back(lookup.key.clone());
        self.entries.insert(lookup.key, Entry { answer: answer.clone(), until, context: only });
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.order.front().cloned() else { break };
            self.remove(&oldest);
        }
    }

    /// Drops the answers of these kinds; those on their way are not kept either.
    pub(crate) fn invalidate(&mut self, kinds: &[Kind]) {
        for kind in kinds {
            self.generations[*kind as usize] += 1;
        }
        let gone: Vec<_> = self.entries.keys().filter(|key| kinds.contains(&key.kind)).cloned().collect();
        gone.iter().for_each(|key| self.remove(key));
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= weight(key, &entry.answer);
            self.order.retain(|other| other != key);
        }
    }
}

fn weight(key: &Key, answer: &RawJson) -> usize {
    key.params.len() + answer.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    fn params(text: &str) -> JsonObject {
        JsonObject::from_raw(&raw(text)).unwrap()
    }

    #[test]
    fn an_answer_is_kept_for_the_time_that_it_names() {
        let now = Instant::now();
        for (answer, fresh_after) in [
            (r#"{"ttlMs":1000}"#, Some(999)),
            (r#"{"ttlMs":0}"#, None),
            (r#"{"ttlMs":-1}"#, None),
            (r#"{"ttlMs":"x"}"#, None),
            ("{}", None),
        ] {
            let mut cache = Cache::default();
            let lookup = cache.lookup("tools/list", &params("{}"), 0).unwrap();
            cache.keep(lookup.clone(), &raw(answer), 0, now);
            let at = |millis| now + Duration::from_millis(millis);
            assert_eq!(cache.find(&lookup, at(999)).is_some(), fresh_after.is_some(), "{answer}");
            assert_eq!(cache.find(&lookup, at(1000)), None);
            assert_eq!((cache.bytes, cache.order.len()), (0, 0));
        }
    }

    #[test]
    fn only_some_methods_are_kept_and_by_their_parameters() {
        let cache = Cache::default();
        for (method, is_kept) in
            [("tools/list", true), ("resources/read", true), ("tools/call", false), ("prompts/get", false)]
        {
            assert_eq!(cache.lookup(method, &params("{}"), 0).is_some(), is_kept, "{method}");
            assert!(cache.lookup(method, &params(r#"{"_meta":{}}"#), 0).is_none());
        }
        let key = |text| cache.lookup("tools/list", &params(text), 0).unwrap().key;
        assert_ne!(key("{}"), key(r#"{"cursor":""}"#));
    }

    #[test]
    fn a_private_answer_is_for_its_context_alone() {
        let now = Instant::now();
        // The scope, the contexts at the request and after its answer, and those that the answer is for.
        for (scope, request, after, found) in [
            (r#","cacheScope":"private""#, 1, 1, vec![1]),
            (r#","cacheScope":"public""#, 1, 1, vec![0, 1, 2]),
            ("", 1, 1, vec![1]),
            (r#","cacheScope":"shared""#, 1, 1, vec![1]),
            (r#","cacheScope":5"#, 1, 1, vec![1]),
            // The token was replaced in between: the answer may be for either user.
            (r#","cacheScope":"private""#, 1, 2, vec![]),
            (r#","cacheScope":"public""#, 1, 2, vec![0, 1, 2]),
        ] {
            for context in 0..3 {
                let mut cache = Cache::default();
                let lookup = |cache: &Cache, context| cache.lookup("tools/list", &params("{}"), context).unwrap();
                let asked = lookup(&cache, request);
                cache.keep(asked, &raw(&format!(r#"{{"ttlMs":1000{scope}}}"#)), after, now);
                let asked = lookup(&cache, context);
                let is_found = cache.find(&asked, now).is_some();
                assert_eq!(is_found, found.contains(&context), "{scope} {request} {after} {context}");
                assert_eq!(cache.order.len(), cache.entries.len());
            }
        }
    }

    #[test]
    fn a_change_drops_answers_also_those_on_their_way() {
        let now = Instant::now();
        let mut cache = Cache::default();
        let tools = cache.lookup("tools/list", &params("{}"), 0).unwrap();
        let prompts = cache.lookup("prompts/list", &params("{}"), 0).unwrap();
        for lookup in [&tools, &prompts] {
            cache.keep(lookup.clone(), &raw(r#"{"ttlMs":1000}"#), 0, now);
        }
        cache.invalidate(&[Kind::Tools]);
        assert_eq!(cache.find(&tools, now), None);
        assert!(cache.find(&prompts, now).is_some());
        cache.keep(tools.clone(), &raw(r#"{"ttlMs":1000}"#), 0, now);
        assert_eq!(cache.find(&tools, now), None, "it was asked for before the change");
    }

    #[test]
    fn the_oldest_answers_give_way() {
        let now = Instant::now();
        let mut cache = Cache::default();
        let lookup = |cache: &Cache, n: usize| {
            cache.lookup("resources/read", &params(&format!(r#"{{"uri":"{n}"}}"#)), 0).unwrap()
        };
        for n in 0..=MAX_ENTRIES {
            let lookup = lookup(&cache, n);
            cache.keep(lookup, &raw(r#"{"ttlMs":1000}"#), 0, now);
        }
        let (first, second) = (lookup(&cache, 0), lookup(&cache, 1));
        assert_eq!((cache.find(&first, now).is_some(), cache.find(&second, now).is_some()), (false, true));
        let big = raw(&format!(r#"{{"ttlMs":1000,"a":"{}"}}"#, "x".repeat(MAX_BYTES / 4 - 100)));
        for n in 1000..1010 {
            let lookup = lookup(&cache, n);
            cache.keep(lookup, &big, 0, now);
        }
        assert!(cache.bytes <= MAX_BYTES && cache.entries.len() == cache.order.len());
        cache.invalidate(&[Kind::Reads]);
        assert_eq!((cache.bytes, cache.order.len()), (0, 0));
    }
}

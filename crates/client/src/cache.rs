//! Answers that may be used again (MCP 2026-07-28, server/utilities/caching).
//!
//! A cache belongs to one session, so private answers (`cacheScope`) may be kept as well. It is emptied when a request
//! fails for its authorization, because the user may be another one after that. The time is an argument.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use protomcp_types::{
    JsonObject, ListPrompts, ListResourceTemplates, ListResources, ListTools, Method, RawJson, ReadResource,
};

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

/// The permission to keep an answer: no change was announced between request and answer.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    key: Key,
    generation: u64,
}

#[derive(Debug)]
struct Entry {
    answer: RawJson,
    until: Instant,
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
    /// The place of an answer; `None` if answers to this request are never kept.
    pub(crate) fn slot(&self, method: &str, params: &JsonObject) -> Option<Slot> {
        let kind = Kind::of(method)?;
        // The metadata of a request may change its answer.
        if params.member("_meta").is_some() {
            return None;
        }
        let params = params.to_body().into_raw().as_str().to_owned();
        Some(Slot { key: Key { kind, params }, generation: self.generations[kind as usize] })
    }

    /// The answer, if there is one that is fresh.
    pub(crate) fn find(&mut self, slot: &Slot, now: Instant) -> Option<RawJson> {
        let entry = self.entries.get(&slot.key)?;
        if entry.until > now {
            return Some(entry.answer.clone());
        }
        self.remove(&slot.key);
        None
    }

    /// Keeps an answer for the time that it names.
    pub(crate) fn keep(&mut self, slot: Slot, answer: &RawJson, now: Instant) {
        let ttl = JsonObject::from_raw(answer).ok();
        // Negative and absent ones mean: not at all.
        let ttl = ttl.and_then(|members| members.member("ttlMs")?.to::<u64>().ok()).unwrap_or_default();
        let is_current = self.generations[slot.key.kind as usize] == slot.generation;
        let until = now.checked_add(Duration::from_millis(ttl).min(MAX_TTL));
        let (Some(until), true, true) = (until, is_current, ttl > 0 && answer.len() <= MAX_BYTES / 4) else { return };
        self.remove(&slot.key);
        self.bytes += weight(&slot.key, answer);
        self.order.push_back(slot.key.clone());
        self.entries.insert(slot.key, Entry { answer: answer.clone(), until });
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

const MAX_ENTRIES: usize = 256;
const MAX_BYTES: usize = 16 << 20;
const OVERHEAD: usize = 128;
/// Longer times are cut, so that a server cannot pin an answer for ever.
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);

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
            let slot = cache.slot("tools/list", &params("{}")).unwrap();
            cache.keep(slot.clone(), &raw(answer), now);
            let at = |millis| now + Duration::from_millis(millis);
            assert_eq!(cache.find(&slot, at(999)).is_some(), fresh_after.is_some(), "{answer}");
            assert_eq!(cache.find(&slot, at(1000)), None);
            assert_eq!((cache.bytes, cache.order.len()), (0, 0));
        }
    }

    #[test]
    fn only_some_methods_are_kept_and_by_their_parameters() {
        let cache = Cache::default();
        for (method, is_kept) in
            [("tools/list", true), ("resources/read", true), ("tools/call", false), ("prompts/get", false)]
        {
            assert_eq!(cache.slot(method, &params("{}")).is_some(), is_kept, "{method}");
            assert!(cache.slot(method, &params(r#"{"_meta":{}}"#)).is_none());
        }
        let key = |text| cache.slot("tools/list", &params(text)).unwrap().key;
        assert_ne!(key("{}"), key(r#"{"cursor":""}"#));
    }

    #[test]
    fn a_change_drops_answers_also_those_on_their_way() {
        let now = Instant::now();
        let mut cache = Cache::default();
        let tools = cache.slot("tools/list", &params("{}")).unwrap();
        let prompts = cache.slot("prompts/list", &params("{}")).unwrap();
        for slot in [&tools, &prompts] {
            cache.keep(slot.clone(), &raw(r#"{"ttlMs":1000}"#), now);
        }
        cache.invalidate(&[Kind::Tools]);
        assert_eq!(cache.find(&tools, now), None);
        assert!(cache.find(&prompts, now).is_some());
        cache.keep(tools.clone(), &raw(r#"{"ttlMs":1000}"#), now);
        assert_eq!(cache.find(&tools, now), None, "it was asked for before the change");
    }

    #[test]
    fn the_oldest_answers_give_way() {
        let now = Instant::now();
        let mut cache = Cache::default();
        let slot =
            |cache: &Cache, n: usize| cache.slot("resources/read", &params(&format!(r#"{{"uri":"{n}"}}"#))).unwrap();
        for n in 0..=MAX_ENTRIES {
            let slot = slot(&cache, n);
            cache.keep(slot, &raw(r#"{"ttlMs":1000}"#), now);
        }
        let (first, second) = (slot(&cache, 0), slot(&cache, 1));
        assert_eq!((cache.find(&first, now).is_some(), cache.find(&second, now).is_some()), (false, true));
        let big = raw(&format!(r#"{{"ttlMs":1000,"a":"{}"}}"#, "x".repeat(MAX_BYTES / 4 - 100)));
        for n in 1000..1010 {
            let slot = slot(&cache, n);
            cache.keep(slot, &big, now);
        }
        assert!(cache.bytes <= MAX_BYTES && cache.entries.len() == cache.order.len());
        cache.invalidate(&[Kind::Reads]);
        assert_eq!((cache.bytes, cache.order.len()), (0, 0));
    }
}

//! The names to which requests are going to subscribe, and the changes of them until then.
//!
//! A service may report a change immediately after it has accepted a subscription, which is before the request is
//! answered.

use std::collections::HashMap;

use crate::topic::Topic;

/// The names of all requests that have no answer yet.
#[derive(Debug, Default)]
pub(crate) struct Expected(HashMap<u64, Vec<ExpectedName>>);

/// A name to which a request is going to subscribe.
#[derive(Debug)]
pub(crate) struct ExpectedName {
    pub(crate) topic: Topic,
    pub(crate) name: Box<str>,
    pub(crate) has_changed: bool,
}

impl Expected {
    pub(crate) fn insert(&mut self, request: u64, topic: Topic, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let names = names.iter().map(|name| ExpectedName { topic, name: name.as_str().into(), has_changed: false });
        self.0.entry(request).or_default().extend(names);
    }

    /// The names of a request, which are expected no longer.
    pub(crate) fn remove(&mut self, request: u64) -> Vec<ExpectedName> {
        self.0.remove(&request).unwrap_or_default()
    }

    /// All of them may have changed.
    pub(crate) fn all_changed(&mut self) {
        for expected in self.0.values_mut().flatten() {
            expected.has_changed = true;
        }
    }

    pub(crate) fn changed(&mut self, topic: Topic, name: &str) {
        for expected in self.0.values_mut().flatten() {
            expected.has_changed |= expected.topic == topic && *expected.name == *name;
        }
    }
}
